#include <farro/backends/kernels/conv.hpp>

#include <farro/backends/kernels/conv_plain.hpp>
#include <farro/backends/kernels/conv_unfold.hpp>
#include <farro/backends/kernels/copy.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/onednn.hpp>
#include <farro/backends/scratch.hpp>

namespace farro::kernels {
namespace {

bool plain_only(const ArrayView& out) {
  return !out.device.is_host() || use_reference_kernels() || !is_floating_point(out.dtype);
}

bool is_half(DType t) { return t == kBFloat16 || t == kFloat16; }

/// A 16-bit array as float32: converted on the way in, or rounded on the way out by finish().
class AsFloat {
 public:
  AsFloat(const ArrayView& original, bool is_input) : view_(original) {
    view_.dtype = kFloat32;
    memory_ = Scratch(static_cast<size_t>(original.numel()) * sizeof(float));
    view_.data = memory_.as<void>();
    if (is_input) copy(view_, original);
  }
  const ArrayView& view() const { return view_; }
  void finish(const ArrayView& original) const { copy(original, view_); }

 private:
  ArrayView view_;
  Scratch memory_;
};

/// True if a product over an empty dimension makes the result zero (plus bias).
bool empty_sum(const ConvShape& s) {
  return s.channels_in == 0 || s.channels_out == 0 || s.kernel_size() == 0 || s.in_size() == 0 ||
         s.out_size() == 0 || s.batch == 0;
}

}  // namespace

void conv_forward(const ConvShape& s, const ArrayView& out, const ArrayView& input,
                  const ArrayView& weight, const ArrayView* bias) {
  if (out.numel() == 0) return;
  if (plain_only(out) || empty_sum(s)) return plain_conv_forward(s, out, input, weight, bias);
  if (is_half(out.dtype)) {
    AsFloat y(out, false), x(input, true), w(weight, true),
        b(bias ? *bias : ArrayView{}, bias != nullptr);
    conv_forward(s, y.view(), x.view(), w.view(), bias ? &b.view() : nullptr);
    return y.finish(out);
  }
  if (out.dtype == kFloat64) {
    return unfold_conv_forward<double>(out.device, s, out.as<double>(), input.as<double>(),
                                       weight.as<double>(), bias ? bias->as<double>() : nullptr);
  }
  const float* b = bias ? bias->as<float>() : nullptr;
  if (onednn::conv_forward(out.device, s, out.as<float>(), input.as<float>(), weight.as<float>(),
                           b))
    return;
  unfold_conv_forward<float>(out.device, s, out.as<float>(), input.as<float>(), weight.as<float>(),
                             b);
}

void conv_backward_input(const ConvShape& s, const ArrayView& grad_input,
                         const ArrayView& grad_output, const ArrayView& weight) {
  if (grad_input.numel() == 0) return;
  if (plain_only(grad_input) || empty_sum(s))
    return plain_conv_backward_input(s, grad_input, grad_output, weight);
  if (is_half(grad_input.dtype)) {
    AsFloat dx(grad_input, false), dy(grad_output, true), w(weight, true);
    conv_backward_input(s, dx.view(), dy.view(), w.view());
    return dx.finish(grad_input);
  }
  Device device = grad_input.device;
  if (grad_input.dtype == kFloat64) {
    return unfold_conv_backward_input<double>(device, s, grad_input.as<double>(),
                                              grad_output.as<double>(), weight.as<double>());
  }
  auto* dx = grad_input.as<float>();
  const auto *dy = grad_output.as<float>(), *w = weight.as<float>();
  if (!onednn::conv_backward_input(device, s, dx, dy, w))
    unfold_conv_backward_input<float>(device, s, dx, dy, w);
}

void conv_backward_weight(const ConvShape& s, const ArrayView& grad_weight,
                          const ArrayView& grad_output, const ArrayView& input) {
  if (grad_weight.numel() == 0) return;
  if (plain_only(grad_weight) || empty_sum(s))
    return plain_conv_backward_weight(s, grad_weight, grad_output, input);
  if (is_half(grad_weight.dtype)) {
    AsFloat dw(grad_weight, false), dy(grad_output, true), x(input, true);
    conv_backward_weight(s, dw.view(), dy.view(), x.view());
    return dw.finish(grad_weight);
  }
  Device device = grad_weight.device;
  if (grad_weight.dtype == kFloat64) {
    return unfold_conv_backward_weight<double>(device, s, grad_weight.as<double>(),
                                               grad_output.as<double>(), input.as<double>());
  }
  auto* dw = grad_weight.as<float>();
  const auto *dy = grad_output.as<float>(), *x = input.as<float>();
  if (!onednn::conv_backward_weight(device, s, dw, dy, x))
    unfold_conv_backward_weight<float>(device, s, dw, dy, x);
}

}  // namespace farro::kernels
