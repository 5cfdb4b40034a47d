#include <farro/backends/kernels/pointwise.hpp>

#include <algorithm>

#include <farro/backends/kernels/operands.hpp>
#include <farro/backends/launch.hpp>

namespace farro {
namespace {

/// Elements of a block.
constexpr int64_t kGrain = 8192;

/// Bytes of the largest pack.
constexpr int64_t kPackBytes = 64;

/// run(out, in, n) for any n: the elements after the last whole pack are computed in a pack padded with the first of
/// them, so that an element's bits do not depend on its place. `width` is a power of 2.
template <class T, class Run>
FARRO_INLINE void run_packs(int64_t width, void* out, const void* const* in, int inputs, int64_t n, const Run& run) {
  int64_t rest = n & (width - 1), whole = n - rest;
  if (whole > 0) run(out, in, whole);
  if (rest == 0) return;
  constexpr int64_t most = kPackBytes / static_cast<int64_t>(sizeof(T));
  alignas(kPackBytes) T padded[kMaxBackwardOperands + 1][most];
  const void* buffers[kMaxBackwardOperands] = {};
  for (int k = 0; k < inputs; ++k) {
    if (!in[k]) continue;
    const T* last = static_cast<const T*>(in[k]) + whole;
    std::fill_n(padded[k], most, *last);
    for (int64_t i = 1; i < rest; ++i) padded[k][i] = last[i];
    buffers[k] = padded[k];
  }
  T* result = padded[kMaxBackwardOperands];
  run(result, buffers, width);
  for (int64_t i = 0; i < rest; ++i) static_cast<T*>(out)[whole + i] = result[i];
}

template <class Run>
void run_packs(const PointwiseKernels& kernels, DType compute, void* out, const void* const* in, int inputs, int64_t n,
               const Run& run) {
  int64_t width = kernels.width[compute_index(compute)];
  switch (compute) {
    case DType::Float32: return run_packs<float>(width, out, in, inputs, n, run);
    case DType::Float64: return run_packs<double>(width, out, in, inputs, n, run);
    default: return run(out, in, n);
  }
}

/// Calls run(out, in, n) over whole packs of n contiguous elements of the compute type each.
template <class Run>
void run_contiguous(const PointwiseKernels& kernels, DType compute, Device device, int64_t n, void* out,
                    const void* const* in, int inputs, const Run& run) {
  auto bytes = static_cast<int64_t>(size_of(compute));
  parallel_blocks(device, kernels.label, {n, kGrain, kernels.cost}, [&](int64_t begin, int64_t end) {
    if (begin == 0) return run_packs(kernels, compute, out, in, inputs, end, run);
    const void* shifted[kMaxBackwardOperands];
    for (int k = 0; k < inputs; ++k) shifted[k] = in[k] ? static_cast<const char*>(in[k]) + begin * bytes : nullptr;
    run_packs(kernels, compute, static_cast<char*>(out) + begin * bytes, shifted, inputs, end - begin, run);
  });
}

/// The same over operands of any form.
template <class Run>
void run_all(const PointwiseKernels& kernels, const PointwiseArrays& a, int inputs, const Run& run) {
  OperandsRun what{.device = a.device, .label = kernels.label, .compute = a.compute, .n = a.n, .cost = kernels.cost};
  auto body = [&](void* const* out, const void* const* in, int64_t n) {
    run_packs(kernels, a.compute, out[0], in, inputs, n, run);
  };
  run_operands(
      what, {&a.out, 1}, a.in,
      [](const void* context, void* const* out, const void* const* in, int64_t n) {
        (*static_cast<const decltype(body)*>(context))(out, in, n);
      },
      &body);
}

/// Calls one(result, operands) for each element: the reference of tests, on the host.
template <class T, class One>
void run_elements(const PointwiseKernels& kernels, const PointwiseArrays& a, const One& one) {
  // Not for_each: a closure of host functions has no device code.
  parallel_blocks(a.device, kernels.label, {a.n, kGrain, 4 * kernels.cost}, [&](int64_t begin, int64_t end) {
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
  a.compute == kFloat32 ? run_elements<float>(kernels, a, one) : run_elements<double>(kernels, a, one);
}

}  // namespace

void run_pointwise_contiguous(const PointwiseKernels& kernels, const void* op, DType compute, Device device, int64_t n,
                              void* y, const void* const* x) {
  ForwardRun run = kernels.forward[compute_index(compute)];
  run_contiguous(kernels, compute, device, n, y, x, kernels.arity,
                 [=](void* out, const void* const* in, int64_t count) { run(op, out, in, count); });
}

void run_pointwise_backward_contiguous(const PointwiseKernels& kernels, const void* op, int input, DType compute,
                                       Device device, int64_t n, void* dx, const void* dy, const void* const* x,
                                       const void* y) {
  BackwardRun run = kernels.backward[compute_index(compute)];
  const void* operands[kMaxBackwardOperands] = {};
  for (int k = 0; k < kernels.arity; ++k) operands[k] = x[k];
  operands[kOutputOperand] = y;
  operands[kGradOperand] = dy;
  run_contiguous(kernels, compute, device, n, dx, operands, kMaxBackwardOperands,
                 [=](void* out, const void* const* in, int64_t count) { run(op, input, out, in, count); });
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

void run_pointwise(const PointwiseKernels& kernels, const void* op, DType compute, const ArrayView& y,
                   std::span<const ArrayView* const> x) {
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
  run_all(kernels, a, kernels.arity, [=](void* out, const void* const* in, int64_t n) { run(op, out, in, n); });
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
  if (!a.device.is_host()) return kernels.backward_portable(op, input, kernels.label, a);
  if (use_reference_kernels()) {
    BackwardOne one = kernels.backward_one[compute_index(compute)];
    return run_elements(kernels, a, [=](void* out, const void* in) { one(op, input, out, in); });
  }
  BackwardRun run = kernels.backward[compute_index(compute)];
  run_all(kernels, a, kMaxBackwardOperands,
          [=](void* out, const void* const* in, int64_t n) { run(op, input, out, in, n); });
}

}  // namespace farro
