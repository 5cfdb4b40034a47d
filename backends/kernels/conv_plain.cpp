#include <farro/backends/kernels/conv_plain.hpp>

#include <type_traits>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>

namespace farro::kernels {
namespace {

constexpr auto kTypes = boost::hana::tuple_t<float, double, BFloat16, Float16, int64_t, int32_t,
                                             int16_t, int8_t, uint8_t>;

}  // namespace

/// What elements of type T are multiplied and added in; unsigned for integers, which wrap around.
template <class T>
using ConvCompute = std::conditional_t<std::is_same_v<T, double>, double,
                                       std::conditional_t<std::is_integral_v<T>, uint64_t, float>>;

/// A position in the spatial dimensions of `size`, as three coordinates.
struct ConvPoint {
  int64_t at[3];
  FARRO_FUNCTION ConvPoint(int64_t i, const int64_t (&size)[3]) {
    at[2] = i % size[2];
    i /= size[2];
    at[1] = i % size[1];
    at[0] = i / size[1];
  }
};

/// The input element that output point o sees through kernel point k; -1 in the padding.
FARRO_FUNCTION inline int64_t input_index(const ConvShape& s, const ConvPoint& o,
                                          const ConvPoint& k) {
  int64_t index = 0;
  for (int d = 0; d < 3; ++d) {
    int64_t x = o.at[d] * s.stride[d] - s.padding[d] + k.at[d] * s.dilation[d];
    if (x < 0 || x >= s.in[d]) return -1;
    index = index * s.in[d] + x;
  }
  return index;
}

/// The output element that sees input point x through kernel point k; -1 if none does.
FARRO_FUNCTION inline int64_t output_index(const ConvShape& s, const ConvPoint& x,
                                           const ConvPoint& k) {
  int64_t index = 0;
  for (int d = 0; d < 3; ++d) {
    int64_t o = x.at[d] + s.padding[d] - k.at[d] * s.dilation[d];
    if (o < 0 || o % s.stride[d] != 0) return -1;
    o /= s.stride[d];
    if (o >= s.out[d]) return -1;
    index = index * s.out[d] + o;
  }
  return index;
}

template <class T>
struct PlainConvForward {
  using C = ConvCompute<T>;
  ConvShape s;
  T* out;
  const T* input;
  const T* weight;
  const T* bias;

  FARRO_FUNCTION void operator()(int64_t i) const {
    ConvPoint o(i % s.out_size(), s.out);
    int64_t image = i / s.out_size() / s.channels_out, channel = i / s.out_size() % s.channels_out;
    int64_t taps = s.kernel_size(), ins = s.group_in();
    const T* x = input + (image * s.channels_in + channel / s.group_out() * ins) * s.in_size();
    const T* w = weight + channel * ins * taps;
    C sum = bias ? static_cast<C>(bias[channel]) : C(0);
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t at = input_index(s, o, ConvPoint(tap, s.kernel));
      if (at < 0) continue;
      for (int64_t c = 0; c < ins; ++c) {
        sum += static_cast<C>(x[c * s.in_size() + at]) * static_cast<C>(w[c * taps + tap]);
      }
    }
    out[i] = static_cast<T>(sum);
  }
};

template <class T>
struct PlainConvBackwardInput {
  using C = ConvCompute<T>;
  ConvShape s;
  T* grad_input;
  const T* grad_output;
  const T* weight;

  FARRO_FUNCTION void operator()(int64_t i) const {
    ConvPoint x(i % s.in_size(), s.in);
    int64_t image = i / s.in_size() / s.channels_in, channel = i / s.in_size() % s.channels_in;
    int64_t taps = s.kernel_size(), outs = s.group_out(), group = channel / s.group_in();
    const T* dy = grad_output + (image * s.channels_out + group * outs) * s.out_size();
    const T* w = weight + (group * outs * s.group_in() + channel % s.group_in()) * taps;
    C sum = C(0);
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t at = output_index(s, x, ConvPoint(tap, s.kernel));
      if (at < 0) continue;
      for (int64_t c = 0; c < outs; ++c) {
        sum += static_cast<C>(dy[c * s.out_size() + at]) *
               static_cast<C>(w[c * s.group_in() * taps + tap]);
      }
    }
    grad_input[i] = static_cast<T>(sum);
  }
};

template <class T>
struct PlainConvBackwardWeight {
  using C = ConvCompute<T>;
  ConvShape s;
  T* grad_weight;
  const T* grad_output;
  const T* input;

  FARRO_FUNCTION void operator()(int64_t i) const {
    int64_t taps = s.kernel_size();
    ConvPoint tap(i % taps, s.kernel);
    int64_t in_channel = i / taps % s.group_in(), channel = i / taps / s.group_in();
    in_channel += channel / s.group_out() * s.group_in();
    C sum = C(0);
    for (int64_t image = 0; image < s.batch; ++image) {
      const T* dy = grad_output + (image * s.channels_out + channel) * s.out_size();
      const T* x = input + (image * s.channels_in + in_channel) * s.in_size();
      C part = C(0);
      for (int64_t o = 0; o < s.out_size(); ++o) {
        int64_t at = input_index(s, ConvPoint(o, s.out), tap);
        if (at >= 0) part += static_cast<C>(dy[o]) * static_cast<C>(x[at]);
      }
      sum += part;
    }
    grad_weight[i] = static_cast<T>(sum);
  }
};

void plain_conv_forward(const ConvShape& s, const ArrayView& out, const ArrayView& input,
                        const ArrayView& weight, const ArrayView* bias) {
  dispatch_dtype("conv", out.dtype, kTypes, [&]<class T>() {
    PlainConvForward<T> f{s, out.as<T>(), input.as<T>(), weight.as<T>(),
                          bias ? bias->as<T>() : nullptr};
    for_each(out.device, "farro::plain_conv_forward", s.batch * s.channels_out * s.out_size(), f,
             static_cast<double>(s.group_in() * s.kernel_size() + 1));
  });
}

void plain_conv_backward_input(const ConvShape& s, const ArrayView& grad_input,
                               const ArrayView& grad_output, const ArrayView& weight) {
  dispatch_dtype("conv", grad_input.dtype, kTypes, [&]<class T>() {
    PlainConvBackwardInput<T> f{s, grad_input.as<T>(), grad_output.as<T>(), weight.as<T>()};
    for_each(grad_input.device, "farro::plain_conv_backward_input",
             s.batch * s.channels_in * s.in_size(), f,
             static_cast<double>(s.group_out() * s.kernel_size() + 1));
  });
}

void plain_conv_backward_weight(const ConvShape& s, const ArrayView& grad_weight,
                                const ArrayView& grad_output, const ArrayView& input) {
  dispatch_dtype("conv", grad_weight.dtype, kTypes, [&]<class T>() {
    PlainConvBackwardWeight<T> f{s, grad_weight.as<T>(), grad_output.as<T>(), input.as<T>()};
    for_each(grad_weight.device, "farro::plain_conv_backward_weight", s.weight_numel(), f,
             static_cast<double>(s.batch * s.out_size() + 1));
  });
}

}  // namespace farro::kernels
