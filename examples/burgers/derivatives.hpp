#pragma once

#include <utility>
#include <vector>

#include <farro/autograd/derivatives.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>

namespace example {

using namespace farro;

/// A function's values and derivatives, point by point.
struct Derivatives {
  Tensor u, u_t, u_x, u_xx;
};

/// Reverse over reverse: the gradient, recorded, is differentiated again. A sum's gradient has each
/// point's derivatives, since no point's value depends on another point.
template <class F>
Derivatives by_reverse(const F& f, const Tensor& t, const Tensor& x) {
  Tensor time = t.detach().requires_grad_(), place = x.detach().requires_grad_();
  Tensor u = f(time, place);
  auto first = grad({u.sum()}, {time, place}, {.create_graph = true});
  auto second = grad({first[1].sum()}, {place}, {.create_graph = true});
  return {u, first[0], first[1], second[0]};
}

/// Forward over reverse: how the gradient changes as x moves at speed 1.
template <class F>
Derivatives by_forward(const F& f, const Tensor& t, const Tensor& x) {
  auto gradient = [&](const std::vector<Tensor>& in) {
    auto [u, du] = vjp([&](const std::vector<Tensor>& at) { return f(at[0], at[1]); }, in,
                       {ones_like(t)}, {.create_graph = true});
    return std::vector<Tensor>{u, du[0], du[1]};
  };
  auto [values, change] = jvp(gradient, {t, x}, {Tensor(), ones_like(x)}, {.create_graph = true});
  return {values[0], values[1], values[2], change[2]};
}

/// u_t + u u_x − ν u_xx
inline Tensor burgers_residual(const Derivatives& d, double viscosity) {
  return d.u_t + d.u * d.u_x - d.u_xx * viscosity;
}

}  // namespace example
