#include <farro/benchmarks/raw_gemm.hpp>

#include <farro/backends/blas.hpp>
#include <farro/backends/one_thread.hpp>
#include <farro/backends/onednn.hpp>

#include <memory>

namespace farro::benchmarks {
namespace {

template <class T>
std::vector<Job> jobs_for(int64_t n, int threads) {
  auto memory = std::make_shared<std::vector<T>>(3 * static_cast<size_t>(n * n), T(0.5));
  int side = static_cast<int>(n);
  blas::Gemm<T> gemm{side, side, side, T(1), memory->data(), side, false, memory->data() + n * n, side, false,
                     T(0), memory->data() + 2 * n * n, side};
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
