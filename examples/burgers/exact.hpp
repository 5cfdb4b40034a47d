#pragma once

#include <cmath>
#include <numbers>
#include <vector>

/// The exact solution of u_t + u u_x = ν u_xx with u(0, x) = −sin πx and u(t, ±1) = 0.
namespace example {

/// ∫ g(z) exp(−z²) dz ≈ Σ weight · g(node), exact for polynomials of a degree below twice the
/// number of nodes.
struct GaussHermite {
  std::vector<double> nodes, weights;
};

namespace detail {

/// How many zeros of the Hermite polynomial of degree n lie below x: those are the eigenvalues of a
/// tridiagonal matrix with zeros on and √(k/2) beside its diagonal (Golub, Welsch: Calculation of
/// Gauss quadrature rules; 1969), and as many pivots of its factors are negative (Sylvester's law
/// of inertia).
inline int zeros_below(double x, int n) {
  int count = 0;
  double pivot = 1;
  for (int k = 0; k < n; ++k) {
    pivot = -x - (k == 0 ? 0 : 0.5 * k / pivot);
    if (pivot == 0) pivot = 1e-300;
    if (pivot < 0) ++count;
  }
  return count;
}

/// Σ p_k(x)² over the orthonormal Hermite polynomials p_k of degrees below n, whose inverse is the
/// weight of the node x (Szegő: Orthogonal polynomials; 1939, § 3.4).
inline double christoffel_sum(double x, int n) {
  double before = 0, p = std::pow(std::numbers::pi, -0.25), sum = 0;
  for (int k = 0; k < n; ++k) {
    sum += p * p;
    double next = (x * p - std::sqrt(0.5 * k) * before) / std::sqrt(0.5 * (k + 1));
    before = p;
    p = next;
  }
  return sum;
}

}  // namespace detail

/// n nodes in rising order, n at most 300 (the polynomials overflow later on).
inline GaussHermite gauss_hermite(int n) {
  GaussHermite rule;
  double border = std::sqrt(2.0 * n + 1);  // no zero lies beyond
  for (int i = 0; i < n; ++i) {
    double below = -border, above = border;
    while (true) {
      double middle = 0.5 * (below + above);
      if (middle <= below || middle >= above) break;
      (detail::zeros_below(middle, n) <= i ? below : above) = middle;
    }
    rule.nodes.push_back(below);
    rule.weights.push_back(1 / detail::christoffel_sum(below, n));
  }
  return rule;
}

/// The transform u = −2ν φ_x / φ makes the equation that of heat (Cole: On a quasi-linear parabolic
/// equation occurring in aerodynamics; 1951. Hopf: The partial differential equation u_t + u u_x =
/// μ u_xx; 1950), φ a Gaussian mean of φ(0, x) = exp(−cos(πx) / 2πν), and u the mean of −sin(πy)
/// with the weights of φ's.
class BurgersSolution {
 public:
  explicit BurgersSolution(double viscosity, int nodes = 200)
      : viscosity_(viscosity), rule_(gauss_hermite(nodes)) {}

  double viscosity() const { return viscosity_; }

  double operator()(double t, double x) const {
    constexpr double pi = std::numbers::pi;
    double spread = std::sqrt(4 * viscosity_ * t), above = 0, below = 0;
    for (size_t i = 0; i < rule_.nodes.size(); ++i) {
      double y = x - spread * rule_.nodes[i];
      // Shifted to be at most 1: for a small viscosity φ itself is too large for a number.
      double phi = rule_.weights[i] * std::exp(-(std::cos(pi * y) + 1) / (2 * pi * viscosity_));
      above -= phi * std::sin(pi * y);
      below += phi;
    }
    return above / below;
  }

 private:
  double viscosity_;
  GaussHermite rule_;
};

}  // namespace example
