#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <farro/backends/device.hpp>
#include <farro/backends/intrusive_ptr.hpp>

namespace farro {

/// Memory that tensors share, with the version that in-place operations raise. Storage on host
/// backends comes from one caching allocator, that of a device backend from another; both hand
/// freed blocks out again without asking the system.
class Storage : public RefCounted {
 public:
  /// Uninitialised memory, aligned to 64 bytes. Throws MemoryError when the system refuses.
  static IntrusivePtr<Storage> allocate(size_t bytes, Device device);
  /// Memory that somebody else owns; `owner` is released with the last tensor on it.
  static IntrusivePtr<Storage> wrap(void* data, size_t bytes, Device device,
                                    std::shared_ptr<void> owner);
  static void destroy(Storage* storage);

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  friend struct StorageAccess;
  static IntrusivePtr<Storage> allocate_on_device(size_t bytes, Device device);
  Storage(void* data, size_t bytes, Device device) : data_(data), bytes_(bytes), device_(device) {}
  ~Storage() = default;

  void* data_;
  size_t bytes_;
  Device device_;
  std::atomic<uint32_t> version_{0};
  std::shared_ptr<void> owner_;
};

/// Counters of a caching allocator, in bytes except where they count events. Host backends share
/// one. Other threads' counts may lag by up to 64 KiB each.
struct MemoryStats {
  int64_t allocated = 0;           ///< handed out now
  int64_t peak_allocated = 0;      ///< the most that was handed out since reset_peak_memory_stats
  int64_t reserved = 0;            ///< held from the system now, cached blocks included
  int64_t allocations = 0;         ///< requests served so far
  int64_t system_allocations = 0;  ///< requests that went to the system so far
};
MemoryStats memory_stats(Device device = {});
void reset_peak_memory_stats(Device device = {});
/// Gives cached blocks of this thread and the shared cache back to the system.
void empty_cache(Device device = {});

namespace detail {

/// Small host objects (tensors, nodes) from the calling thread's free lists. Any thread may free.
void* pool_allocate(size_t bytes);
void pool_free(void* p, size_t bytes) noexcept;

/// A base of what is made by new from there.
struct PoolAllocated {
  static void* operator new(size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* p, size_t bytes) { pool_free(p, bytes); }
};

}  // namespace detail

}  // namespace farro
