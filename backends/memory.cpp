#include <farro/backends/memory.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include <farro/backends/error.hpp>
#include <farro/backends/failing_allocation.hpp>
#include <farro/backends/registry.hpp>

namespace farro {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSlab = size_t{64} << 10;  // small blocks are cut from slabs
constexpr size_t kSmall = 2048;  // served from thread-local lists, in steps of kAlignment
constexpr size_t kMedium = size_t{1}
                           << 20;  // served from thread-local lists, 4 classes per power of two
constexpr size_t kHuge = size_t{2} << 20;  // aligned to, and asked as, huge pages from here on
constexpr int kSmallClasses = kSmall / kAlignment;
constexpr int kClasses = kSmallClasses + 4 * 9;
constexpr size_t kThreadCacheBytes =
    size_t{8} << 20;  // per class, beyond which blocks go to the shared cache
constexpr int64_t kFlush = 64 << 10;

struct FreeBlock {
  FreeBlock* next;
};

int class_of(size_t bytes) {
  if (bytes <= kSmall) return static_cast<int>((bytes + kAlignment - 1) / kAlignment) - 1;
  int top = std::bit_width(bytes - 1) - 1;  // bytes in (2^top, 2^(top+1)]
  int quarter = static_cast<int>((bytes - 1) >> (top - 2)) & 3;
  return kSmallClasses + 4 * (top - 11) + quarter;
}

size_t bytes_of_class(int c) {
  if (c < kSmallClasses) return static_cast<size_t>(c + 1) * kAlignment;
  int top = (c - kSmallClasses) / 4 + 11, quarter = (c - kSmallClasses) % 4;
  return (size_t{1} << top) + (static_cast<size_t>(quarter) + 1) * (size_t{1} << (top - 2));
}

/// Up to one of 8 sizes per power of two, so that blocks of nearly equal sizes serve each other.
size_t round_large(size_t bytes) {
  size_t unit = std::max(std::bit_floor(bytes) / 8, size_t{64} << 10);
  return (bytes + unit - 1) / unit * unit;
}

/// Blocks that no thread holds, and the counters, of one memory space.
class SharedCache {
 public:
  explicit SharedCache(const detail::BackendInfo* device) : device_(device) {}

  /// A block of exactly `bytes`, a size that round_large or bytes_of_class gave.
  void* take(size_t bytes) {
    {
      std::lock_guard lock(mutex_);
      if (auto it = blocks_.find(bytes); it != blocks_.end()) {
        void* p = it->second;
        blocks_.erase(it);
        return p;
      }
    }
    return from_system(bytes);
  }
  void put(void* p, size_t bytes) {
    std::lock_guard lock(mutex_);
    blocks_.emplace(bytes, p);
  }
  void* from_system(size_t bytes) {
    void* p = system_allocate(bytes);
    if (!p) {
      release_all();
      p = system_allocate(bytes);
    }
    if (!p)
      fail<MemoryError>("allocate", "the system refused {} bytes ({} are held)", bytes,
                        reserved.load());
    reserved += static_cast<int64_t>(bytes);
    ++system_allocations;
    return p;
  }
  void release_all() {
    std::lock_guard lock(mutex_);
    for (auto& [bytes, p] : blocks_) {
      reserved -= static_cast<int64_t>(bytes);
      device_ ? device_->deallocate(p) : std::free(p);
    }
    blocks_.clear();
  }
  void count(int64_t bytes) {
    int64_t now = allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t top = peak.load(std::memory_order_relaxed);
    while (now > top && !peak.compare_exchange_weak(top, now, std::memory_order_relaxed)) {
    }
  }

  std::atomic<int64_t> allocated{0}, peak{0}, reserved{0}, allocations{0}, system_allocations{0};

 private:
  void* system_allocate(size_t bytes) {
    if (device_) return device_->allocate(bytes);
    size_t alignment = bytes >= kHuge ? kHuge : kAlignment;
    void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (p && bytes >= kHuge) madvise(p, bytes, MADV_HUGEPAGE);
    return p;
  }

  const detail::BackendInfo* device_;
  std::mutex mutex_;
  std::multimap<size_t, void*> blocks_;
};

/// Lives as long as the process, since thread caches and static tensors end late.
SharedCache& host_cache() {
  static SharedCache* cache = new SharedCache(nullptr);
  return *cache;
}

/// Free lists of one thread; what is counted here reaches the shared counters every kFlush bytes
/// and when the thread asks for them or ends.
class ThreadCache {
 public:
  /// Hands everything on when the thread ends.
  void end() {
    state_ = State::Ended;
    flush();
    empty();
  }

