#include <farro/nn/layers/dropout.hpp>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/random_fill.hpp>
#include <farro/autograd/ops/softmax.hpp>

namespace farro::nn {
namespace {

int64_t chosen_dim(const std::optional<int64_t>& dim, const Tensor& x) {
  return dim.value_or(x.dim() == 0 || x.dim() == 1 || x.dim() == 3 ? 0 : 1);
}

}  // namespace

Dropout::Dropout(const Options& options) : options(options) {
  if (!(options.p >= 0 && options.p <= 1)) {
    fail<ValueError>("Dropout", "expected a probability from 0 to 1, got {}", options.p);
  }
}

Tensor Dropout::forward(const Tensor& x) const {
  Tensor y = dropout(x, options.p, training());
  if (!options.inplace || y.is_same(x)) return y;
  x.copy_(y);
  return x;
}

std::string Dropout::extra_repr() const {
  return fmt::format("p={}, inplace={}", python(options.p), python(options.inplace));
}

Tensor Softmax::forward(const Tensor& x) const { return softmax(x, chosen_dim(options.dim, x)); }
std::string Softmax::extra_repr() const { return "dim=" + python(options.dim); }

Tensor LogSoftmax::forward(const Tensor& x) const {
  return log_softmax(x, chosen_dim(options.dim, x));
}
std::string LogSoftmax::extra_repr() const { return "dim=" + python(options.dim); }

Tensor Softmin::forward(const Tensor& x) const { return softmin(x, chosen_dim(options.dim, x)); }
std::string Softmin::extra_repr() const { return "dim=" + python(options.dim); }

}  // namespace farro::nn
