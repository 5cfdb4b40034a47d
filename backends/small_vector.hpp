#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include <farro/backends/config.hpp>
#include <farro/backends/memory.hpp>

namespace farro {

/// A vector that holds up to N elements in place. For the few things that a node of the tape keeps:
/// what is not needed there is left out, so that making, filling and destroying one costs a few
/// instructions. Longer ones take their memory from the caching allocator. T's move must not throw.
template <class T, size_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(size_t count) { grow_to(count); }
  SmallVector(std::initializer_list<T> list) : SmallVector(list.begin(), list.end()) {}
  /// Begins as an empty one, which is destroyed with its elements if a copy throws.
  template <std::forward_iterator It>
  SmallVector(It first, It last) : SmallVector() {
    reserve(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) *this = SmallVector(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    clear();
    free_heap();
    take(other);
    return *this;
  }
  ~SmallVector() {
    std::destroy_n(data_, size_);
    if (FARRO_UNLIKELY(capacity_ > N)) free_heap();
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  operator std::span<const T>() const { return {data_, size_}; }

  void reserve(size_t capacity) {
    if (FARRO_UNLIKELY(capacity > capacity_)) move_to_heap(capacity);
  }
  /// The arguments may be an element of this vector.
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (FARRO_UNLIKELY(size_ == capacity_)) return emplace_in_heap(T(std::forward<Args>(args)...));
    T* place = new (data_ + size_) T(std::forward<Args>(args)...);
    ++size_;  // now that nothing was thrown
    return *place;
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  void pop_back() { std::destroy_at(data_ + --size_); }
  /// Appends empty elements until there are `count`.
  void grow_to(size_t count) {
    if (count <= size_) return;
    reserve(count);
    T* end = data_ + count;
    for (T* p = data_ + size_; p != end; ++p) new (p) T();
    size_ = static_cast<uint32_t>(count);
  }
  /// As grow_to of a vector that is empty, for a number known beforehand.
  template <size_t Count>
  void grow_empty_to() {
    static_assert(Count <= N);
#pragma GCC unroll 4
    for (size_t i = 0; i < Count; ++i) new (data_ + i) T();
    size_ = Count;
  }
  void resize(size_t count) {
    while (size_ > count) pop_back();
    grow_to(count);
  }
  /// Forgets all elements: for those that are empty, whose destructors would do nothing.
  void forget() { size_ = 0; }
  void clear() {
    std::destroy_n(data_, size_);
    size_ = 0;
  }

 private:
  FARRO_NOINLINE T& emplace_in_heap(T value) {
    move_to_heap(2 * size_);
    return *new (data_ + size_++) T(std::move(value));
  }
  FARRO_NOINLINE void move_to_heap(size_t capacity) {
    T* heap = static_cast<T*>(detail::pool_allocate(capacity * sizeof(T)));
    std::uninitialized_move_n(data_, size_, heap);
    std::destroy_n(data_, size_);
    free_heap();
    data_ = heap;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void free_heap() {
    if (capacity_ > N) detail::pool_free(data_, capacity_ * sizeof(T));
    data_ = in_place();
    capacity_ = N;
  }
  /// Empties `other` into this, which is empty and in place.
  void take(SmallVector& other) noexcept {
    if (other.capacity_ > N) {
      data_ = std::exchange(other.data_, other.in_place());
      capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
    } else {
      std::uninitialized_move_n(other.data_, other.size_, data_);
      std::destroy_n(other.data_, other.size_);
    }
    size_ = std::exchange(other.size_, 0u);
  }
  T* in_place() { return reinterpret_cast<T*>(memory_); }

  T* data_ = in_place();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) std::byte memory_[N * sizeof(T)];
};

}  // namespace farro
