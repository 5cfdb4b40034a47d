#include <farro/examples/diffusion/problem.hpp>

#include <algorithm>
#include <numbers>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/examples/diffusion/stencil.hpp>

namespace example {
namespace {

constexpr double kPoor = 0.04, kGood = 0.2;
constexpr int64_t kTimes = 8;

/// 1 where |distance| < 0.12, 0 beyond, with a soft border.
Tensor within(const Tensor& distance) { return sigmoid((abs(distance) - 0.12) * -30.0); }

Tensor ring_and_bar(int64_t size, const TensorOptions& form) {
  Tensor line = linspace(-1, 1, size, form), y = line.unsqueeze(1), x = line.unsqueeze(0);
  Tensor radius = sqrt((x + 0.25) * (x + 0.25) + (y + 0.2) * (y + 0.2));
  Tensor bar = within(x - 0.65) * sigmoid((abs(y - 0.1) - 0.7) * -30.0);
  return maximum(within(radius - 0.4), bar) * (kGood - kPoor) + kPoor;
}

/// Stripes of heat of several widths, down and across.
std::vector<Tensor> stripes(int64_t size, const TensorOptions& form) {
  std::vector<Tensor> states;
  Tensor line = linspace(0, 1, size, form);
  for (double waves : {1.5, 2.0, 3.5}) {
    Tensor wave = cos(line * (2 * std::numbers::pi * waves)) * 0.5 + 0.5;
    states.push_back(wave.unsqueeze(0).expand({size, size}).contiguous());
    states.push_back(wave.unsqueeze(1).expand({size, size}).contiguous());
  }
  return states;
}

}  // namespace

DiffusionProblem::DiffusionProblem(const Options& options)
    : time_steps_(options.time_steps),
      truth_(ring_and_bar(options.size, options.form)),
      first_(stripes(options.size, options.form)) {
  NoGrad guard;
  measured_ = simulate(truth_);
  for (auto& states : measured_) {
    for (Tensor& u : states) u = u + randn_like(u) * options.noise;
  }
}

std::vector<std::vector<Tensor>> DiffusionProblem::simulate(const Tensor& diffusivity) const {
  int64_t between = std::max<int64_t>(1, time_steps_ / kTimes);
  std::vector<std::vector<Tensor>> all;
  for (Tensor u : first_) {
    std::vector<Tensor> states;
    for (int64_t step = 1; step <= time_steps_; ++step) {
      u = diffuse(u, diffusivity, 1);
      if (step % between == 0) states.push_back(u);
    }
    all.push_back(std::move(states));
  }
  return all;
}

Tensor DiffusionProblem::misfit(const Tensor& diffusivity) const {
  auto expected = simulate(diffusivity);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t k = 0; k < expected[i].size(); ++k) {
      Tensor difference = expected[i][k] - measured_[i][k];
      parts.push_back((difference * difference).mean());
    }
  }
  return stack(parts).mean();
}

Tensor roughness(const Tensor& field) {
  Tensor down = field.slice(0, 1) - field.slice(0, 0, -1);
  Tensor across = field.slice(1, 1) - field.slice(1, 0, -1);
  return (down * down).mean() + (across * across).mean();
}

}  // namespace example
