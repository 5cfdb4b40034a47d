#include <farro/backends/kernels/operands.hpp>

#include <farro/backends/launch.hpp>

#include <algorithm>
#include <utility>

namespace farro {
namespace {

/// Elements of the buffers together: six runs of doubles fit into the first-level cache.
constexpr int64_t kBuffered = 6 * 512;
/// Elements of a block.
constexpr int64_t kGrain = 8192;

/// Elements that are computed at a time.
int64_t run_length(std::span<const PointwiseOperand> out, std::span<const PointwiseOperand> in) {
  int64_t buffers = 0;
  for (const PointwiseOperand& x : in) buffers += x.data && !x.direct;
  for (const PointwiseOperand& y : out) buffers += !y.direct;
  return buffers == 0 ? kGrain : std::min<int64_t>(512, kBuffered / buffers / 16 * 16);
}

/// One block: gathers, runs and scatters `length` elements at a time.
template <class T>
void run_block(std::span<const PointwiseOperand> out, std::span<const PointwiseOperand> in,
               int64_t begin, int64_t end, int64_t length, RunFn run, const void* context) {
  alignas(64) T memory[kBuffered];
  T* free = memory;
  void* to[kMaxOperands];
  const void* from[kMaxOperands];
  T* gathered[kMaxOperands];
  T* results[kMaxOperands];
  auto take = [&] { return std::exchange(free, free + length); };
  for (size_t k = 0; k < in.size(); ++k) {
    from[k] = nullptr;
    if (!in[k].data || in[k].direct) continue;
    from[k] = gathered[k] = take();
    if (in[k].one)
      std::fill_n(gathered[k], std::min(length, end - begin), in[k].template load<T>(0));
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (!out[k].direct) to[k] = results[k] = take();
  }
  for (int64_t i = begin; i < end; i += length) {
    int64_t n = std::min(length, end - i);
    for (size_t k = 0; k < in.size(); ++k) {
      const PointwiseOperand& x = in[k];
      if (!x.data || x.one) continue;
      if (x.direct)
        from[k] = static_cast<const T*>(x.data) + i;
      else
        kernels::read_run(x.data, x.dtype, x.walk, i, n, gathered[k]);
    }
    for (size_t k = 0; k < out.size(); ++k) {
      if (out[k].direct) to[k] = static_cast<T*>(out[k].data) + i;
    }
    run(context, to, from, n);
    for (size_t k = 0; k < out.size(); ++k) {
      const PointwiseOperand& y = out[k];
      if (!y.direct) kernels::write_run(y.data, y.dtype, y.walk, i, n, results[k]);
    }
  }
}

}  // namespace

PointwiseOperand operand(const ArrayView& array, const Dims& sizes, DType compute,
                         bool may_be_one) {
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

void run_operands(const OperandsRun& what, std::span<const PointwiseOperand> out,
                  std::span<const PointwiseOperand> in, RunFn run, const void* context) {
  int64_t length = run_length(out, in);
  parallel_blocks(what.device, what.label, {what.n, kGrain, what.cost},
                  [&](int64_t begin, int64_t end) {
                    switch (what.compute) {
                      case DType::Float32:
                        run_block<float>(out, in, begin, end, length, run, context);
                        break;
                      case DType::Float64:
                        run_block<double>(out, in, begin, end, length, run, context);
                        break;
                      default:
                        run_block<int64_t>(out, in, begin, end, length, run, context);
                        break;
                    }
                  });
}

}  // namespace farro
