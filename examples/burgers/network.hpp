#pragma once

#include <numbers>

#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/init/init.hpp>
#include <farro/nn/nn.hpp>

namespace example {

using namespace farro;

/// u(t, x) = −sin πx + t (1 − x²) · N(t, x), which has the initial and the boundary values whatever
/// N is (Lagaris, Likas, Fotiadis: Artificial neural networks for solving ordinary and partial
/// differential equations; 1998).
struct BurgersNetwork : nn::Module {
  nn::Ref<nn::Sequential> layers{nn::make<nn::Sequential>()};
  FARRO_MEMBERS(BurgersNetwork, layers)

  /// N has `depth` hidden layers of `width` units.
  BurgersNetwork(int64_t width, int64_t depth) {
    for (int64_t i = 0; i <= depth; ++i) {
      nn::Ref<nn::Linear> layer{
          {.in_features = i == 0 ? 2 : width, .out_features = i == depth ? 1 : width}};
      init::xavier_normal_(layer->weight);
      init::zeros_(layer->bias);
      layers->append(layer);
      if (i < depth) layers->append(nn::Ref<nn::Tanh>{nn::Tanh()});
    }
  }

  /// t and x are (points, 1), and so is the result.
  Tensor forward(const Tensor& t, const Tensor& x) {
    Tensor free = layers(cat({t * 2.0 - 1.0, x}, 1));
    return t * (1.0 - x * x) * free - sin(x * std::numbers::pi);
  }
};

}  // namespace example
