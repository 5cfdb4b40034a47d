#include <farro/benchmarks/raw_gemm.hpp>

#include <farro/backends/blas.hpp>
#include <farro/backends/one_thread.hpp>
#include <farro/backends/onednn.hpp>
#include <farro/backends/scratch.hpp>

#include <algorithm>
#include <memory>

namespace farro::benchmarks {
namespace {

template <class T>
std::vector<Job> jobs_for(int64_t n, int threads) {
  // Aligned as a tensor's memory is: each matrix starts at a multiple of 64 bytes.
  size_t stride = (static_cast<size_t>(n * n) * sizeof(T) + 63) / 64 * 64 / sizeof(T);
  auto memory = std::make_shared<Scratch>(3 * stride * sizeof(T));
  T *a = memory->as<T>(), *b = a + stride, *c = b + stride;
  std::fill_n(a, 3 * stride, T(0.5));
  int side = static_cast<int>(n);
  blas::Gemm<T> gemm{side, side, side, T(1), a, side, false, b, side, false, T(0), c, side};
  auto on = [threads](auto call) -> Job {
    if (threads > 1) return call;
    return [call] {
      OneThread scope;
      call();
    };
  };
  std::vector<Job> jobs;
  if (blas::available()) jobs.push_back(on([gemm, memory] { blas::gemm(gemm); }));
  if constexpr (std::is_same_v<T, float>) {
    if (onednn::available()) jobs.push_back(on([gemm, memory] { onednn::gemm(gemm); }));
  }
  return jobs;
}

}  // namespace

std::vector<Job> raw_gemm_jobs(int64_t n, bool float64, int threads) {
  return float64 ? jobs_for<double>(n, threads) : jobs_for<float>(n, threads);
}

}  // namespace farro::benchmarks
