#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farro/backends/intrusive_ptr.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/small_vector.hpp>

namespace farro {

namespace detail {

/// What a handle knows of a list of hooks, or of hooks in several lists.
class HookBlockBase : public RefCounted, public PoolAllocated {
 public:
  virtual ~HookBlockBase() = default;
  virtual void erase(uint64_t id) = 0;
  /// The last reference is gone.
  virtual void end() { delete this; }
  static void destroy(HookBlockBase* block) { block->end(); }
};

/// Hooks of one kind in their order. The first stands in place, since it is nearly always alone.
template <class Hook>
class HookEntries {
 public:
  using Entry = std::pair<uint64_t, Hook>;

  HookEntries() noexcept {}
  HookEntries(const HookEntries& other) : HookEntries() {
    for (size_t i = 0; i < other.size(); ++i) add(other.id(i), Hook(other[i]), false);
  }
  HookEntries(HookEntries&& other) noexcept : rest_(std::exchange(other.rest_, nullptr)) {
    if (other.empty()) return;
    std::construct_at(&first_, std::move(other.first_));
    std::destroy_at(&other.first_);
    first_id_ = std::exchange(other.first_id_, 0);
  }
  HookEntries& operator=(const HookEntries&) = delete;
  ~HookEntries() {
    if (!empty()) std::destroy_at(&first_);
    if (FARRO_UNLIKELY(rest_ != nullptr)) drop_rest();
  }

  size_t size() const {
    return FARRO_UNLIKELY(rest_ != nullptr) ? 1 + rest_->list.size() : !empty();
  }
  const Hook& operator[](size_t i) const {
    return FARRO_LIKELY(i == 0) ? first_ : rest_->list[i - 1].second;
  }
  /// Calls f with each.
  template <class F>
  FARRO_INLINE void each(const F& f) const {
    if (empty()) return;
    f(first_);
    if (FARRO_UNLIKELY(rest_ != nullptr)) each_of_rest(f);
  }
  uint64_t id(size_t i) const { return i == 0 ? first_id_ : rest_->list[i - 1].first; }

  bool empty() const { return first_id_ == 0; }
  /// Where there is none.
  void add_first(uint64_t id, Hook&& hook) {
    std::construct_at(&first_, std::move(hook));
    first_id_ = id;
  }
  void add(uint64_t id, Hook&& hook, bool prepend) {
    empty() ? add_first(id, std::move(hook)) : add_to_rest({id, std::move(hook)}, prepend);
  }
  /// size() if there is none.
  size_t find(uint64_t id) const {
    size_t i = 0, n = size();
    while (i < n && this->id(i) != id) ++i;
    return i;
  }
  Hook take(size_t i) {
    Hook taken = std::move(i == 0 ? first_ : rest_->list[i - 1].second);
    if (!rest_) {
      std::destroy_at(&first_);
      first_id_ = 0;
      return taken;
    }
    auto& list = rest_->list;
    if (i == 0) {
      std::tie(first_id_, first_) = std::move(list[0]);
      i = 1;
    }
    std::move(list.begin() + i, list.end(), list.begin() + i - 1);
    list.pop_back();
    if (list.empty()) drop_rest();
    return taken;
  }

 private:
  struct Rest : PoolAllocated {
    explicit Rest(Entry entry) { list.emplace_back(std::move(entry)); }
    SmallVector<Entry, 2> list;  // never empty
  };
  template <class F>
  FARRO_NOINLINE void each_of_rest(const F& f) const {
    for (const Entry& entry : rest_->list) f(entry.second);
  }
  FARRO_NOINLINE void drop_rest() { delete std::exchange(rest_, nullptr); }
  FARRO_NOINLINE void add_to_rest(Entry entry, bool prepend) {
    if (rest_) {
      rest_->list.emplace_back(std::move(entry));
    } else {
      rest_ = new Rest(std::move(entry));
    }
    if (!prepend) return;
    auto& list = rest_->list;
    std::rotate(list.begin(), list.end() - 1, list.end());
    std::swap(list[0].first, first_id_);
    std::swap(list[0].second, first_);
  }

