#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <cstdlib>
#include <sstream>

#include <farro/backends/runtime.hpp>

#include <farro/benchmarks/compare.hpp>
#include <farro/benchmarks/torch.hpp>

namespace {

/// show_config() as context of the JSON output, where compare.py and the report script find it.
void add_context() {
  std::istringstream lines(farro::show_config());
  for (std::string line; std::getline(lines, line);) {
    size_t gap = line.find("  ");
    if (gap == std::string::npos) continue;
    benchmark::AddCustomContext(line.substr(0, gap), line.substr(line.find_first_not_of(' ', gap)));
  }
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  benchmark::AddCustomContext("GLIBC_TUNABLES", tunables ? tunables : "");
  benchmark::AddCustomContext(
      "libtorch", farro::benchmarks::torch_reference::available() ? "yes" : "not built in");
  const auto& base = farro::benchmarks::baseline();
  for (int t = 0; t < 2; ++t) {
    const char* suffix = t ? " all threads" : " 1 thread";
    benchmark::AddCustomContext(std::string("STREAM GB/s") + suffix,
                                fmt::format("{:.2f}", base.stream_bytes_per_second[t] * 1e-9));
    benchmark::AddCustomContext(std::string("sgemm GFLOP/s") + suffix,
                                fmt::format("{:.1f}", base.gemm_flops_per_second[0][t] * 1e-9));
    benchmark::AddCustomContext(std::string("dgemm GFLOP/s") + suffix,
                                fmt::format("{:.1f}", base.gemm_flops_per_second[1][t] * 1e-9));
  }
}

}  // namespace

int main(int argc, char** argv) {
  farro::Runtime runtime(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (!farro::benchmarks::torch_reference::available()) {
    fmt::print(stderr, "LibTorch was not found when this was built: its column is empty\n");
  }
  farro::benchmarks::measure_baseline();
  add_context();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
