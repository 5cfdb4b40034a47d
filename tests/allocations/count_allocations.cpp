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

void count() {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (!traced || tracing) return;
  tracing = true;
  void* frames[24];
  backtrace_symbols_fd(frames, backtrace(frames, 24), STDERR_FILENO);
  [[maybe_unused]] auto written = write(STDERR_FILENO, "\n", 1);
  tracing = false;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(size_t n, size_t bytes) {
  count();
  return __libc_calloc(n, bytes);
}
void* realloc(void* p, size_t bytes) {
  count();
  return __libc_realloc(p, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** p, size_t alignment, size_t bytes) {
  count();
  *p = __libc_memalign(alignment, bytes);
  return *p ? 0 : ENOMEM;
}

}  // extern "C"

namespace farro::testing {

int64_t allocation_count() { return allocations; }
TraceAllocations::TraceAllocations() { traced = true; }
TraceAllocations::~TraceAllocations() { traced = false; }

}  // namespace farro::testing

#else

namespace farro::testing {

int64_t allocation_count() { return -1; }
TraceAllocations::TraceAllocations() = default;
TraceAllocations::~TraceAllocations() = default;

}  // namespace farro::testing

#endif