  uint64_t first_id_ = 0;  // 0 where there is none: no hook has it
  union {
    Hook first_;
  };
  Rest* rest_ = nullptr;  // owned; what is rare stays out of line
};

/// The hooks of a list, of one or several kinds. While they run they stay as they are: what changes
/// the list then goes into a copy, which takes this block's place, and to which it leads whoever
/// still knows this one.
template <class... Hooks>
class HookBlock final : public HookBlockBase {
 public:
  using Entries = std::tuple<HookEntries<Hooks>...>;

  HookBlock() = default;
  explicit HookBlock(const Entries& entries) : entries_(entries) {}

  bool is_newest() const { return !next_; }
  HookBlock* newest() {
    HookBlock* block = this;
    while (FARRO_UNLIKELY(block->next_ != nullptr)) block = block->next_.get();
    return block;
  }
  const Entries& entries() const { return entries_; }
  template <class Hook>
  const HookEntries<Hook>& of() const {
    return std::get<HookEntries<Hook>>(entries_);
  }

  /// The hooks of a kind, of which there are none, if the first may be added there as it is.
  template <class Hook>
  HookEntries<Hook>* unused() {
    auto* hooks = &std::get<HookEntries<Hook>>(entries_);
    return FARRO_LIKELY(hooks->empty() && !left_ && runs_ == 0) ? hooks : nullptr;
  }
  /// Gives the block that now has the hook.
  template <class Hook>
  HookBlock* add(uint64_t id, Hook&& hook, bool prepend) {
    HookBlock* block = writable();
    std::get<HookEntries<Hook>>(block->entries_).add(id, std::move(hook), prepend);
    return block;
  }
  void erase(uint64_t id) override {
    if (!newest()->abandoned_) static_cast<void>((erase_of<Hooks>(id) || ...));
  }
  /// The list is gone: so are the hooks, though handles keep the block.
  void abandon() {
    HookBlock* block = newest();
    block->abandoned_ = block->left_ = true;
    if (block->runs_ == 0) block->drop();
  }
  void begin_run() { runs_.fetch_add(1, std::memory_order_relaxed); }
  void end_run() {
    if (runs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (FARRO_UNLIKELY(left_)) leave();
  }
  /// A block that runs outlives its last reference until then.
  void end() override {
    if (FARRO_LIKELY(runs_ == 0)) {
      delete this;
    } else {
      outlived_ = left_ = true;
    }
  }
  static void destroy(HookBlock* block) { block->end(); }

 private:
  HookBlock* writable() {
    HookBlock* block = newest();
    if (block->runs_ == 0) return block;
    block->next_ = IntrusivePtr<HookBlock>::fresh(new HookBlock(block->entries_));
    block->left_ = true;
    return block->next_.get();
  }
  template <class Hook>
  bool erase_of(uint64_t id) {
    const auto& hooks = newest()->template of<Hook>();
    size_t i = hooks.find(id);
    if (i == hooks.size()) return false;
    // Destroyed last: the hook's destructor may use the list.
    Hook removed = std::get<HookEntries<Hook>>(writable()->entries_).take(i);
    return true;
  }
  /// After the last run of a block that was left.
  FARRO_NOINLINE void leave() {
    if (next_ || abandoned_) drop();
    if (outlived_) delete this;
  }
  void drop() { Entries dropped = std::move(entries_); }

  std::atomic<int> runs_{0};
  Entries entries_;
  IntrusivePtr<HookBlock> next_;
  bool left_ = false;  // for a copy, by its list or by its last reference
  bool abandoned_ = false;
  bool outlived_ = false;
};

}  // namespace detail

namespace autograd {

/// Above 0 and given once in the process; rises within a thread, which takes many at a time.
struct HookIds {
  uint64_t next = 0, end = 0;
  bool at_hand() const { return next != end; }
  uint64_t refill();
};
FARRO_FAST_TLS extern constinit thread_local HookIds hook_ids;
inline uint64_t next_hook_id() {
  return FARRO_LIKELY(hook_ids.at_hand()) ? hook_ids.next++ : hook_ids.refill();
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

/// Hooks of one or several kinds, of each in the order in which they run. Costs one null pointer
/// while empty. A hook is a std::function or any other copyable value, e.g. one with options beside
/// the function. Where no kind is given, the first is meant.
template <class First, class... Others>
class HookLists {
  using Block = detail::HookBlock<First, Others...>;

 public:
  HookLists() = default;
  HookLists(HookLists&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  HookLists& operator=(HookLists&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~HookLists() {
    if (FARRO_UNLIKELY(block_ != nullptr)) clear();
  }

  /// True once a hook of any kind was added, until clear().
  bool touched() const { return block_ != nullptr; }
  template <class Hook = First>
  bool empty() const {
    return size<Hook>() == 0;
  }
  template <class Hook = First>
  size_t size() const {
    return block_ ? block_->newest()->template of<Hook>().size() : 0;
  }

  /// Puts the hook last, or first.
  template <class Hook = First>
  RemovableHandle add(std::type_identity_t<Hook>&& hook, bool prepend = false) {
    if (!block_) block_ = IntrusivePtr<Block>::fresh(new Block).detach();
    auto* hooks = block_->template unused<Hook>();
    if (FARRO_UNLIKELY(!hooks || !autograd::hook_ids.at_hand()))
      return add_to_others<Hook>(std::move(hook), prepend);
    uint64_t id = autograd::hook_ids.next++;
    hooks->add_first(id, std::move(hook));
    return RemovableHandle(IntrusivePtr<Block>(block_), id);
  }
  void remove(uint64_t id) {
    if (block_) block_->erase(id);
  }
  /// The hooks as they are when it is made, as long as it lives: what adds or removes some
  /// meanwhile changes later runs only.
  class Run {
   public:
    Run() = default;
    explicit Run(const HookLists& list) : block_(list.block_ ? list.block_->newest() : nullptr) {
      if (block_) block_->begin_run();
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() {
      if (block_) block_->end_run();
    }
    template <class Hook = First>
    size_t size() const {
      return block_ ? block_->template of<Hook>().size() : 0;
    }
    const First& operator[](size_t i) const { return block_->template of<First>()[i]; }
    /// Calls f with each hook of a kind.
    template <class Hook = First, class F>
    FARRO_INLINE void each(const F& f) const {
      if (block_) block_->template of<Hook>().each(f);
    }
    /// The hooks as they are now.
    void renew() {
      if (FARRO_LIKELY(!block_ || block_->is_newest())) return;
      Block* newest = block_->newest();
      newest->begin_run();
      std::exchange(block_, newest)->end_run();
    }

   private:
    Block* block_ = nullptr;  // which begin_run keeps
  };
  /// Calls f with each hook of a kind, in a Run.
  template <class Hook = First, class F>
  void for_each(const F& f) const {
    Run(*this).template each<Hook>(f);
  }
  /// Copies of the hooks as they are now.
  std::vector<First> snapshot() const {
    std::vector<First> hooks;
    for (size_t i = 0, n = size(); i < n; ++i) hooks.push_back(now()[i]);
    return hooks;
  }
  /// As snapshot, with each hook's id.
  std::vector<std::pair<uint64_t, First>> entries() const {
    std::vector<std::pair<uint64_t, First>> hooks;
    for (size_t i = 0, n = size(); i < n; ++i) hooks.emplace_back(now().id(i), now()[i]);
    return hooks;
  }
  FARRO_NOINLINE void clear() {
    auto block = IntrusivePtr<Block>::adopt(std::exchange(block_, nullptr));
    if (block && block->use_count() > 1) block->abandon();
  }
  /// An independent list with the same hooks and ids.
  HookLists clone() const {
    HookLists copy;
    if (block_)
      copy.block_ = IntrusivePtr<Block>::fresh(new Block(block_->newest()->entries())).detach();
    return copy;
  }

 private:
  template <class Hook>
  FARRO_NOINLINE RemovableHandle add_to_others(Hook&& hook, bool prepend) {
    uint64_t id = autograd::next_hook_id();
    IntrusivePtr<Block> block(block_->add(id, std::move(hook), prepend));
    if (block.get() != block_)
      IntrusivePtr<Block>::adopt(std::exchange(block_, IntrusivePtr<Block>(block).detach()));
    return RemovableHandle(block, id);
  }
  const auto& now() const { return block_->newest()->template of<First>(); }

  Block* block_ = nullptr;  // owned; not by an IntrusivePtr, whose end is code in every node's
};

template <class Hook>
using HookList = HookLists<Hook>;

}  // namespace farro
