#pragma once

/// Internal to the softmax kernels.

#include <farro/backends/kernels/runs.hpp>
#include <farro/backends/kernels/softmax.hpp>

namespace farro::kernels {

/// softmax of in [outer, n, inner] along n, or its gradient where `grad` is not null (`in` is then
/// its output).
struct SoftmaxJob {
  SoftmaxJob(const ArrayView& out, const ArrayView& in, int dim, bool log);

  void* out;
  const void* in;
  const void* grad = nullptr;
  DType dtype;
  bool log;
  int64_t outer = 1, n = 1, inner = 1;
};

void softmax_reference(Device device, const char* label, const SoftmaxJob& job);

}  // namespace farro::kernels
