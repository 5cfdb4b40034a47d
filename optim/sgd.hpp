#pragma once

#include <farro/optim/optimizer.hpp>

namespace farro::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
  FARRO_FIELDS(SGDOptions, lr, momentum, dampening, weight_decay, nesterov, maximize)
};
/// ValueError for a negative number, and for nesterov without momentum or with dampening.
void check(const SGDOptions& options);

/// Stochastic gradient descent: g += weight_decay·p; b = momentum·b + (1 − dampening)·g (b = g at
/// first); p −= lr·b, or lr·(g + momentum·b) with Nesterov's momentum (Sutskever, Martens, Dahl,
/// Hinton: On the importance of initialization and momentum in deep learning; ICML 2013). maximize
/// turns the gradient around.
class SGD final : public OptimizerOf<SGDOptions> {
 public:
  explicit SGD(Parameters params, SGDOptions options = {}) : SGD({{std::move(params), options}}) {}
  explicit SGD(const std::vector<ParamGroup<SGDOptions>>& groups)
      : OptimizerOf("SGD", {"momentum_buffer"}, groups) {}

 private:
  void update(Entry& entry, const SGDOptions& options) override;
};

}  // namespace farro::optim
