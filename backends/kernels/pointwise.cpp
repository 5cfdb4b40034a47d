#include <farro/backends/kernels/pointwise.hpp>

#include <farro/backends/launch.hpp>

#include <algorithm>

namespace farro {
namespace {

/// Elements of a gathered run: six buffers of doubles fit into the first-level cache.
constexpr int64_t kRun = 512;
/// Elements of a block.
constexpr int64_t kGrain = 8192;

/// How an array is read at the shape of the run.
PointwiseOperand operand(const ArrayView& array, const Dims& sizes, DType compute, bool may_be_one) {
  PointwiseOperand result;
  result.data = array.data;
  result.dtype = array.dtype;
  if (may_be_one && array.device.is_host() && array.numel() == 1) {
    result.one = true;
    result.real = kernels::load_as<double>(array.data, array.dtype, 0);
    result.integer = kernels::load_as<int64_t>(array.data, array.dtype, 0);
    return result;
  }
  if (array.sizes == sizes) {
    result.walk = kernels::Walk(sizes, array.strides);
  } else {
    Dims strides(sizes.size(), 0);
    int lead = sizes.size() - array.sizes.size();
    for (int d = 0; d < array.sizes.size(); ++d) {
      strides[lead + d] = array.sizes[d] == 1 ? 0 : array.strides[d];
    }
    result.walk = kernels::Walk(sizes, strides);
  }
  result.direct = array.dtype == compute && result.walk.contiguous();
  return result;
}

/// One block: gathers, runs and scatters kRun elements at a time.
template <class T, class Run>
void run_block(const PointwiseArrays& a, int64_t begin, int64_t end, const Run& run) {
  constexpr size_t inputs = 5;
  alignas(64) T buffers[inputs + 1][kRun];
  const T* in[inputs] = {};
  bool all_direct = a.out.direct;
  for (size_t k = 0; k < inputs; ++k) {
    const PointwiseOperand& x = a.in[k];
    if (!x.data) continue;
    all_direct = all_direct && x.direct;
    if (x.one) {
      std::fill_n(buffers[k], std::min(kRun, end - begin), x.load<T>(0));
      in[k] = buffers[k];
    }
  }
  int64_t step = all_direct ? end - begin : kRun;
  for (int64_t i = begin; i < end; i += step) {
    int64_t n = std::min(step, end - i);
    for (size_t k = 0; k < inputs; ++k) {
      const PointwiseOperand& x = a.in[k];
      if (!x.data || x.one) continue;
      if (x.direct) {
        in[k] = static_cast<const T*>(x.data) + i;
      } else {
        kernels::read_run(x.data, x.dtype, x.walk, i, n, buffers[k]);
        in[k] = buffers[k];
      }
    }
    T* out = a.out.direct ? static_cast<T*>(a.out.data) + i : buffers[inputs];
    run(out, in, n);
    if (!a.out.direct) kernels::write_run(a.out.data, a.out.dtype, a.out.walk, i, n, out);
  }
}

template <class Run>
void run_blocks(const PointwiseKernels& kernels, const PointwiseArrays& a, const Run& run) {
  parallel_blocks(a.device, kernels.label, {a.n, kGrain, kernels.cost}, [&](int64_t begin, int64_t end) {
    switch (a.compute) {
      case DType::Float32: run_block<float>(a, begin, end, run); break;
      case DType::Float64: run_block<double>(a, begin, end, run); break;
      default: run_block<int64_t>(a, begin, end, run); break;
    }
  });
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
  run_blocks(kernels, a, [&]<class T>(T* out, const T* const* in, int64_t n) {
    const void* inputs[kMaxPointwiseInputs] = {in[0], in[1], in[2]};
    run(op, out, inputs, n);
  });
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
  run_blocks(kernels, a, [&]<class T>(T* out, const T* const* in, int64_t n) {
    const void* inputs[kMaxPointwiseInputs] = {in[0], in[1], in[2]};
    run(op, input, out, in[kGradOperand], inputs, in[kOutputOperand], n);
  });
}

}  // namespace farro
