/// Runs one case a given number of times. Instructions are counted by callgrind around this
/// program, as the difference between two numbers of repetitions, so that its start and end drop
/// out: see CMakeLists.txt.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/backends/runtime.hpp>

namespace {

using farro::Tensor;

constexpr int kChainLength = 200;

/// A chain of multiplications, recorded, and its backward; with a hook before and one after each
/// node's backward if that is wanted.
std::function<void()> chain(int64_t n, bool hooks = false) {
  farro::TensorOptions plain{.device = farro::is_available("serial") ? "serial" : "cpu"};
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

const std::map<std::string, std::function<std::function<void()>()>> cases = {
    {"chain_1", [] { return chain(1); }},
    {"chain_64", [] { return chain(64); }},
    {"chain_hooks", [] { return chain(1, true); }},
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
