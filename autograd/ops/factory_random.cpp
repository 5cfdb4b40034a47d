#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/backends/kernels/random.hpp>

namespace farro {
namespace {

Philox draw(Generator* generator) { return (generator ? *generator : default_generator()).next(); }

/// An uninitialised tensor that `fill` fills before it requires grad.
template <class Fill>
Tensor filled(IntList sizes, TensorOptions options, const Fill& fill) {
  bool requires_grad = std::exchange(options.requires_grad, false);
  Tensor out = empty(sizes, options);
  if (requires_grad && !out.is_floating_point()) {
    fail<TypeError>("random", "only floating-point tensors can require grad, got {}",
                    name_of(out.dtype()));
  }
  fill(out);
  if (requires_grad) out.requires_grad_();
  return out;
}

void check_floating(const char* name, const TensorOptions& options) {
  if (options.dtype && !is_floating_point(*options.dtype)) {
    fail<TypeError>(name, "expected a floating-point dtype, got {}", name_of(*options.dtype));
  }
}

TensorOptions like_options(const Tensor& like, TensorOptions options) {
  if (!options.dtype) options.dtype = like.dtype();
  if (!options.device) options.device = like.device();
  return options;
}

}  // namespace

Tensor rand(IntList sizes, const TensorOptions& options, Generator* generator) {
  check_floating("rand", options);
  return filled(sizes, options,
                [&](const Tensor& t) { kernels::fill_uniform(t.array(), draw(generator), 0, 1); });
}

Tensor randn(IntList sizes, const TensorOptions& options, Generator* generator) {
  check_floating("randn", options);
  return filled(sizes, options,
                [&](const Tensor& t) { kernels::fill_normal(t.array(), draw(generator), 0, 1); });
}

Tensor randint(int64_t low, int64_t high, IntList sizes, const TensorOptions& options,
               Generator* generator) {
  if (low >= high) fail<ValueError>("randint", "expected low below high, got {} and {}", low, high);
  TensorOptions with_dtype = options;
  with_dtype.dtype = options.dtype.value_or(kInt64);
  return filled(sizes, with_dtype, [&](const Tensor& t) {
    kernels::fill_integers(t.array(), draw(generator), low, high);
  });
}

Tensor randperm(int64_t n, const TensorOptions& options, Generator* generator) {
  if (n < 0) fail<ValueError>("randperm", "expected a number of at least 0, got {}", n);
  std::vector<int64_t> order(static_cast<size_t>(n));
  kernels::fill_permutation(order.data(), n, draw(generator));
  return tensor(order, options);
}

Tensor rand_like(const Tensor& like, const TensorOptions& options, Generator* generator) {
  return rand(like.sizes(), like_options(like, options), generator);
}

Tensor randn_like(const Tensor& like, const TensorOptions& options, Generator* generator) {
  return randn(like.sizes(), like_options(like, options), generator);
}

Tensor bernoulli(const Tensor& p, Generator* generator) {
  NoGrad guard;
  if (!p.is_floating_point())
    fail<TypeError>("bernoulli", "expected floating-point chances, got {}", name_of(p.dtype()));
  return to(lt(rand_like(p, {}, generator), p), p.dtype());
}

}  // namespace farro
