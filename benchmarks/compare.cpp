#include <farro/benchmarks/compare.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/core.h>

namespace farro::benchmarks {
namespace {

constexpr int kPairs = 15;
constexpr double kSampleSeconds =
    1e-3;  // a sample repeats the job until it lasts at least this long

double seconds_of(const Job& job, int64_t repeats) {
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < repeats; ++i) job();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int64_t repeats_for(const Job& job) {
  job();  // first calls fill caches
  int64_t repeats = 1;
  for (;;) {
    double seconds = seconds_of(job, repeats);
    if (seconds >= kSampleSeconds) return repeats;
    repeats = std::max(2 * repeats, static_cast<int64_t>(static_cast<double>(repeats) *
                                                         kSampleSeconds / std::max(seconds, 1e-9)));
  }
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double best_seconds(const Job& job, int tries) {
  int64_t repeats = repeats_for(job);
  double best = 1e30;
  for (int i = 0; i < tries; ++i)
    best = std::min(best, seconds_of(job, repeats) / static_cast<double>(repeats));
  return best;
}

void compare(benchmark::State& state, const Job& ours, const Job& reference, Work work,
             int threads) {
  int64_t our_repeats = repeats_for(ours);
  int64_t reference_repeats = reference ? repeats_for(reference) : 0;
  std::vector<double> ours_seconds, reference_seconds, ratios;
  for (auto _ : state) {
    double a = seconds_of(ours, our_repeats) / static_cast<double>(our_repeats);
    ours_seconds.push_back(a);
    if (reference) {
      double b = seconds_of(reference, reference_repeats) / static_cast<double>(reference_repeats);
      reference_seconds.push_back(b);
      ratios.push_back(b / a);
    }
    state.SetIterationTime(a / work.items);
  }
  double seconds = median(ours_seconds);
  auto& counters = state.counters;
  counters["ours_ns"] = seconds * 1e9 / work.items;
  int column = threads > 1;
  if (work.bytes > 0) {
    counters["GB/s"] = work.bytes / seconds * 1e-9;
    counters["of_stream"] = work.bytes / seconds / baseline().stream_bytes_per_second[column];
  }
  if (work.flops > 0) {
    counters["GFLOP/s"] = work.flops / seconds * 1e-9;
    counters["of_gemm"] = work.flops / seconds / baseline().gemm_flops_per_second[0][column];
  }
  if (reference) {
    counters["ref_ns"] = median(reference_seconds) * 1e9 / work.items;
    counters["ratio"] = median(ratios);
  }
}

void add_row(const std::string& name, std::function<Jobs()> prepare) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [prepare = std::move(prepare)](benchmark::State& state) {
                                 Jobs jobs = prepare();
                                 compare(state, jobs.ours, jobs.reference, jobs.work, jobs.threads);
                               })
      ->Iterations(kPairs)
      ->UseManualTime()
      ->Unit(benchmark::kNanosecond);
}

}  // namespace farro::benchmarks
