#pragma once

#include <vector>

#include <farro/benchmarks/compare.hpp>

namespace farro::benchmarks {

/// Square products of the libraries as they are, without Farro: OpenBLAS and, for float32, oneDNN,
/// each with its own threading on `threads` threads.
std::vector<Job> raw_gemm_jobs(int64_t n, bool float64, int threads);

}  // namespace farro::benchmarks