  enum class State : char { New, Open, Ended };  ///< unless open, all lists are empty
  State state() const { return state_; }
  bool is_open() const { return state_ == State::Open; }
  void open() { state_ = State::Open; }

  /// At most kSmall bytes, and not 0: so in the three functions below.
  bool has_small(size_t bytes) const { return lists_[(bytes - 1) / kAlignment]; }
  /// Where there are some.
  void* allocate_small(size_t bytes) {
    size_t i = (bytes - 1) / kAlignment;
    FreeBlock* p = lists_[i];
    lists_[i] = p->next;
    ++allocations_;
    pending_ += static_cast<int64_t>((i + 1) * kAlignment);
    return FARRO_UNLIKELY(pending_ > kFlush) ? flushed(p) : p;
  }
  void free_small(void* p, size_t bytes) {
    size_t i = (bytes - 1) / kAlignment;
    lists_[i] = new (p) FreeBlock{lists_[i]};
    pending_ -= static_cast<int64_t>((i + 1) * kAlignment);
    if (FARRO_UNLIKELY(pending_ < -kFlush)) flushed(p);
  }
  /// Puts blocks on the list of a small class: those of a thread that ended, or a slab.
  void fill_small(size_t bytes) {
    size_t i = (bytes - 1) / kAlignment;
    lists_[i] = adopt_orphans(i);
    if (lists_[i]) return;
    size_t block = (i + 1) * kAlignment;
    char* slab = static_cast<char*>(host_cache().from_system(kSlab));
    for (size_t at = 0; at + block <= kSlab; at += block)
      lists_[i] = new (slab + at) FreeBlock{lists_[i]};
  }
  /// More than kSmall bytes, and at most kMedium.
  void* allocate_medium(size_t bytes) {
    int c = class_of(bytes);
    auto i = static_cast<size_t>(c);
    void* p = lists_[i];
    if (FARRO_LIKELY(p)) {
      lists_[i] = static_cast<FreeBlock*>(p)->next;
      --lengths_[i];
    } else {
      p = host_cache().take(bytes_of_class(c));
    }
    count(static_cast<int64_t>(bytes_of_class(c)));
    ++allocations_;
    return p;
  }
  void free_medium(void* p, size_t bytes) {
    int c = class_of(bytes);
    auto i = static_cast<size_t>(c);
    size_t size = bytes_of_class(c);
    count(-static_cast<int64_t>(size));
    if (static_cast<size_t>(lengths_[i]) * size > kThreadCacheBytes) {
      host_cache().put(p, size);
      return;
    }
    lists_[i] = new (p) FreeBlock{lists_[i]};
    ++lengths_[i];
  }
  /// Hands medium blocks to the shared cache. Small ones stay: they are parts of slabs.
  void empty() {
    for (int c = is_open() ? kSmallClasses : 0; c < kClasses; ++c) {
      auto i = static_cast<size_t>(c);
      while (FreeBlock* block = lists_[i]) {
        lists_[i] = block->next;
        c < kSmallClasses ? orphan(c, block) : host_cache().put(block, bytes_of_class(c));
      }
      lengths_[i] = 0;
    }
  }
  FARRO_NOINLINE void flush() {
    SharedCache& shared = host_cache();
    shared.count(pending_);
    shared.allocations += allocations_;
    pending_ = 0;
    allocations_ = 0;
  }

 private:
  void count(int64_t bytes) {
    pending_ += bytes;
    if (FARRO_UNLIKELY(pending_ > kFlush || pending_ < -kFlush)) flush();
  }
  /// Flushes in a tail call, for which the caller saves no registers.
  FARRO_RARE void* flushed(void* p) {
    flush();
    return p;
  }
  /// Small blocks of threads that ended, for the next thread that runs out.
  struct Orphans {
    std::mutex mutex;
    std::array<FreeBlock*, kSmallClasses> lists{};
  };
  static Orphans& orphans() {
    static auto* o = new Orphans;
    return *o;
  }
  static void orphan(int c, FreeBlock* block) {
    std::lock_guard lock(orphans().mutex);
    FreeBlock*& list = orphans().lists[static_cast<size_t>(c)];
    block->next = list;
    list = block;
  }
  FreeBlock* adopt_orphans(size_t i) {
    std::lock_guard lock(orphans().mutex);
    return std::exchange(orphans().lists[i], nullptr);
  }

