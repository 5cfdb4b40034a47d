#pragma once

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif

/// What differs between Kokkos 3.4 and 5, and nothing else.
namespace farro::compat {

/// Kokkos 3.x counts versions as 30400; launches from several threads are safe from 4.4 on.
inline constexpr bool concurrent_launches = KOKKOS_VERSION >= 40400;

inline bool tools_loaded() {
#if KOKKOS_VERSION >= 30200
  return Kokkos::Profiling::profileLibraryLoaded();
#else
  return false;
#endif
}

inline bool is_initialized() { return Kokkos::is_initialized(); }

inline bool is_finalized() {
#if KOKKOS_VERSION >= 30700
  return Kokkos::is_finalized();
#else
  return false;
#endif
}

/// The threads of a host space, or the hardware threads of a device.
template <class ExecutionSpace>
int concurrency() {
#if KOKKOS_VERSION >= 40000
  return ExecutionSpace().concurrency();
#else
  return ExecutionSpace::concurrency();
#endif
}

/// Copies bytes between host memory and `Memory`, in the direction that the pointers say, and
/// waits.
template <class Memory>
void copy_bytes(void* to, const void* from, size_t bytes) {
#ifdef KOKKOS_ENABLE_CUDA
  cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
#else
  static_assert(Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible,
                "no device memory was built");
  std::memcpy(to, from, bytes);
#endif
}

/// Initialises Kokkos; threads = 0 leaves the number to Kokkos. Quiet: without its warnings.
inline void initialize(int threads, bool quiet) {
#if KOKKOS_VERSION >= 30700
  Kokkos::InitializationSettings settings;
  if (threads > 0) settings.set_num_threads(threads);
  if (quiet) settings.set_disable_warnings(true);
  Kokkos::initialize(settings);
#else
  Kokkos::InitArguments arguments;
  if (threads > 0) arguments.num_threads = threads;
  arguments.disable_warnings = quiet;
  Kokkos::initialize(arguments);
#endif
}

/// Initialises Kokkos from the command line, out of which its options are taken.
inline void initialize(int& argc, char** argv, bool quiet) {
  char flag[] = "--kokkos-disable-warnings";
  std::vector<char*> arguments(argv, argv + argc);
  if (quiet) arguments.push_back(flag);
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  Kokkos::initialize(count, arguments.data());
  auto rest = std::remove(arguments.begin(), arguments.begin() + count, flag);
  std::copy(arguments.begin(), rest, argv);
  int left = static_cast<int>(rest - arguments.begin());
  if (left < argc) argv[left] = nullptr;
  argc = left;
}

/// True inside a parallel region of the space, where a further launch must not fork.
template <class ExecutionSpace>
bool in_parallel() {
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::OpenMP>) return omp_in_parallel() != 0;
#endif
  return false;
}

}  // namespace farro::compat
