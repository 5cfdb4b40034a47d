/// Runs one case a given number of times. Instructions are counted by callgrind around this
/// program, as the difference between two numbers of repetitions, so that its start and end drop
/// out: see CMakeLists.txt.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/backends/runtime.hpp>
#include <farro/nn/functional.hpp>
#include <farro/nn/layers/linear.hpp>

namespace {

using farro::Tensor;

constexpr int kChainLength = 200;

/// A chain of multiplications, recorded, and its backward; with a hook before and one after each
/// node's backward if that is wanted.
std::function<void()> chain(int64_t n, bool hooks = false) {
  farro::TensorOptions plain{.device = farro::Device("serial")};
  Tensor x = farro::ones({n}, plain), w = farro::full({n}, 1.0001, plain),
         seed = farro::ones({n}, plain);
  x.requires_grad_();
  return [=] {
    Tensor y = x;
    for (int i = 0; i < kChainLength; ++i) {
      y = y * w;
      if (!hooks) continue;
      y.grad_fn()->register_prehook([](farro::autograd::Grads&) {});
      y.grad_fn()->register_hook([](farro::autograd::Grads&, const farro::autograd::Grads&) {});
    }
    y.backward(seed);
    x.set_grad({});
  };
}

constexpr int kCalls = 100;

/// A layer of one number, by the function on its parameters.
std::function<void()> linear_function() {
  farro::nn::Linear layer({.in_features = 1, .out_features = 1});
  farro::Tensor x = farro::ones({1, 1}), weight = layer.weight, bias = layer.bias;
  return [=] {
    for (int i = 0; i < kCalls; ++i) farro::linear(x, weight, bias);
  };
}

/// The same by calling the module, without a hook or with a forward hook that takes what every hook
/// may.
std::function<void()> linear_module(bool hook) {
  auto layer = std::make_shared<farro::nn::Linear>(
      farro::nn::Linear::Options{.in_features = 1, .out_features = 1});
  if (hook) {
    layer->register_forward_hook(
        [](farro::nn::Module&, const farro::nn::Args&, const farro::nn::Value&) {});
  }
  farro::Tensor x = farro::ones({1, 1});
  return [=] {
    for (int i = 0; i < kCalls; ++i) (*layer)(x);
  };
}

const std::map<std::string, std::function<std::function<void()>()>> cases = {
    {"chain_1", [] { return chain(1); }},
    {"chain_64", [] { return chain(64); }},
    {"chain_hooks", [] { return chain(1, true); }},
    {"linear_function", linear_function},
    {"linear_module", [] { return linear_module(false); }},
    {"linear_hook", [] { return linear_module(true); }},
};

}  // namespace

int main(int argc, char** argv) {
  auto found = argc == 3 ? cases.find(argv[1]) : cases.end();
  if (found == cases.end()) {
    std::fprintf(stderr, "usage: %s CASE REPETITIONS, with a case of:\n", argv[0]);
    for (const auto& [name, prepare] : cases) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  farro::Runtime runtime;
  std::function<void()> run = found->second();
  for (int i = std::atoi(argv[2]); i > 0; --i) run();
  return 0;
}
