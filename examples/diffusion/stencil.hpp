#pragma once

/// The five-point stencil of diffusion as two custom functions around one Kokkos kernel, which are
/// each other's adjoints.

#include <string_view>
#include <type_traits>

#include <farro/autograd/function.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/view_bridge.hpp>

namespace example {

using namespace farro;

/// What flows into cell (i, j) from its neighbour (k, l), at the mean of their diffusivities.
template <class View, class Scalar>
struct Flow {
  View u, a;
  FARRO_FUNCTION Scalar operator()(int64_t i, int64_t j, int64_t k, int64_t l) const {
    return Scalar(0.5) * (a(i, j) + a(k, l)) * (u(k, l) - u(i, j));
  }
};

/// How much the diffusivity of cell (i, j) has to do with the flow between it and its neighbour, g
/// being the gradient of what flowed in.
template <class View, class Scalar>
struct Steepness {
  View u, g;
  FARRO_FUNCTION Scalar operator()(int64_t i, int64_t j, int64_t k, int64_t l) const {
    return Scalar(-0.5) * (u(k, l) - u(i, j)) * (g(k, l) - g(i, j));
  }
};

/// scale · Σ pair(cell, neighbour) over the neighbours of each cell; beyond the border there are
/// none.
template <class Pair, class Out, class Scalar>
struct OverNeighbours {
  Pair pair;
  Out out;
  Scalar scale;
  FARRO_FUNCTION void operator()(int64_t i, int64_t j) const {
    Scalar sum(0);
    if (i > 0) sum += pair(i, j, i - 1, j);
    if (i + 1 < static_cast<int64_t>(out.extent(0))) sum += pair(i, j, i + 1, j);
    if (j > 0) sum += pair(i, j, i, j - 1);
    if (j + 1 < static_cast<int64_t>(out.extent(1))) sum += pair(i, j, i, j + 1);
    out(i, j) = scale * sum;
  }
};

/// Runs the kernel for two fields of one shape, dtype (float32 or float64) and device.
template <template <class, class> class Pair>
Tensor run_stencil(const char* label, autograd::Context& ctx, const Tensor& x, const Tensor& y,
                   double scale) {
  if (x.dim() != 2 || x.sizes() != y.sizes()) {
    fail<ShapeError>(label, "expected two fields of one shape (rows, columns), got {} and {}",
                     to_string(x.sizes()), to_string(y.sizes()));
  }
  Tensor out = empty(x.sizes(), x.dtype(), x.device());
  if (out.numel() == 0) return out;
  dispatch(x, [&]<class Backend, class Scalar>() {
    if constexpr (std::is_floating_point_v<Scalar>) {
      auto from = ctx.view<const Scalar, 2, Backend>(x),
           also = ctx.view<const Scalar, 2, Backend>(y);
      auto to = ctx.view<Scalar, 2, Backend>(out);
      using Both = Pair<decltype(from), Scalar>;
      using Range = Kokkos::MDRangePolicy<typename Backend::ExecutionSpace, Kokkos::Rank<2>,
                                          Kokkos::IndexType<int64_t>>;
      Kokkos::parallel_for(label, Range({0, 0}, {x.size(0), x.size(1)}),
                           OverNeighbours<Both, decltype(to), Scalar>{Both{from, also}, to,
                                                                      static_cast<Scalar>(scale)});
    } else {
      fail<TypeError>(label, "expected float32 or float64, got {}", name_of(x.dtype()));
    }
  });
  return out;
}

/// −scale/2 · Σ (u_q − u_p) (g_q − g_p) over the neighbours q of each cell p: the gradient of
/// Divergence's diffusivity.
struct DivergenceGrad : autograd::Function<DivergenceGrad> {
  static Tensor forward(autograd::Context& ctx, const Tensor& u, const Tensor& g, double scale) {
    ctx.save_for_backward({u, g});
    ctx.keep("scale", scale);
    return run_stencil<Steepness>("divergence_grad", ctx, u, g, scale);
  }
  static autograd::Grads backward(autograd::Context& ctx, const Tensor& c);
};

/// scale · ∇·(a ∇u) on a grid of spacing 1 with borders that nothing crosses. As a map of u it is a
/// symmetric matrix, so it is its own adjoint; and Σ c · DivergenceGrad(u, g) = Σ g · Divergence(u,
/// c).
struct Divergence : autograd::Function<Divergence> {
  static Tensor forward(autograd::Context& ctx, const Tensor& u, const Tensor& a, double scale) {
    ctx.save_for_backward({u, a});
    ctx.keep("scale", scale);
    return run_stencil<Flow>("divergence", ctx, u, a, scale);
  }
  static autograd::Grads backward(autograd::Context& ctx, const Tensor& g) {
    double scale = ctx.kept<double>("scale");
    autograd::Grads grads(3);
    if (ctx.needs_input_grad(0)) grads[0] = Divergence::apply(g, ctx.saved(1), scale);
    if (ctx.needs_input_grad(1)) grads[1] = DivergenceGrad::apply(ctx.saved(0), g, scale);
    return grads;
  }
};

inline autograd::Grads DivergenceGrad::backward(autograd::Context& ctx, const Tensor& c) {
  double scale = ctx.kept<double>("scale");
  autograd::Grads grads(3);
  if (ctx.needs_input_grad(0)) grads[0] = Divergence::apply(ctx.saved(1), c, scale);
  if (ctx.needs_input_grad(1)) grads[1] = Divergence::apply(ctx.saved(0), c, scale);
  return grads;
}

/// A step of time dt of u_t = ∇·(a ∇u); stable for dt below 1 / (4 · the largest a).
inline Tensor diffuse(const Tensor& u, const Tensor& a, double dt) {
  return u + Divergence::apply(u, a, dt);
}

}  // namespace example
