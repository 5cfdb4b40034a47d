#pragma once

/// The launch layer: the one place from which kernels run.
///
/// Host kernels are block bodies. parallel_blocks cuts [0, n) into blocks of exactly `grain` items
/// (the last may be shorter) and calls body(begin, end) once per block: in order on Serial, spread
/// over the pool on OpenMP, and on the calling thread without a fork when the work is small. Since
/// the cut depends on n and grain alone, a body that treats its block alike everywhere gives the
/// same bits on every host backend at every thread count. Bodies are type-erased, so a host kernel
/// is compiled once for all host backends and without Kokkos headers.
///
/// for_each runs a portable functor f(i), also on device backends; a body runs as a loop over a
/// block on the host.

#include <atomic>
#include <cstdint>
#include <type_traits>

#include <farro/backends/config.hpp>
#include <farro/backends/device.hpp>

namespace farro {

/// How much work a launch is. cost is the work of one item in units of one streamed element (about
/// 1 ns).
struct LaunchShape {
  int64_t n = 0;
  int64_t grain = 1;
  double cost = 1;
};

namespace detail {

using BlockFn = void (*)(const void* context, int64_t begin, int64_t end);
/// `label` names the kernel for Kokkos Tools, e.g. "farro::tanh".
void launch_host_blocks(Device device, const char* label, const LaunchShape& shape, BlockFn body,
                        const void* context);
/// True if a host launch of this shape would run on the calling thread alone.
bool runs_inline(Device device, const LaunchShape& shape);
/// False once it is known that no Kokkos tool wants to hear of kernels, which is settled by the
/// first launch after Kokkos was initialised. Until then, and with a tool, every launch goes
/// through launch_host_blocks.
extern constinit std::atomic<bool> kernels_are_watched;
FARRO_FAST_TLS extern constinit thread_local bool reference_kernels;
/// True if parallel_blocks would do no more than call the body once, on all of it.
inline bool is_one_block(int64_t n, int64_t grain) {
  return n <= grain && !kernels_are_watched.load(std::memory_order_relaxed);
}

}  // namespace detail

/// Calls body(begin, end) for each block of a host launch. The body must not launch. What it throws
/// reaches the caller, on OpenMP once all blocks are done.
template <class Body>
void parallel_blocks(Device device, const char* label, const LaunchShape& shape, const Body& body) {
  detail::BlockFn run = [](const void* context, int64_t begin, int64_t end) {
    (*static_cast<const Body*>(context))(begin, end);
  };
  // Small operations shall not pay for what decides where blocks run.
  if (!detail::is_one_block(shape.n, shape.grain)) {
    detail::launch_host_blocks(device, label, shape, run, &body);
  } else if (shape.n > 0) {
    run(&body, 0, shape.n);
  }
}

/// The threads that a launch on this device may use.
int concurrency(Device device);
/// Waits for everything launched on the device. No-op on host backends.
void fence(Device device);

/// True while a ReferenceKernels scope lives on this thread: operations then use their plain Kokkos
/// kernel instead of a library or a hand-tuned host kernel. For tests.
inline bool use_reference_kernels() { return detail::reference_kernels; }
class ReferenceKernels {
 public:
  ReferenceKernels();
  ~ReferenceKernels();
  ReferenceKernels(const ReferenceKernels&) = delete;

 private:
  bool previous_;
};

}  // namespace farro

#ifdef FARRO_DEVICE_BACKENDS
#include <farro/backends/launch_kokkos.hpp>
#endif

namespace farro {

/// Calls f(i) for i in [0, n) on any backend; f is a functor struct whose call operator is a
/// FARRO_FUNCTION.
template <class F>
void for_each(Device device, const char* label, int64_t n, const F& f, double cost = 4) {
  if (n == 0) return;
  if (device.is_host()) {
    int64_t grain = cost >= 4096 ? 1 : static_cast<int64_t>(4096 / cost);
    parallel_blocks(device, label, {n, grain, cost}, [&f](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i);
    });
    return;
  }
#ifdef FARRO_DEVICE_BACKENDS
  detail::for_each_on_device(device, label, n, f);
#endif
}

}  // namespace farro