  std::array<FreeBlock*, kClasses> lists_{};
  std::array<int32_t, kClasses> lengths_{};  // of the lists of medium blocks
  int64_t pending_ = 0;
  int64_t allocations_ = 0;
  State state_ = State::New;
};

/// Of constant initialisation and without a destructor, so that reaching it costs one instruction.
FARRO_FAST_TLS constinit thread_local ThreadCache this_thread;

}  // namespace

namespace detail {
/// While a FailingAllocation lives on this thread, this_thread is as if it were not open yet, and
/// its lists are here.
struct RequestCounter {
  ThreadCache lists;
  FailingAllocation* scope;

  void count(size_t bytes) const {
    if (++scope->requests_ != scope->number_) return;
    fail<MemoryError>("allocate", "request {}, of {} bytes, is refused for a test", scope->number_,
                      bytes);
  }
};
}  // namespace detail

namespace {

thread_local detail::RequestCounter* request_counter = nullptr;

/// This thread's cache, opened at the first use. Null once the thread is ending, while its last
/// static tensors are still being freed. `request` is the size of a block that is asked for, 0 for
/// none.
FARRO_NOINLINE ThreadCache* open_thread_cache(size_t request) {
  if (request_counter) {
    if (request != 0) request_counter->count(request);
    return &request_counter->lists;
  }
  if (this_thread.state() == ThreadCache::State::Ended) return nullptr;
  struct Scope {
    Scope() { this_thread.open(); }
    ~Scope() { this_thread.end(); }
  };
  static thread_local Scope until_the_thread_ends;
  return &this_thread;
}

ThreadCache* thread_cache(size_t request = 0) {
  return FARRO_LIKELY(this_thread.is_open()) ? &this_thread : open_thread_cache(request);
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool kCaching = false;  // so that the sanitizer sees every block begin and end
#else
constexpr bool kCaching = true;
#endif

/// Counts what the system gave: a request that it refused leaves the counters as they were.
void* counted(void* p, size_t bytes) {
  host_cache().count(static_cast<int64_t>(bytes));
  ++host_cache().allocations;
  return p;
}

/// All but the commonest case, a small block that the thread's cache holds.
FARRO_RARE void* host_allocate(size_t bytes) {
  ThreadCache* cache = thread_cache(bytes);
  if constexpr (!kCaching) return counted(host_cache().from_system(bytes), bytes);
  if (bytes <= kMedium) {
    if (cache) {
      if (bytes > kSmall) return cache->allocate_medium(bytes);
      if (!cache->has_small(bytes)) cache->fill_small(bytes);
      return cache->allocate_small(bytes);
    }
    size_t size = bytes_of_class(class_of(bytes));
    return counted(host_cache().take(size), size);
  }
  size_t size = round_large(bytes);
  return counted(host_cache().take(size), size);
}

FARRO_RARE void host_free(void* p, size_t bytes) noexcept {
  if constexpr (!kCaching) {
    host_cache().count(-static_cast<int64_t>(bytes));
    host_cache().reserved -= static_cast<int64_t>(bytes);
    std::free(p);
    return;
  }
  if (bytes > kMedium) {
    size_t size = round_large(bytes);
    host_cache().count(-static_cast<int64_t>(size));
    host_cache().put(p, size);
  } else if (ThreadCache* cache = thread_cache()) {
    bytes > kSmall ? cache->free_medium(p, bytes) : cache->free_small(p, bytes);
  } else {
    size_t size = bytes_of_class(class_of(bytes));
    host_cache().count(-static_cast<int64_t>(size));
    if (size > kSmall) host_cache().put(p, size);
  }
}

SharedCache& device_cache(uint8_t backend) {
  static std::array<SharedCache*, 256> caches{};
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  SharedCache*& cache = caches[backend];
  if (!cache) cache = new SharedCache(&detail::backend_info(backend));
  return *cache;
}

SharedCache& cache_of(Device device) {
  return device.is_host() ? host_cache() : device_cache(device.backend());
}

}  // namespace

namespace detail {

void* pool_allocate(size_t bytes) {
  if (kCaching && FARRO_LIKELY(bytes <= kSmall)) {
    if (FARRO_LIKELY(this_thread.has_small(bytes))) return this_thread.allocate_small(bytes);
  }
  return host_allocate(bytes);
}

void pool_free(void* p, size_t bytes) noexcept {
  if (kCaching && FARRO_LIKELY(bytes <= kSmall)) {
    if (FARRO_LIKELY(this_thread.is_open())) return this_thread.free_small(p, bytes);
  }
  host_free(p, bytes);
}

}  // namespace detail

detail::FailingAllocation::FailingAllocation(int64_t number) : number_(number) {
  request_counter = new detail::RequestCounter{*thread_cache(), this};
  this_thread = ThreadCache();
}

detail::FailingAllocation::~FailingAllocation() {
  this_thread = request_counter->lists;
  delete std::exchange(request_counter, nullptr);
}

/// Places a host storage and its elements in one block.
struct StorageAccess {
  static constexpr size_t kHeader = kAlignment;

