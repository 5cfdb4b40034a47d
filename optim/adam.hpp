#pragma once

#include <array>

#include <farro/optim/optimizer.hpp>

namespace farro::optim {

struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  bool maximize = false;
  FARRO_FIELDS(AdamOptions, lr, betas, eps, weight_decay, amsgrad, maximize)
};
/// ValueError for a negative number and for betas outside [0, 1).
void check(const AdamOptions& options);

struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;
  FARRO_FIELDS(AdamWOptions, lr, betas, eps, weight_decay, amsgrad, maximize)
};
void check(const AdamWOptions& options);

namespace detail {

/// Bias corrections of the last step count that was asked for: most parameters have taken the same
/// number of steps.
class BiasCorrection {
 public:
  void prepare(int64_t step, const std::array<double, 2>& betas);
  double first() const { return first_; }              ///< 1 − beta1^step
  double root_second() const { return root_second_; }  ///< sqrt(1 − beta2^step)

 private:
  int64_t step_ = -1;
  std::array<double, 2> betas_{};
  double first_ = 1, root_second_ = 1;
};

}  // namespace detail

/// Adam (Kingma, Ba: Adam: a method for stochastic optimization; ICLR 2015): m = β1·m + (1 − β1)·g,
/// v = β2·v + (1 − β2)·g², p −= lr·m̂ / (√v̂ + eps), with m̂ and v̂ corrected for their start at zero.
/// weight_decay·p is added to the gradient. amsgrad divides by the largest v so far (Reddi, Kale,
/// Kumar: On the convergence of Adam and beyond; ICLR 2018).
class Adam final : public OptimizerOf<AdamOptions> {
 public:
  explicit Adam(Parameters params, AdamOptions options = {})
      : Adam({{std::move(params), options}}) {}
  explicit Adam(const std::vector<ParamGroup<AdamOptions>>& groups)
      : OptimizerOf("Adam", {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, groups) {}

 private:
  void update(Entry& entry, const AdamOptions& options) override;
  detail::BiasCorrection correction_;
};

/// Adam whose weight decay shrinks the parameter itself: p *= 1 − lr·weight_decay before the step
/// (Loshchilov, Hutter: Decoupled weight decay regularization; ICLR 2019).
class AdamW final : public OptimizerOf<AdamWOptions> {
 public:
  explicit AdamW(Parameters params, AdamWOptions options = {})
      : AdamW({{std::move(params), options}}) {}
  explicit AdamW(const std::vector<ParamGroup<AdamWOptions>>& groups)
      : OptimizerOf("AdamW", {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}, groups) {}

 private:
  void update(Entry& entry, const AdamWOptions& options) override;
  detail::BiasCorrection correction_;
};

}  // namespace farro::optim
