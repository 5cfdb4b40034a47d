#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <farro/backends/config.hpp>

namespace farro {

/// Base of what IntrusivePtr counts. A class derived from it may define `static void destroy(T*)`;
/// otherwise the last release deletes it.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  /// The first reference to an object that no other thread can see yet: needs no atomic
  /// read-modify-write.
  void retain_fresh() const { count_.store(1, std::memory_order_relaxed); }
  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  /// True if this was the last reference. A sole owner needs no atomic read-modify-write.
  bool release() const {
    if (count_.load(std::memory_order_acquire) == 1) return true;
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  uint32_t use_count() const { return count_.load(std::memory_order_acquire); }
  /// Takes a reference unless the last one is gone (for weak look-ups guarded by a lock).
  bool try_retain() const {
    uint32_t n = count_.load(std::memory_order_relaxed);
    while (n != 0) {
      if (count_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

 protected:
  ~RefCounted() = default;
  /// Used by destroy() implementations that must hand the object on: makes the count zero.
  void mark_dead() const { count_.store(0, std::memory_order_release); }

 private:
  mutable std::atomic<uint32_t> count_{0};
};

/// A shared owner of a RefCounted object: one pointer wide, counts inside the object.
template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  IntrusivePtr(std::nullptr_t) {}
  explicit IntrusivePtr(T* p) : p_(p) {
    if (p_) p_->retain();
  }
  IntrusivePtr(const IntrusivePtr& o) : p_(o.p_) {
    if (p_) p_->retain();
  }
  IntrusivePtr(IntrusivePtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> IntrusivePtr(IntrusivePtr<U> o) : p_(o.detach()) {}
  IntrusivePtr& operator=(IntrusivePtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~IntrusivePtr() { reset(); }

  void reset() {
    if (T* p = std::exchange(p_, nullptr)) {
      if (p->release()) dispose(p);
    }
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  /// Gives up ownership without releasing; adopt() takes it back.
  T* detach() { return std::exchange(p_, nullptr); }
  /// Takes an object that was just made.
  static IntrusivePtr fresh(T* p) {
    p->retain_fresh();
    return adopt(p);
  }
  static IntrusivePtr adopt(T* p) {
    IntrusivePtr r;
    r.p_ = p;
    return r;
  }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) { return a.p_ == b.p_; }
  friend bool operator==(const IntrusivePtr& a, std::nullptr_t) { return a.p_ == nullptr; }

 private:
  static void dispose(T* p) {
    if constexpr (requires { T::destroy(p); }) {
      T::destroy(p);
    } else {
      delete p;
    }
  }
  T* p_ = nullptr;
};

}  // namespace farro
