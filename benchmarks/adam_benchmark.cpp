#include <memory>
#include <string>

#include <farro/autograd/ops/factory.hpp>
#include <farro/benchmarks/compare.hpp>
#include <farro/benchmarks/torch.hpp>
#include <farro/optim/adam.hpp>

namespace farro::benchmarks {
namespace {

/// One step over n parameters with fixed gradients: four arrays are read, three written.
Jobs adam_step_of(int64_t n, Device device, int threads) {
  Tensor p = ones({n}, {.device = device, .requires_grad = true});
  p.set_grad(full({n}, 1e-3, {.device = device}));
  auto adam = std::make_shared<optim::Adam>(optim::Parameters{p}, optim::AdamOptions{.lr = 1e-3});
  torch_reference::set_threads(threads);
  return {[adam] { adam->step(); },
          torch_reference::adam(n),
          {.bytes = 7.0 * sizeof(float) * static_cast<double>(n)},
          threads};
}

const bool registered = [] {
  for (int64_t n : {64, 65536, 1 << 22}) {
    add_row("P10/adam/serial/f32/" + std::to_string(n),
            [=] { return adam_step_of(n, "serial", 1); });
  }
  return true;
}();

}  // namespace
}  // namespace farro::benchmarks