  static Storage* make(void* at, void* data, size_t bytes, Device device) {
    static_assert(sizeof(Storage) <= kHeader);
    return new (at) Storage(data, bytes, device);
  }
  static void destroy(Storage* s) {
    size_t bytes = s->bytes_;
    bool in_place = s->data_ == reinterpret_cast<const char*>(s) + kHeader;
    if (FARRO_UNLIKELY(!in_place)) free_elsewhere(s);
    s->~Storage();
    detail::pool_free(s, kHeader + (in_place ? bytes : 0));
  }
  FARRO_NOINLINE static void free_elsewhere(Storage* s) {
    if (s->owner_ || !s->data_) return;
    SharedCache& cache = device_cache(s->device_.backend());
    cache.count(-static_cast<int64_t>(round_large(s->bytes_)));
    cache.put(s->data_, round_large(s->bytes_));
  }
  static void set_owner(Storage* s, std::shared_ptr<void> owner) { s->owner_ = std::move(owner); }
};

IntrusivePtr<Storage> Storage::allocate(size_t bytes, Device device) {
  if (FARRO_UNLIKELY(bytes > (size_t{1} << 62))) {
    fail<MemoryError>("allocate", "expected at most 2^62 bytes, got {}", bytes);
  }
  if (FARRO_UNLIKELY(!device.is_host())) return allocate_on_device(bytes, device);
  char* p = static_cast<char*>(detail::pool_allocate(StorageAccess::kHeader + bytes));
  return IntrusivePtr<Storage>::fresh(
      StorageAccess::make(p, p + StorageAccess::kHeader, bytes, device));
}

FARRO_NOINLINE IntrusivePtr<Storage> Storage::allocate_on_device(size_t bytes, Device device) {
  SharedCache& cache = device_cache(device.backend());
  // Without data until it has some, so that nothing is lost where a request is refused.
  void* header = detail::pool_allocate(StorageAccess::kHeader);
  auto storage = IntrusivePtr<Storage>::fresh(StorageAccess::make(header, nullptr, bytes, device));
  if (bytes) {
    storage->data_ = cache.take(round_large(bytes));
    cache.count(static_cast<int64_t>(round_large(bytes)));
  }
  ++cache.allocations;
  return storage;
}

IntrusivePtr<Storage> Storage::wrap(void* data, size_t bytes, Device device,
                                    std::shared_ptr<void> owner) {
  void* header = detail::pool_allocate(StorageAccess::kHeader);
  auto storage = IntrusivePtr<Storage>::fresh(StorageAccess::make(header, nullptr, bytes, device));
  // Memory that the caller keeps alive himself gets an owner that does nothing, so that it is never
  // freed here.
  if (!owner) owner = std::shared_ptr<void>(header, [](void*) {});
  StorageAccess::set_owner(storage.get(), std::move(owner));
  storage->data_ = data;
  return storage;
}

void Storage::destroy(Storage* storage) { StorageAccess::destroy(storage); }

MemoryStats memory_stats(Device device) {
  if (ThreadCache* cache = device.is_host() ? thread_cache() : nullptr) cache->flush();
  SharedCache& cache = cache_of(device);
  return {cache.allocated, cache.peak, cache.reserved, cache.allocations, cache.system_allocations};
}

void reset_peak_memory_stats(Device device) {
  if (ThreadCache* cache = device.is_host() ? thread_cache() : nullptr) cache->flush();
  SharedCache& cache = cache_of(device);
  cache.peak = cache.allocated.load();
}

void empty_cache(Device device) {
  if (ThreadCache* cache = device.is_host() ? thread_cache() : nullptr) cache->empty();
  cache_of(device).release_all();
}

}  // namespace farro
