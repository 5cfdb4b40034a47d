#pragma once

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/nn/layers/activation.hpp>

/// The modules of golden/hooks/scenarios.json that are no layers.
namespace farro::test {

struct Pair : nn::Module {
  FARRO_MEMBERS(Pair)
  std::pair<Tensor, Tensor> forward(const Tensor& a, const Tensor& b) { return {a * b, a + b}; }
};
struct Throws : nn::Module {
  FARRO_MEMBERS(Throws)
  Tensor forward(const Tensor&) { fail<ValueError>("Throws", "boom"); }
};
struct InPlace : nn::Module {
  FARRO_MEMBERS(InPlace)
  Tensor forward(const Tensor& x) { return x.mul_(2); }
};
struct ScaleOptions {
  int64_t scale = 1;
  FARRO_FIELDS(ScaleOptions, scale)
};
struct Scale : nn::Module {
  FARRO_MEMBERS(Scale)
  Tensor forward(const Tensor& x, const ScaleOptions& options = {}) { return x * options.scale; }
};
struct Registering : nn::Module {
  nn::Parameter w{tensor({1.0}, {.dtype = kFloat64})};
  nn::Buffer r{tensor({2.0}, {.dtype = kFloat64})};
  nn::Ref<nn::Tanh> t{nn::Tanh()};
  nn::Parameter n;
  FARRO_MEMBERS(Registering, w, r, t, n)
};

}  // namespace farro::test
