#include <farro/examples/burgers/trainer.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <farro/backends/dtype.hpp>
#include <farro/nn/utils/clip_grad.hpp>

namespace example {
namespace {

constexpr int64_t kCandidates = 8;    // for each point that is chosen
constexpr int64_t kRenewal = 50;      // steps with the same chosen points
constexpr double kRelief = 0.1;       // of the weight where u is steep
constexpr double kLargestNorm = 0.1;  // of the gradient

BurgersNetwork make_network(const BurgersOptions& options, const TensorOptions& form) {
  manual_seed(options.seed);
  BurgersNetwork network(options.width, options.depth);
  network.to(*form.device, *form.dtype);
  return network;
}

}  // namespace

BurgersTrainer::BurgersTrainer(const BurgersOptions& options)
    : options_(options),
      form_{.dtype = dtype_from_name(options.dtype), .device = Device(options.backend)},
      network_(make_network(options, form_)),
      adam_(network_.parameters(), {.lr = options.lr}) {}

BurgersTrainer::Points BurgersTrainer::random_points(int64_t count) const {
  Tensor t = rand({count, 1}, form_);
  return {t, rand({count, 1}, form_) * 2.0 - 1.0};
}

BurgersTrainer::Points BurgersTrainer::hard_points(int64_t count) {
  auto [t, x] = random_points(kCandidates * count);
  std::vector<double> reached = residual({t, x}).detach().to(kFloat64).to_vector();
  double sum = 0;
  for (double& r : reached) r = sum += std::abs(r);
  // One at a random place of each of `count` equal parts of the sum.
  std::vector<double> within = rand({count}, {.dtype = kFloat64}).to_vector();
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < within.size(); ++i) {
    double at = (static_cast<double>(i) + within[i]) * sum / static_cast<double>(count);
    auto found = std::upper_bound(reached.begin(), reached.end() - 1, at);
    chosen.push_back(found - reached.begin());
  }
  Tensor index = tensor(chosen, {.device = form_.device});
  return {t.index_select(0, index), x.index_select(0, index)};
}

Tensor BurgersTrainer::residual(const Points& points) {
  auto u = [&](const Tensor& t, const Tensor& x) { return network_(t, x); };
  auto [t, x] = points;
  Derivatives d = options_.derivatives == "forward" ? by_forward(u, t, x) : by_reverse(u, t, x);
  return burgers_residual(d, options_.viscosity) / (abs(d.u_x.detach()) * kRelief + 1.0);
}

double BurgersTrainer::step() {
  double done = static_cast<double>(steps_done_) / static_cast<double>(options_.steps);
  adam_.options().lr = 0.5 * options_.lr * (1 + std::cos(std::numbers::pi * done));
  int64_t hard = options_.points / 2;
  if (steps_done_ % kRenewal == 0) hard_ = hard_points(hard);
  auto [t, x] = random_points(options_.points - hard);
  adam_.zero_grad();
  Tensor r = residual({cat({t, hard_.first}), cat({x, hard_.second})}), loss = (r * r).mean();
  loss.backward();
  nn::utils::clip_grad_norm_(network_.parameters(), kLargestNorm);
  adam_.step();
  ++steps_done_;
  return loss.item();
}

std::vector<double> BurgersTrainer::predict(double t, const std::vector<double>& x) {
  NoGrad guard;
  Tensor places = from_vector(x, {static_cast<int64_t>(x.size()), 1}, form_);
  return network_(full_like(places, t), places).to_vector();
}

}  // namespace example
