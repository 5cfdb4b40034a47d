#include <farro/backends/kernels/operands.hpp>

#include <farro/backends/kernels/stream.hpp>
#include <farro/backends/launch.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace farro {
namespace {

/// Elements of the buffers together: six runs of doubles fit into the first-level cache.
constexpr int64_t kBuffered = 6 * 512;
/// Elements of a block.
constexpr int64_t kGrain = 8192;

/// The outputs that are written past the caches, a bit each.
uint32_t streamed(std::span<const PointwiseOperand> out, std::span<const PointwiseOperand> in,
                  int64_t bytes) {
  uint32_t mask = 0;
  for (size_t k = 0; k < out.size(); ++k) {
    auto reads = [&](const PointwiseOperand& x) { return x.data == out[k].data; };
    if (out[k].direct && kernels::streams(out[k].data, bytes) && std::ranges::none_of(in, reads))
      mask |= 1u << k;
  }
  return mask;
}

/// Elements that are computed at a time.
int64_t run_length(std::span<const PointwiseOperand> out, std::span<const PointwiseOperand> in,
                   uint32_t stream = 0) {
  int64_t buffers = std::popcount(stream);
  for (const PointwiseOperand& x : in) buffers += x.data && !x.direct;
  for (const PointwiseOperand& y : out) buffers += !y.direct;
  return buffers == 0 ? kGrain : std::min<int64_t>(512, kBuffered / buffers / 16 * 16);
}

/// Buffers for the operands that can't be used in place, `length` elements each.
template <class T>
class Buffers {
 public:
  explicit Buffers(int64_t length) : length_(length) {}
  T* take() { return std::exchange(free_, free_ + length_); }

 private:
  alignas(64) T memory_[kBuffered];
  T* free_ = memory_;
  int64_t length_;
};

/// The inputs of a run, one stretch of it at a time.
template <class T>
class Inputs {
 public:
  Inputs(std::span<const PointwiseOperand> in, int64_t longest, Buffers<T>& buffers) : in_(in) {
    for (size_t k = 0; k < in.size(); ++k) {
      from_[k] = nullptr;
      if (!in[k].data || in[k].direct) continue;
      from_[k] = gathered_[k] = buffers.take();
      if (in[k].one) std::fill_n(gathered_[k], longest, in[k].template load<T>(0));
    }
  }
  /// n elements of each from element i on.
  const void* const* at(int64_t i, int64_t n) {
    for (size_t k = 0; k < in_.size(); ++k) {
      const PointwiseOperand& x = in_[k];
      if (!x.data || x.one) continue;
      if (x.direct)
        from_[k] = static_cast<const T*>(x.data) + i;
      else
        kernels::read_run(x.data, x.dtype, x.walk, i, n, gathered_[k]);
    }
    return from_;
  }

 private:
  std::span<const PointwiseOperand> in_;
  const void* from_[kMaxOperands];
  T* gathered_[kMaxOperands];
};

/// One block: gathers, runs and scatters `length` elements at a time.
template <class T>
void run_block(std::span<const PointwiseOperand> out, std::span<const PointwiseOperand> in,
               int64_t begin, int64_t end, int64_t length, uint32_t stream, RunFn run,
               const void* context) {
  Buffers<T> buffers(length);
  Inputs<T> inputs(in, std::min(length, end - begin), buffers);
  void* to[kMaxOperands];
  T* results[kMaxOperands];
  for (size_t k = 0; k < out.size(); ++k) {
    if (!out[k].direct || (stream >> k & 1)) to[k] = results[k] = buffers.take();
  }
  for (int64_t i = begin; i < end; i += length) {
    int64_t n = std::min(length, end - i);
    for (size_t k = 0; k < out.size(); ++k) {
      if (out[k].direct && !(stream >> k & 1)) to[k] = static_cast<T*>(out[k].data) + i;
    }
    run(context, to, inputs.at(i, n), n);
    for (size_t k = 0; k < out.size(); ++k) {
      const PointwiseOperand& y = out[k];
      if (stream >> k & 1) {
        kernels::stream_copy(static_cast<T*>(y.data) + i, results[k],
                             n * static_cast<int64_t>(sizeof(T)));
      } else if (!y.direct) {
        kernels::write_run(y.data, y.dtype, y.walk, i, n, results[k]);
      }
    }
  }
  if (stream) kernels::stream_done();
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
  uint32_t stream = streamed(out, in, what.n * static_cast<int64_t>(size_of(what.compute)));
  int64_t length = run_length(out, in, stream);
  parallel_blocks(what.device, what.label, {what.n, kGrain, what.cost},
                  [&](int64_t begin, int64_t end) {
                    switch (what.compute) {
                      case DType::Float32:
                        run_block<float>(out, in, begin, end, length, stream, run, context);
                        break;
                      case DType::Float64:
                        run_block<double>(out, in, begin, end, length, stream, run, context);
                        break;
                      default:
                        run_block<int64_t>(out, in, begin, end, length, stream, run, context);
                        break;
                    }
                  });
}

template <class T>
void compute_run(const ComputedOperand& computed, int64_t begin, int64_t n, T* to) {
  int64_t length = run_length({}, computed.in);
  Buffers<T> buffers(length);
  Inputs<T> inputs(computed.in, std::min(length, n), buffers);
  for (int64_t i = 0; i < n; i += length) {
    int64_t count = std::min(length, n - i);
    void* out = to + i;
    computed.run(computed.context, &out, inputs.at(begin + i, count), count);
  }
}
template void compute_run<float>(const ComputedOperand&, int64_t, int64_t, float*);
template void compute_run<double>(const ComputedOperand&, int64_t, int64_t, double*);
template void compute_run<int64_t>(const ComputedOperand&, int64_t, int64_t, int64_t*);

}  // namespace farro
