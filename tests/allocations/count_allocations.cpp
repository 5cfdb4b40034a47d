#include <allocations/count_allocations.hpp>

#include <features.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

// Sanitizers bring a malloc of their own, and other C libraries have no names for the one below
// ours.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <execinfo.h>
#include <unistd.h>

namespace {

std::atomic<int64_t> allocations{0};
std::atomic<bool> traced{false};
thread_local bool tracing = false;
thread_local int64_t until_refusal = 0;  // 0: none will be refused

/// False for an allocation that is to fail.
bool granted() {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (until_refusal > 0 && --until_refusal == 0) {
    errno = ENOMEM;
    return false;
  }
  if (!traced || tracing) return true;
  tracing = true;
  void* frames[24];
  backtrace_symbols_fd(frames, backtrace(frames, 24), STDERR_FILENO);
  [[maybe_unused]] auto written = write(STDERR_FILENO, "\n", 1);
  tracing = false;
  return true;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) { return granted() ? __libc_malloc(bytes) : nullptr; }
void* calloc(size_t n, size_t bytes) { return granted() ? __libc_calloc(n, bytes) : nullptr; }
void* realloc(void* p, size_t bytes) { return granted() ? __libc_realloc(p, bytes) : nullptr; }
void* aligned_alloc(size_t alignment, size_t bytes) {
  return granted() ? __libc_memalign(alignment, bytes) : nullptr;
}
void* memalign(size_t alignment, size_t bytes) {
  return granted() ? __libc_memalign(alignment, bytes) : nullptr;
}
int posix_memalign(void** p, size_t alignment, size_t bytes) {
  void* block = granted() ? __libc_memalign(alignment, bytes) : nullptr;
  if (!block) return ENOMEM;
  *p = block;
  return 0;
}

}  // extern "C"

namespace farro::testing {

int64_t allocation_count() { return allocations; }
TraceAllocations::TraceAllocations() { traced = true; }
TraceAllocations::~TraceAllocations() { traced = false; }
RefuseAllocation::RefuseAllocation(int64_t number) { until_refusal = number; }
RefuseAllocation::~RefuseAllocation() { until_refusal = 0; }
bool RefuseAllocation::refused() const { return until_refusal == 0; }

}  // namespace farro::testing

#else

namespace farro::testing {

int64_t allocation_count() { return -1; }
TraceAllocations::TraceAllocations() = default;
TraceAllocations::~TraceAllocations() = default;
RefuseAllocation::RefuseAllocation(int64_t) {}
RefuseAllocation::~RefuseAllocation() = default;
bool RefuseAllocation::refused() const { return false; }

}  // namespace farro::testing

#endif
