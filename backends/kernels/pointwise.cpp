#include <farro/backends/kernels/pointwise.hpp>

#include <farro/backends/kernels/operands.hpp>
#include <farro/backends/launch.hpp>

namespace farro {
namespace {

/// Elements of a block.
constexpr int64_t kGrain = 8192;

/// Calls run(out, in, n) over runs of contiguous elements of the compute type.
template <class Run>
void run_all(const PointwiseKernels& kernels, const PointwiseArrays& a, const Run& run) {
  OperandsRun what{.device = a.device, .label = kernels.label, .compute = a.compute, .n = a.n, .cost = kernels.cost};
  run_operands(
      what, {&a.out, 1}, a.in,
      [](const void* context, void* const* out, const void* const* in, int64_t n) {
        (*static_cast<const Run*>(context))(out[0], in, n);
      },
      &run);
}

bool portable(Device device) { return !device.is_host() || use_reference_kernels(); }

}  // namespace

void run_pointwise_contiguous(const PointwiseKernels& kernels, const void* op, DType compute, Device device, int64_t n,
                              void* y, const void* const* x) {
  ForwardRun run = kernels.forward[compute_index(compute)];
  auto bytes = static_cast<int64_t>(size_of(compute));
  parallel_blocks(device, kernels.label, {n, kGrain, kernels.cost}, [&](int64_t begin, int64_t end) {
    if (begin == 0) return run(op, y, x, end);
    const void* shifted[kMaxPointwiseInputs];
    for (int k = 0; k < kernels.arity; ++k) shifted[k] = static_cast<const char*>(x[k]) + begin * bytes;
    run(op, static_cast<char*>(y) + begin * bytes, shifted, end - begin);
  });
}

void run_pointwise_backward_contiguous(const PointwiseKernels& kernels, const void* op, int input, DType compute,
                                       Device device, int64_t n, void* dx, const void* dy, const void* const* x,
                                       const void* y) {
  BackwardRun run = kernels.backward[compute_index(compute)];
  int64_t bytes = static_cast<int64_t>(size_of(compute));
  parallel_blocks(device, kernels.label, {n, kGrain, kernels.cost}, [&](int64_t begin, int64_t end) {
    if (begin == 0) return run(op, input, dx, dy, x, y, end);
    auto shift = [&](const void* p) -> const void* { return p ? static_cast<const char*>(p) + begin * bytes : nullptr; };
    const void* shifted[kMaxPointwiseInputs];
    for (int k = 0; k < kernels.arity; ++k) shifted[k] = shift(x[k]);
    run(op, input, static_cast<char*>(dx) + begin * bytes, shift(dy), shifted, shift(y), end - begin);
  });
}

void run_pointwise(const PointwiseKernels& kernels, const void* op, DType compute, const ArrayView& y,
                   std::span<const ArrayView* const> x) {
  PointwiseArrays a{.device = y.device, .compute = compute, .n = y.numel(), .out = {}, .in = {}};
  if (a.n == 0) return;
  a.out = operand(y, y.sizes, compute, false);
  for (size_t k = 0; k < x.size(); ++k) a.in[k] = operand(*x[k], y.sizes, compute, true);
  if (portable(a.device)) return kernels.forward_portable(op, kernels.label, a);
  ForwardRun run = kernels.forward[compute_index(compute)];
  run_all(kernels, a, [&](void* out, const void* const* in, int64_t n) { run(op, out, in, n); });
}

void run_pointwise_backward(const PointwiseKernels& kernels, const void* op, int input, DType compute,
                            const ArrayView& dx, const ArrayView& dy, std::span<const ArrayView* const> x,
                            const ArrayView* y) {
  PointwiseArrays a{.device = dx.device, .compute = compute, .n = dx.numel(), .out = {}, .in = {}};
  if (a.n == 0) return;
  a.out = operand(dx, dx.sizes, compute, false);
  for (size_t k = 0; k < x.size(); ++k) {
    if (x[k]) a.in[k] = operand(*x[k], dx.sizes, compute, true);
  }
  if (y) a.in[kOutputOperand] = operand(*y, dx.sizes, compute, true);
  a.in[kGradOperand] = operand(dy, dx.sizes, compute, true);
  if (portable(a.device)) return kernels.backward_portable(op, input, kernels.label, a);
  BackwardRun run = kernels.backward[compute_index(compute)];
  run_all(kernels, a, [&](void* out, const void* const* in, int64_t n) {
    run(op, input, out, in[kGradOperand], in, in[kOutputOperand], n);
  });
}

}  // namespace farro
