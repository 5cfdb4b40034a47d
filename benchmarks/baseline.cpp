#include <farro/benchmarks/compare.hpp>

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <farro/benchmarks/raw_gemm.hpp>

namespace farro::benchmarks {
namespace {

Baseline measured;

/// STREAM's triad a = b + s·c (McCalpin, 1995); counts three arrays as STREAM does.
double triad(int threads) {
  constexpr int64_t n = int64_t{1} << 24;
  static auto memory = std::unique_ptr<double[]>(new double[3 * n]);
  double *a = memory.get(), *b = a + n, *c = b + n;
  auto job = [=] {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; ++i) a[i] = b[i] + 3.0 * c[i];
  };
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < n; ++i) a[i] = b[i] = c[i] = 1;
  return 3.0 * n * sizeof(double) / best_seconds(job, 7);
}

}  // namespace

const Baseline& baseline() { return measured; }

void measure_baseline() {
  int threads[2] = {1, omp_get_max_threads()};
  for (int t = 0; t < 2; ++t) {
    measured.stream_bytes_per_second[t] = triad(threads[t]);
    fmt::print(stderr, "STREAM triad  {} {}  {:6.1f} GB/s\n", threads[t],
               threads[t] == 1 ? "thread " : "threads", measured.stream_bytes_per_second[t] * 1e-9);
  }
  constexpr int64_t n = 1024;
  for (int precision = 0; precision < 2; ++precision) {
    for (int t = 0; t < 2; ++t) {
      double best = 1e30;
      for (const Job& job : raw_gemm_jobs(n, precision == 1, threads[t]))
        best = std::min(best, best_seconds(job));
      measured.gemm_flops_per_second[precision][t] = 2.0 * n * n * n / best;
      fmt::print(stderr, "{}gemm {}    {} {}  {:6.1f} GFLOP/s\n", precision ? 'd' : 's', n,
                 threads[t], threads[t] == 1 ? "thread " : "threads",
                 measured.gemm_flops_per_second[precision][t] * 1e-9);
    }
  }
}

}  // namespace farro::benchmarks
