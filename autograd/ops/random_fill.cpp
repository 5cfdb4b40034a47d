#include <farro/autograd/ops/random_fill.hpp>

#include <farro/autograd/ops/dense.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/random.hpp>

#include <limits>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;

namespace {

Philox draw(Generator* generator) { return (generator ? *generator : default_generator()).next(); }

void check_floating(const Tensor& self, const char* operation) {
  if (!self.is_floating_point()) {
    fail<TypeError>(operation, "expected a floating-point tensor, got {}", name_of(self.dtype()));
  }
}

void check_probability(double p, const char* operation) {
  if (!(p >= 0 && p <= 1))
    fail<ValueError>(operation, "expected a probability in [0, 1], got {}", p);
}

template <class Fill>
const Tensor& fill_in_place(const Tensor& self, const char* operation, const char* node,
                            const Fill& fill) {
  autograd::check_inplace(self, operation);
  fill();
  autograd::InplaceChange change(self);
  record(node, self, {self}, {},
         [](const BackwardContext& c) -> Grads { return {zeros_like(c.grad())}; });
  return self;
}

/// One past the largest integer of random_ without bounds.
int64_t integer_bound(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return (int64_t{1} << 24) + 1;
    case DType::Float64:
      return (int64_t{1} << 53) + 1;
    case DType::BFloat16:
      return (1 << 8) + 1;
    case DType::Float16:
      return (1 << 11) + 1;
    case DType::Int64:
      return std::numeric_limits<int64_t>::max();
    case DType::Int32:
      return int64_t{1} << 31;
    case DType::Int16:
      return int64_t{1} << 15;
    case DType::Int8:
      return int64_t{1} << 7;
    case DType::UInt8:
      return int64_t{1} << 8;
    case DType::Bool:
      return 2;
  }
  return 2;
}

Tensor dropped(const Tensor& x, const Philox& random, double p) {
  Tensor in = autograd::dense(x), out = empty_like_array(x.sizes(), x);
  kernels::dropout(out.array(), in.array(), random, p);
  return record("DropoutBackward", out, {x}, {}, [random, p](const BackwardContext& c) -> Grads {
    return {dropped(c.grad(), random, p)};
  });
}

}  // namespace

const Tensor& uniform_(const Tensor& self, double from, double to, Generator* generator) {
  check_floating(self, "uniform_");
  if (!(from <= to)) fail<ValueError>("uniform_", "expected from <= to, got {} and {}", from, to);
  return fill_in_place(self, "uniform_", "UniformBackward",
                       [&] { kernels::fill_uniform(self.array(), draw(generator), from, to); });
}

const Tensor& normal_(const Tensor& self, double mean, double std, Generator* generator) {
  check_floating(self, "normal_");
  if (!(std >= 0)) fail<ValueError>("normal_", "expected a deviation of at least 0, got {}", std);
  return fill_in_place(self, "normal_", "NormalBackward",
                       [&] { kernels::fill_normal(self.array(), draw(generator), mean, std); });
}

const Tensor& bernoulli_(const Tensor& self, double p, Generator* generator) {
  check_probability(p, "bernoulli_");
  return fill_in_place(self, "bernoulli_", "BernoulliBackward",
                       [&] { kernels::fill_bernoulli(self.array(), draw(generator), p); });
}

const Tensor& random_(const Tensor& self, int64_t from, int64_t to, Generator* generator) {
  if (from >= to) fail<ValueError>("random_", "expected from < to, got {} and {}", from, to);
  return fill_in_place(self, "random_", "RandomBackward",
                       [&] { kernels::fill_integers(self.array(), draw(generator), from, to); });
}

const Tensor& random_(const Tensor& self, Generator* generator) {
  return random_(self, 0, integer_bound(self.dtype()), generator);
}

Tensor dropout(const Tensor& x, double p, bool training, Generator* generator) {
  check_probability(p, "dropout");
  if (!training || p == 0) return x;
  check_floating(x, "dropout");
  return dropped(x, draw(generator), p);
}

const Tensor& Tensor::uniform_(double from, double to) const {
  return farro::uniform_(*this, from, to);
}
const Tensor& Tensor::normal_(double mean, double std) const {
  return farro::normal_(*this, mean, std);
}
const Tensor& Tensor::bernoulli_(double p) const { return farro::bernoulli_(*this, p); }

}  // namespace farro
