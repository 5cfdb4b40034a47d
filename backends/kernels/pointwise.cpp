#include <farro/backends/kernels/pointwise.hpp>

#include <algorithm>

#include <farro/backends/kernels/operands.hpp>
#include <farro/backends/kernels/stream.hpp>
#include <farro/backends/launch.hpp>

namespace farro {
namespace {

constexpr int64_t kGrain = kPointwiseGrain;

/// Calls run(out, in, n) over stretches of n contiguous elements, made of operands of any form.
template <class Run>
void run_all(const PointwiseKernels& kernels, const PointwiseArrays& a, const Run& run) {
  OperandsRun what{.device = a.device,
                   .label = kernels.label,
                   .compute = a.compute,
                   .n = a.n,
                   .cost = kernels.cost};
  run_operands(
      what, {&a.out, 1}, a.in,
      [](const void* context, void* const* out, const void* const* in, int64_t n) {
        (*static_cast<const Run*>(context))(out[0], in, n);
      },
      &run);
}

/// The same where all are contiguous and of the compute type, without the machine that others need,
/// but for large results, which it writes past the caches.
template <class Run>
FARRO_NOINLINE void run_contiguous(const PointwiseKernels& kernels, const ArrayView& result,
                                   int64_t n, const void* const* in, int inputs, const Run& run) {
  DType compute = result.dtype;
  void* out = result.data;
  auto bytes = static_cast<int64_t>(size_of(compute));
  if (kernels::streams(out, n * bytes)) {
    PointwiseArrays a{.device = result.device, .compute = compute, .n = n, .out = {}, .in = {}};
    auto direct = [compute](const void* data) {
      PointwiseOperand operand;
      operand.data = const_cast<void*>(data);
      operand.dtype = compute;
      operand.direct = true;
      return operand;
    };
    a.out = direct(out);
    for (int k = 0; k < inputs; ++k) {
      if (in[k]) a.in[static_cast<size_t>(k)] = direct(in[k]);
    }
    return run_all(kernels, a, run);
  }
  parallel_blocks(
      result.device, kernels.label, {n, kGrain, kernels.cost}, [&](int64_t begin, int64_t end) {
        if (begin == 0) return run(out, in, end);
        const void* shifted[kMaxBackwardOperands];
        for (int k = 0; k < inputs; ++k)
          shifted[k] = in[k] ? static_cast<const char*>(in[k]) + begin * bytes : nullptr;
        run(static_cast<char*>(out) + begin * bytes, shifted, end - begin);
      });
}

/// Calls one(result, operands) for each element: the reference of tests, on the host.
template <class T, class One>
void run_elements(const PointwiseKernels& kernels, const PointwiseArrays& a, const One& one) {
  // Not for_each: a closure of host functions has no device code.
  parallel_blocks(a.device, kernels.label, {a.n, kGrain, 4 * kernels.cost},
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      T in[kMaxBackwardOperands] = {}, result;
                      for (size_t k = 0; k < kMaxBackwardOperands; ++k) {
                        if (a.in[k].data) in[k] = a.in[k].template load<T>(i);
                      }
                      one(&result, in);
                      kernels::store_as(a.out.data, a.out.dtype, a.out.walk.offset(i), result);
                    }
                  });
}

template <class One>
void run_elements(const PointwiseKernels& kernels, const PointwiseArrays& a, const One& one) {
  a.compute == kFloat32 ? run_elements<float>(kernels, a, one)
                        : run_elements<double>(kernels, a, one);
}

}  // namespace

void detail::run_pointwise_blocks(const PointwiseKernels& kernels, const void* op,
                                  const ArrayView& y, int64_t n, const void* const* x) {
  ForwardRun run = kernels.forward[compute_index(y.dtype)];
  auto on_block = [=](void* out, const void* const* in, int64_t count) { run(op, out, in, count); };
  run_contiguous(kernels, y, n, x, kernels.arity, on_block);
}

void detail::run_pointwise_backward_blocks(const PointwiseKernels& kernels, const void* op,
                                           int input, const ArrayView& dx, int64_t n,
                                           const void* const* operands) {
  BackwardRun run = kernels.backward[compute_index(dx.dtype)];
  auto on_block = [=](void* out, const void* const* in, int64_t count) {
    run(op, input, out, in, count);
  };
  run_contiguous(kernels, dx, n, operands, kMaxBackwardOperands, on_block);
}

int64_t first_zero(const ArrayView& array) {
  constexpr int64_t length = 512;
  int64_t buffer[length], n = array.numel();
  kernels::Walk walk(array.sizes, array.strides);
  for (int64_t i = 0; i < n; i += length) {
    int64_t* end = buffer + std::min(length, n - i);
    kernels::read_run(array.data, array.dtype, walk, i, end - buffer, buffer);
    int64_t* zero = std::find(buffer, end, 0);
    if (zero != end) return i + (zero - buffer);
  }
  return -1;
}

void run_pointwise(const PointwiseKernels& kernels, const void* op, DType compute,
                   const ArrayView& y, std::span<const ArrayView* const> x) {
  PointwiseArrays a{.device = y.device, .compute = compute, .n = y.numel(), .out = {}, .in = {}};
  if (a.n == 0) return;
  a.out = operand(y, y.sizes, compute, false);
  for (size_t k = 0; k < x.size(); ++k) a.in[k] = operand(*x[k], y.sizes, compute, true);
  if (!a.device.is_host()) return kernels.forward_portable(op, kernels.label, a);
  if (use_reference_kernels() && is_floating_point(compute)) {
    ForwardOne one = kernels.forward_one[compute_index(compute)];
    return run_elements(kernels, a, [=](void* out, const void* in) { one(op, out, in); });
  }
  ForwardRun run = kernels.forward[compute_index(compute)];
  run_all(kernels, a, [=](void* out, const void* const* in, int64_t n) { run(op, out, in, n); });
}

void run_pointwise_backward(const PointwiseKernels& kernels, const void* op, int input,
                            DType compute, const ArrayView& dx, const ArrayView& dy,
                            std::span<const ArrayView* const> x, const ArrayView* y) {
  PointwiseArrays a{.device = dx.device, .compute = compute, .n = dx.numel(), .out = {}, .in = {}};
  if (a.n == 0) return;
  a.out = operand(dx, dx.sizes, compute, false);
  for (size_t k = 0; k < x.size(); ++k) {
    if (x[k]) a.in[k] = operand(*x[k], dx.sizes, compute, true);
  }
  if (y) a.in[kOutputOperand] = operand(*y, dx.sizes, compute, true);
  a.in[kGradOperand] = operand(dy, dx.sizes, compute, true);
  if (!a.device.is_host()) return kernels.backward_portable(op, input, kernels.label, a);
  if (use_reference_kernels()) {
    BackwardOne one = kernels.backward_one[compute_index(compute)];
    return run_elements(kernels, a, [=](void* out, const void* in) { one(op, input, out, in); });
  }
  BackwardRun run = kernels.backward[compute_index(compute)];
  run_all(kernels, a,
          [=](void* out, const void* const* in, int64_t n) { run(op, input, out, in, n); });
}

}  // namespace farro
