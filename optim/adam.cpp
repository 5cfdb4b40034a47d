#include <farro/optim/adam.hpp>

#include <cmath>

#include <farro/backends/kernels/optim.hpp>
#include <farro/optim/optimizer_of.hpp>

namespace farro::optim {
namespace {

template <class O>
void check_adam(const char* operation, const O& o) {
  for (auto [name, value] :
       {std::pair("lr", o.lr), {"eps", o.eps}, {"weight_decay", o.weight_decay}}) {
    if (!(value >= 0))
      fail<ValueError>(operation, "expected {} of at least 0, got {}", name, value);
  }
  for (double beta : o.betas) {
    if (!(beta >= 0 && beta < 1))
      fail<ValueError>(operation, "expected betas from 0 to below 1, got {}", beta);
  }
}

template <class O>
AdamStep step_of(const O& o, const detail::BiasCorrection& correction) {
  return {.one_minus_beta1 = 1 - o.betas[0],
          .beta2 = o.betas[1],
          .one_minus_beta2 = 1 - o.betas[1],
          .eps = o.eps,
          .step_size = o.lr / correction.first(),
          .root_bias_correction2 = correction.root_second(),
          .maximize = o.maximize};
}

}  // namespace

void check(const AdamOptions& options) { check_adam("Adam", options); }
void check(const AdamWOptions& options) { check_adam("AdamW", options); }

void detail::BiasCorrection::prepare(int64_t step, const std::array<double, 2>& betas) {
  if (step == step_ && betas == betas_) return;
  step_ = step;
  betas_ = betas;
  auto t = static_cast<double>(step);
  first_ = 1 - std::pow(betas[0], t);
  root_second_ = std::sqrt(1 - std::pow(betas[1], t));
}

void Adam::update(Entry& entry, const AdamOptions& o) {
  correction_.prepare(entry.state.step, o.betas);
  AdamStep step = step_of(o, correction_);
  step.l2 = o.weight_decay;
  adam_step(entry.contiguous_param.array(), entry.grad.array(), slot(entry, 0), slot(entry, 1),
            o.amsgrad ? &slot(entry, 2) : nullptr, step);
}

void AdamW::update(Entry& entry, const AdamWOptions& o) {
  correction_.prepare(entry.state.step, o.betas);
  AdamStep step = step_of(o, correction_);
  step.shrink = 1 - o.lr * o.weight_decay;
  adam_step(entry.contiguous_param.array(), entry.grad.array(), slot(entry, 0), slot(entry, 1),
            o.amsgrad ? &slot(entry, 2) : nullptr, step);
}

template class OptimizerOf<AdamOptions>;
template class OptimizerOf<AdamWOptions>;

}  // namespace farro::optim
