#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>

namespace farro::benchmarks {

/// Something to time: one call is one unit of work, finished when it returns.
using Job = std::function<void()>;

/// What one call of a job moves and computes.
struct Work {
  double bytes = 0;
  double flops = 0;
  double items = 1;  ///< the time is reported for one of these, e.g. the operations of a chain
};

/// Measured before any row, in this process, with one thread and with all of them.
struct Baseline {
  double stream_bytes_per_second[2] = {0, 0};  ///< triad over arrays far larger than any cache
  double gemm_flops_per_second[2][2] = {
      {0, 0}, {0, 0}};  ///< best of OpenBLAS and oneDNN: [float32, float64][threads]
};
const Baseline& baseline();
/// Fills baseline(); prints what it found as it goes.
void measure_baseline();

/// One row: runs `ours` and, if there is one, `reference` in turns for at least 15 pairs; reports
/// our median time and, as counters, the median ratio reference / ours ("ratio": larger is better)
/// with the reference's time, and shares of STREAM or GEMM from `work`. `threads` chooses the
/// baseline.
void compare(benchmark::State& state, const Job& ours, const Job& reference, Work work,
             int threads = 1);

/// Registers compare() under a name like "tanh/forward/openmp/f32/1048576". The jobs are made when
/// the row runs: prepare() returns ours and the reference (empty to leave it out).
struct Jobs {
  Job ours;
  Job reference;
  Work work;
  int threads = 1;
};
void add_row(const std::string& name, std::function<Jobs()> prepare);

/// Seconds that one call takes, at best over a few tries.
double best_seconds(const Job& job, int tries = 5);

}  // namespace farro::benchmarks
