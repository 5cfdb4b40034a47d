#include <farro/backends/launch.hpp>

#include <farro/backends/backend.hpp>
#include <farro/backends/dispatch.hpp>

#include <algorithm>
#include <exception>
#include <mutex>

namespace farro {
namespace {

/// Work, in streamed elements, below which waking the pool costs more than it saves (a fork is
/// about 1 µs).
constexpr double kForkThreshold = 32768;

bool watched() {
  if (FARRO_LIKELY(!detail::kernels_are_watched.load(std::memory_order_relaxed))) return false;
  if (!compat::is_initialized()) return false;
  bool loaded = compat::tools_loaded();
  detail::kernels_are_watched.store(loaded, std::memory_order_relaxed);
  return loaded;
}

/// Tells Kokkos Tools of a kernel that runs without a Kokkos launch.
class ToolsRegion {
 public:
  explicit ToolsRegion(const char* label) : active_(watched()) {
    if (FARRO_UNLIKELY(active_)) Kokkos::Profiling::beginParallelFor(label, 0, &id_);
  }
  ~ToolsRegion() {
    if (FARRO_UNLIKELY(active_)) Kokkos::Profiling::endParallelFor(id_);
  }

 private:
  bool active_;
  uint64_t id_ = 0;
};

void run_blocks(const LaunchShape& shape, detail::BlockFn body, const void* context) {
  for (int64_t begin = 0; begin < shape.n; begin += shape.grain) {
    body(context, begin, std::min(begin + shape.grain, shape.n));
  }
}

/// The first exception of the threads of a launch: one that left a parallel region would end the
/// program.
class FirstError {
 public:
  template <class F>
  void guard(const F& f) noexcept {
    try {
      f();
    } catch (...) {
      if (!taken_.exchange(true)) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (FARRO_UNLIKELY(error_)) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> taken_{false};
  std::exception_ptr error_;
};

template <class B>
void fork_blocks(const char* label, const LaunchShape& shape, detail::BlockFn body,
                 const void* context) {
  using Execution = typename B::ExecutionSpace;
  using Policy = Kokkos::RangePolicy<Execution, Kokkos::IndexType<int64_t>>;
  int64_t blocks = (shape.n + shape.grain - 1) / shape.grain;
  FirstError error;
  auto launch = [&] {
    Kokkos::parallel_for(label, Policy(0, blocks), [=, first = &error](int64_t b) {
      first->guard(
          [&] { body(context, b * shape.grain, std::min((b + 1) * shape.grain, shape.n)); });
    });
  };
  if constexpr (compat::concurrent_launches) {
    launch();
  } else {
    static std::mutex one_launch;
    std::lock_guard lock(one_launch);
    launch();
  }
  error.rethrow();
}

}  // namespace

namespace detail {

constinit std::atomic<bool> kernels_are_watched{true};
FARRO_FAST_TLS constinit thread_local bool reference_kernels = false;

bool runs_inline(Device device, const LaunchShape& shape) {
  return device.backend() == backends::kSerialId || shape.n <= shape.grain ||
         static_cast<double>(shape.n) * shape.cost < kForkThreshold;
}

void launch_host_blocks(Device device, const char* label, const LaunchShape& shape, BlockFn body,
                        const void* context) {
  if (shape.n <= 0) return;
  bool inline_run = runs_inline(device, shape);
  if (!inline_run) {
    dispatch_backend(device, [&]<class B>() {
      if constexpr (is_host_backend<B>) {
        if (compat::in_parallel<typename B::ExecutionSpace>()) {
          inline_run = true;
          return;
        }
        if (!compat::is_initialized()) {
          fail<BackendError>("launch", "Kokkos is not initialised; create a farro::Runtime first");
        }
        fork_blocks<B>(label, shape, body, context);
      }
    });
  }
  if (inline_run) {
    ToolsRegion region(label);
    run_blocks(shape, body, context);
  }
}

}  // namespace detail

ReferenceKernels::ReferenceKernels() : previous_(detail::reference_kernels) {
  detail::reference_kernels = true;
}
ReferenceKernels::~ReferenceKernels() { detail::reference_kernels = previous_; }

}  // namespace farro
