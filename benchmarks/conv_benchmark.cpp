#include <string>

#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/benchmarks/compare.hpp>
#include <farro/benchmarks/raw_conv.hpp>
#include <farro/benchmarks/torch.hpp>

namespace farro::benchmarks {
namespace {

/// A square convolution that keeps the size.
struct Size {
  int64_t batch, in, out, size, kernel;
  std::string str() const {
    return std::to_string(batch) + "x" + std::to_string(in) + "x" + std::to_string(size) + "x" +
           std::to_string(size) + "-" + std::to_string(out);
  }
  ConvShape shape() const {
    ConvShape s{.spatial = 2, .batch = batch, .channels_in = in, .channels_out = out};
    for (int d : {1, 2}) {
      s.in[d] = s.out[d] = size;
      s.kernel[d] = kernel;
      s.padding[d] = kernel / 2;
    }
    return s;
  }
};

Tensor filled(const Dims& sizes, Device device) {
  Tensor t = empty(sizes, kFloat32, device);
  t.fill_(Tensor(0.5));
  return t;
}

struct Tensors {
  Tensor x, w, g;
  Tensors(const Size& s, Device device)
      : x(filled({s.batch, s.in, s.size, s.size}, device)),
        w(filled({s.out, s.in, s.kernel, s.kernel}, device)),
        g(filled({s.batch, s.out, s.size, s.size}, device)) {}
};

enum class Pass { Forward, BackwardInput, BackwardWeight };

Job our_pass(const Size& size, Pass pass, Device device) {
  Tensors t(size, device);
  ConvShape s = size.shape();
  switch (pass) {
    case Pass::Forward:
      return [t, s] { autograd::conv_forward(s, t.x, t.w); };
    case Pass::BackwardInput:
      return [t, s] { autograd::conv_backward_input(s, t.g, t.w); };
    case Pass::BackwardWeight:
      return [t, s] { autograd::conv_backward_weight(s, t.g, t.x); };
  }
  return {};
}

double flops(const Size& s) { return static_cast<double>(s.shape().flops_per_image() * s.batch); }

/// P14: one pass on NCHW tensors against oneDNN in its own layout, one thread.
Jobs against_onednn(const Size& size, Pass pass) {
  RawConv raw = raw_conv(size.shape());
  Job reference = pass == Pass::Forward         ? raw.forward
                  : pass == Pass::BackwardInput ? raw.backward_input
                                                : raw.backward_weight;
  return {our_pass(size, pass, "serial"), reference, {.flops = flops(size)}};
}

/// P14: forward and backward through the tape against LibTorch, one thread.
Jobs against_torch(const Size& size) {
  Tensors t(size, "serial");
  t.x.requires_grad_();
  t.w.requires_grad_();
  Job ours = [t, padding = size.kernel / 2] {
    conv2d(t.x, t.w, {}, {.padding = padding}).backward(t.g);
    t.x.set_grad({});
    t.w.set_grad({});
  };
  return {ours,
          torch_reference::conv2d(size.batch, size.in, size.out, size.size, size.kernel),
          {.flops = 3 * flops(size)}};
}

/// All threads against one.
Jobs threads_against_one(const Size& size, Pass pass) {
  return {
      our_pass(size, pass, Device()), our_pass(size, pass, "serial"), {.flops = flops(size)}, 2};
}

const bool registered = [] {
  const std::pair<Pass, const char*> passes[] = {{Pass::Forward, "forward/"},
                                                 {Pass::BackwardInput, "backward_input/"},
                                                 {Pass::BackwardWeight, "backward_weight/"}};
  for (const Size& size :
       {Size{32, 64, 64, 28, 3}, Size{32, 32, 64, 14, 3}, Size{8, 128, 128, 28, 3}}) {
    for (auto [pass, name] : passes) {
      add_row("P14/conv2d_" + std::string(name) + "serial/f32/" + size.str(),
              [=] { return against_onednn(size, pass); });
      add_row("conv2d_threads_" + std::string(name) + "openmp/f32/" + size.str(),
              [=] { return threads_against_one(size, pass); });
    }
    add_row("P14/conv2d_training_torch/serial/f32/" + size.str(),
            [=] { return against_torch(size); });
  }
  return true;
}();

}  // namespace
}  // namespace farro::benchmarks
