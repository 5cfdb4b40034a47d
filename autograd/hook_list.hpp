#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <farro/backends/intrusive_ptr.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/small_vector.hpp>

namespace farro {

namespace detail {

/// What a handle knows of a list of hooks, or of hooks in several lists.
class HookBlockBase : public RefCounted {
 public:
  virtual ~HookBlockBase() = default;
  virtual void erase(uint64_t id) = 0;

  static void* operator new(size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* p, size_t bytes) { pool_free(p, bytes); }
};

/// The hooks of a list. While they run they stay as they are: what changes the list then goes into
/// a copy, which takes this block's place, and to which it leads whoever still knows this one.
template <class Hook>
class HookBlock final : public HookBlockBase {
 public:
  using Entry = std::pair<uint64_t, Hook>;

  HookBlock* newest() {
    HookBlock* block = this;
    while (block->next_) block = block->next_.get();
    return block;
  }
  const SmallVector<Entry, 1>& entries() const { return entries_; }

  void add(uint64_t id, Hook hook, bool prepend) {
    HookBlock* block = writable();
    block->entries_.emplace_back(id, std::move(hook));
    if (prepend)
      std::rotate(block->entries_.begin(), block->entries_.end() - 1, block->entries_.end());
  }
  void erase(uint64_t id) override {
    auto has_id = [id](const Entry& entry) { return entry.first == id; };
    HookBlock* block = newest();
    if (block->abandoned_ || std::none_of(block->entries_.begin(), block->entries_.end(), has_id))
      return;
    block = writable();
    auto at = std::find_if(block->entries_.begin(), block->entries_.end(), has_id);
    Entry removed = std::move(*at);  // destroyed last: the hook's destructor may use the list
    std::move(at + 1, block->entries_.end(), at);
    block->entries_.pop_back();
  }
  /// The list gives the block up, for another or because it is gone. A block that runs then belongs
  /// to its last run.
  static void let_go(IntrusivePtr<HookBlock> block) {
    if (FARRO_LIKELY(block->runs_ == 0)) return;
    block->owned_by_run_ = true;
    block.detach();
  }
  /// The list is gone: so are the hooks, though handles keep the block.
  void abandon() {
    HookBlock* block = newest();
    block->abandoned_ = true;
    if (block->runs_ == 0) block->drop();
  }
  void begin_run() { runs_.fetch_add(1, std::memory_order_relaxed); }
  void end_run() {
    if (runs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (FARRO_UNLIKELY(next_ || abandoned_)) drop();
    if (FARRO_UNLIKELY(owned_by_run_)) {
      owned_by_run_ = false;
      IntrusivePtr<HookBlock>::adopt(this);  // and lets it go
    }
  }

 private:
  HookBlock* writable() {
    HookBlock* block = newest();
    if (block->runs_ == 0) return block;
    block->next_ = IntrusivePtr<HookBlock>::fresh(new HookBlock);
    block->next_->entries_ = block->entries_;
    return block->next_.get();
  }
  void drop() { SmallVector<Entry, 1> dropped = std::move(entries_); }

  SmallVector<Entry, 1> entries_;
  std::atomic<int> runs_{0};
  bool abandoned_ = false;
  bool owned_by_run_ = false;
  IntrusivePtr<HookBlock> next_;
};

}  // namespace detail

namespace autograd {

/// Above 0 and given once in the process; rises within a thread, which takes many at a time.
struct HookIds {
  uint64_t next = 0, end = 0;
  uint64_t refill();
};
FARRO_FAST_TLS extern constinit thread_local HookIds hook_ids;
inline uint64_t next_hook_id() {
  return FARRO_LIKELY(hook_ids.next != hook_ids.end) ? hook_ids.next++ : hook_ids.refill();
}

}  // namespace autograd

/// A hook's place in a list of hooks of any signature. Owns neither the hook nor the list: remove()
/// is idempotent, and safe after the list is gone. Copying or moving a handle never removes.
class RemovableHandle {
 public:
  RemovableHandle() = default;
  RemovableHandle(IntrusivePtr<detail::HookBlockBase> list, uint64_t id)
      : list_(std::move(list)), id_(id) {}

  void remove() {
    if (auto list = std::exchange(list_, {})) list->erase(id_);
  }
  /// Unique in the process.
  uint64_t id() const { return id_; }

 private:
  IntrusivePtr<detail::HookBlockBase> list_;
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

/// Hooks in the order in which they run. Costs one null pointer while empty. A hook is a
/// std::function or any other copyable value, e.g. one with options beside the function.
template <class Hook>
class HookList {
 public:
  HookList() = default;
  HookList(HookList&& other) noexcept = default;
  HookList& operator=(HookList&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~HookList() { clear(); }

  bool empty() const { return !block_ || block_->newest()->entries().empty(); }

  /// Puts the hook last, or first.
  RemovableHandle add(Hook hook, bool prepend = false) {
    uint64_t id = autograd::next_hook_id();
    if (!block_) {
      block_ = IntrusivePtr<Block>::fresh(new Block);
      block_->add(id, std::move(hook), prepend);
      return RemovableHandle(block_.share_fresh(), id);
    }
    block_->add(id, std::move(hook), prepend);
    if (FARRO_UNLIKELY(block_->newest() != block_.get())) {
      IntrusivePtr<Block> newest(block_->newest());
      Block::let_go(std::exchange(block_, std::move(newest)));
    }
    return RemovableHandle(block_, id);
  }
  void remove(uint64_t id) {
    if (block_) block_->erase(id);
  }
  /// The hooks as they are when it is made, as long as it lives: what adds or removes some
  /// meanwhile changes later runs only.
  class Run {
   public:
    Run() = default;
    explicit Run(const HookList& list) : block_(list.block_ ? list.block_->newest() : nullptr) {
      if (block_) block_->begin_run();
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() {
      if (block_) block_->end_run();
    }
    size_t size() const { return block_ ? block_->entries().size() : 0; }
    const Hook& operator[](size_t i) const { return block_->entries()[i].second; }

   private:
    detail::HookBlock<Hook>* block_ = nullptr;  // which begin_run keeps
  };
  /// Calls f with each hook, in a Run.
  template <class F>
  void for_each(const F& f) const {
    Run run(*this);
    for (size_t i = 0; i < run.size(); ++i) f(run[i]);
  }
  /// Copies of the hooks as they are now.
  std::vector<Hook> snapshot() const {
    std::vector<Hook> hooks;
    if (!block_) return hooks;
    hooks.reserve(size());
    for (const auto& entry : block_->newest()->entries()) hooks.push_back(entry.second);
    return hooks;
  }
  /// As snapshot, with each hook's id.
  std::vector<std::pair<uint64_t, Hook>> entries() const {
    if (!block_) return {};
    const auto& list = block_->newest()->entries();
    return {list.begin(), list.end()};
  }
  size_t size() const { return block_ ? block_->newest()->entries().size() : 0; }
  void clear() {
    if (auto block = std::exchange(block_, {})) {
      block->abandon();
      Block::let_go(std::move(block));
    }
  }
  /// An independent list with the same hooks and ids.
  HookList clone() const {
    HookList copy;
    if (!block_) return copy;
    copy.block_ = IntrusivePtr<Block>::fresh(new Block);
    for (const auto& entry : block_->newest()->entries())
      copy.block_->add(entry.first, entry.second, false);
    return copy;
  }

 private:
  using Block = detail::HookBlock<Hook>;

  IntrusivePtr<Block> block_;
};

}  // namespace farro
