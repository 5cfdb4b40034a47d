#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace farro {

/// A hook's place in a list of hooks of any signature. Owns neither the hook nor the list: remove() is idempotent, and
/// safe after the list is gone. Copying or moving a handle never removes.
class RemovableHandle {
 public:
  RemovableHandle() = default;
  RemovableHandle(std::weak_ptr<void> list, void (*erase)(void*, uint64_t), uint64_t id)
      : list_(std::move(list)), erase_(erase), id_(id) {}

  void remove() {
    if (auto list = list_.lock()) erase_(list.get(), id_);
    list_.reset();
  }
  /// From one counter for all lists of the process.
  uint64_t id() const { return id_; }

 private:
  std::weak_ptr<void> list_;
  void (*erase_)(void*, uint64_t) = nullptr;
  uint64_t id_ = 0;
};

/// Removes its hook at the end of its scope.
class ScopedHandle {
 public:
  ScopedHandle() = default;
  ScopedHandle(RemovableHandle handle) : handle_(std::move(handle)) {}
  ScopedHandle(ScopedHandle&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  ScopedHandle& operator=(ScopedHandle&& other) noexcept {
    handle_.remove();
    handle_ = std::exchange(other.handle_, {});
    return *this;
  }
  ~ScopedHandle() { handle_.remove(); }

 private:
  RemovableHandle handle_;
};

/// Hooks in the order in which they run. Costs one null pointer while empty. A hook is a std::function or any other
/// copyable value, e.g. one with options beside the function.
template <class Hook>
class HookList {
 public:
  bool empty() const { return !entries_ || entries_->empty(); }

  /// Puts the hook last, or first.
  RemovableHandle add(Hook hook, bool prepend = false) {
    if (!entries_) entries_ = std::make_shared<Entries>();
    uint64_t id = next_id_counter().fetch_add(1);
    entries_->insert(prepend ? entries_->begin() : entries_->end(), {id, std::move(hook)});
    return RemovableHandle(entries_, &erase, id);
  }
  /// The hooks as they are now: what a hook adds or removes while they run changes later runs only.
  std::vector<Hook> snapshot() const {
    std::vector<Hook> hooks;
    if (!entries_) return hooks;
    hooks.reserve(entries_->size());
    for (const auto& entry : *entries_) hooks.push_back(entry.second);
    return hooks;
  }
  /// As snapshot, with each hook's id.
  std::vector<std::pair<uint64_t, Hook>> entries() const {
    return entries_ ? *entries_ : std::vector<std::pair<uint64_t, Hook>>{};
  }
  size_t size() const { return entries_ ? entries_->size() : 0; }
  /// Removes by id, in this list only: a clone has the same ids.
  void remove(uint64_t id) {
    if (entries_) erase(entries_.get(), id);
  }
  void clear() { entries_.reset(); }
  /// An independent list with the same hooks and ids.
  HookList clone() const {
    HookList copy;
    if (entries_) copy.entries_ = std::make_shared<Entries>(*entries_);
    return copy;
  }

 private:
  using Entries = std::vector<std::pair<uint64_t, Hook>>;

  static void erase(void* list, uint64_t id) {
    // The hook is destroyed after the erase: its destructor may use the list.
    auto& entries = *static_cast<Entries*>(list);
    for (auto it = entries.begin(); it != entries.end(); ++it) {
      if (it->first == id) {
        auto removed = std::move(*it);
        entries.erase(it);
        return;
      }
    }
  }
  static std::atomic<uint64_t>& next_id_counter();

  std::shared_ptr<Entries> entries_;
};

namespace autograd {
std::atomic<uint64_t>& hook_id_counter();
}

template <class Hook>
std::atomic<uint64_t>& HookList<Hook>::next_id_counter() {
  return autograd::hook_id_counter();
}

}  // namespace farro
