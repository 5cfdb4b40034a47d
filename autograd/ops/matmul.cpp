#include <farro/autograd/ops/matmul.hpp>

#include <algorithm>
#include <utility>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/matmul.hpp>

namespace farro {
namespace {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;
using autograd::sum_to_sizes;

/// The view with its last two dimensions exchanged.
ArrayView turned(const ArrayView& v) {
  ArrayView result = v;
  int last = v.ndim() - 1;
  std::swap(result.sizes[last - 1], result.sizes[last]);
  std::swap(result.strides[last - 1], result.strides[last]);
  return result;
}

void check_pair(const char* operation, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) {
    fail<TypeError>(operation, "expected operands of one dtype, got {} and {}", name_of(a.dtype()),
                    name_of(b.dtype()));
  }
  if (a.dtype() == kBool)
    fail<TypeError>(operation, "expected floating-point or integer operands, got bool");
  if (a.device() != b.device()) {
    fail<BackendError>(operation, "expected operands on one device, got {} and {}",
                       a.device().str(), b.device().str());
  }
}

void check_ndim(const char* operation, const Tensor& a, int a_ndim, const Tensor& b, int b_ndim) {
  if (a.dim() != a_ndim || b.dim() != b_ndim) {
    fail<ShapeError>(operation, "expected a {}-d and a {}-d tensor, got shapes {} and {}", a_ndim,
                     b_ndim, to_string(a.sizes()), to_string(b.sizes()));
  }
}

[[noreturn]] FARRO_COLD void fail_inner(const char* operation, const Tensor& a, const Tensor& b) {
  fail<ShapeError>(
      operation, "expected as many columns on the left as rows on the right, got shapes {} and {}",
      to_string(a.sizes()), to_string(b.sizes()));
}

/// The shape of a product of matrices whose leading dimensions broadcast.
Dims product_sizes(const char* operation, const ArrayView& a, const ArrayView& b) {
  int na = a.ndim(), nb = b.ndim();
  Dims sizes;
  if (na == 2 && nb == 2) {
    sizes = {a.sizes[0], b.sizes[1]};
    return sizes;
  }
  auto leading = [](const ArrayView& v) {
    Dims d = v.sizes;
    d.resize(v.ndim() - 2);
    return d;
  };
  sizes = broadcast_shapes(leading(a), leading(b), operation);
  sizes.push_back(a.sizes[na - 2]);
  sizes.push_back(b.sizes[nb - 1]);
  return sizes;
}

/// What backward needs of one factor, which is nothing unless the other one's gradient is asked
/// for.
Tensor wanted(const Tensor& for_grad_of, const Tensor& factor) {
  return for_grad_of.requires_grad() ? factor : Tensor();
}

/// An operand of `product`: a tensor of at least 2 dimensions, its last two exchanged where `turn`.
struct Factor {
  const Tensor& tensor;
  bool turn = false;
};

Tensor product(const char* name, Factor a, Factor b, double alpha = 1);

/// The gradients of a product, before broadcasting is undone.
Grads product_grads(const BackwardContext& c, const char* name, bool ta, bool tb, double alpha) {
  const Tensor& g = c.grad();
  Grads grads(2);
  if (c.needs(0)) {
    Tensor y = c.saved(1);
    grads[0] = ta ? product(name, {y, tb}, {g, true}, alpha) : product(name, {g}, {y, !tb}, alpha);
  }
  if (c.needs(1)) {
    Tensor x = c.saved(0);
    grads[1] = tb ? product(name, {g, true}, {x, ta}, alpha) : product(name, {x, !ta}, {g}, alpha);
  }
  return grads;
}

/// alpha op(a) op(b), recorded. Its gradients are products of the same kind, so any order of
/// derivative is.
Tensor product(const char* name, Factor a, Factor b, double alpha) {
  ArrayView turned_a, turned_b;
  const ArrayView& left = a.turn ? turned_a = turned(a.tensor.array()) : a.tensor.array();
  const ArrayView& right = b.turn ? turned_b = turned(b.tensor.array()) : b.tensor.array();
  int na = left.ndim(), nb = right.ndim();
  if (left.sizes[na - 1] != right.sizes[nb - 2]) fail_inner(name, a.tensor, b.tensor);
  Tensor out = empty_like_array(product_sizes(name, left, right), a.tensor);
  kernels::matmul(out.array(), left, right, {.alpha = alpha});
  if (!autograd::any_requires_grad(a.tensor, b.tensor)) return out;
  if (na == 2 && nb == 2) {
    return record(name, std::move(out), {a.tensor, b.tensor},
                  {wanted(b.tensor, a.tensor), wanted(a.tensor, b.tensor)},
                  [name, ta = a.turn, tb = b.turn, alpha](const BackwardContext& c) {
                    return product_grads(c, name, ta, tb, alpha);
                  });
  }
  return record(name, std::move(out), {a.tensor, b.tensor},
                {wanted(b.tensor, a.tensor), wanted(a.tensor, b.tensor)},
                [name, ta = a.turn, tb = b.turn, alpha, a_sizes = a.tensor.sizes(),
                 b_sizes = b.tensor.sizes()](const BackwardContext& c) {
                  Grads grads = product_grads(c, name, ta, tb, alpha);
                  if (grads[0].defined()) grads[0] = sum_to_sizes(grads[0], a_sizes);
                  if (grads[1].defined()) grads[1] = sum_to_sizes(grads[1], b_sizes);
                  return grads;
                });
}

/// All leading dimensions as one, for a product with a single matrix: its gradient is then one
/// product, not a sum of many.
Tensor flat_rows(const Tensor& x) {
  if (x.dim() == 2) return x;
  int64_t rows = 1;
  for (int d = 0; d + 1 < x.dim(); ++d) rows *= x.sizes()[d];
  return reshape(x, {rows, x.sizes().back()});
}

Tensor unflat_rows(const Tensor& y, const Dims& x_sizes, int64_t columns) {
  if (x_sizes.size() == 2) return y;
  Dims sizes = x_sizes;
  sizes[sizes.size() - 1] = columns;
  return view(y, sizes);
}

Tensor general_matmul(const Tensor& a, const Tensor& b) {
  if (b.dim() == 2 && a.dim() > 2) {
    if (a.sizes().back() != b.sizes()[0]) fail_inner("matmul", a, b);
    return unflat_rows(product("MatmulBackward", {flat_rows(a)}, {b}), a.sizes(), b.sizes()[1]);
  }
  product_sizes("matmul", a.array(), b.array());  // throws in the operation's own name
  return product("MatmulBackward", {a}, {b});
}

/// beta c, in a fresh tensor of `sizes` that is not on the tape.
Tensor scaled_copy(const Tensor& c, const Dims& sizes, double beta) {
  NoGrad guard;
  Tensor out = empty_like_array(sizes, c);
  if (beta == 0) {
    out.zero_();
    return out;
  }
  out.copy_(c);
  if (beta != 1)
    out.mul_(is_floating_point(c.dtype()) ? Tensor(beta) : Tensor(static_cast<int64_t>(beta)));
  return out;
}

Tensor add_product(const char* operation, const char* name, const Tensor& c, const Tensor& a,
                   const Tensor& b, AddmmOptions options) {
  check_pair(operation, a, b);
  check_pair(operation, c, a);
  int last = a.dim() - 1;
  if (a.sizes()[last] != b.sizes()[last - 1]) fail_inner(operation, a, b);
  Dims sizes = product_sizes(operation, a.array(), b.array());
  autograd::check_broadcasts_to(c.sizes(), sizes, operation);
  bool is_bias =
      options.beta == 1 && c.dim() == 1 && c.sizes()[0] == sizes.back() && c.is_contiguous();
  Tensor out = is_bias ? empty_like_array(sizes, a) : scaled_copy(c, sizes, options.beta);
  kernels::MatmulOptions how{.alpha = options.alpha, .accumulate = !is_bias};
  if (is_bias) how.bias = &c.array();
  kernels::matmul(out.array(), a.array(), b.array(), how);
  return record(name, std::move(out), {c, a, b}, {wanted(b, a), wanted(a, b)},
                [name, options, c_sizes = c.sizes()](const BackwardContext& ctx) -> Grads {
                  const Tensor& g = ctx.grad();
                  Grads grads(3);
                  if (ctx.needs(0)) {
                    grads[0] = sum_to_sizes(g, c_sizes);
                    if (options.beta != 1) grads[0] = grads[0] * options.beta;
                  }
                  if (ctx.needs(1))
                    grads[1] = product(name, {g}, {ctx.saved(1), true}, options.alpha);
                  if (ctx.needs(2))
                    grads[2] = product(name, {ctx.saved(0), true}, {g}, options.alpha);
                  return grads;
                });
}

/// x [m, in], weight [out, in], bias [out] or undefined.
Tensor linear_rows(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor out = empty_like_array({x.sizes()[0], weight.sizes()[0]}, x);
  kernels::MatmulOptions options;
  Tensor flat_bias = bias.defined() ? bias.detach().contiguous() : Tensor();
  if (bias.defined()) options.bias = &flat_bias.array();
  kernels::matmul(out.array(), x.array(), turned(weight.array()), options);
  return record("LinearBackward", std::move(out), {x, weight, bias},
                {wanted(weight, x), wanted(x, weight)},
                [columns = weight.sizes()[0]](const BackwardContext& c) -> Grads {
                  const Tensor& g = c.grad();
                  Grads grads(3);
                  if (c.needs(0)) grads[0] = product("MmBackward", {g}, {c.saved(1)});
                  if (c.needs(1)) grads[1] = product("MmBackward", {g, true}, {c.saved(0)});
                  if (c.needs(2)) grads[2] = sum_to_sizes(g, {columns});
                  return grads;
                });
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  check_pair("mm", a, b);
  check_ndim("mm", a, 2, b, 2);
  if (a.sizes()[1] != b.sizes()[0]) fail_inner("mm", a, b);
  return product("MmBackward", {a}, {b});
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  check_pair("bmm", a, b);
  check_ndim("bmm", a, 3, b, 3);
  if (a.sizes()[2] != b.sizes()[1] || a.sizes()[0] != b.sizes()[0]) fail_inner("bmm", a, b);
  return product("BmmBackward", {a}, {b});
}

Tensor mv(const Tensor& a, const Tensor& x) {
  check_pair("mv", a, x);
  check_ndim("mv", a, 2, x, 1);
  if (a.sizes()[1] != x.sizes()[0]) fail_inner("mv", a, x);
  return product("MvBackward", {a}, {unsqueeze(x, 1)}).squeeze(1);
}

Tensor dot(const Tensor& x, const Tensor& y) {
  check_pair("dot", x, y);
  check_ndim("dot", x, 1, y, 1);
  if (x.sizes()[0] != y.sizes()[0]) fail_inner("dot", x, y);
  return view(product("DotBackward", {unsqueeze(x, 0)}, {unsqueeze(y, 1)}), IntList{});
}

Tensor outer(const Tensor& x, const Tensor& y) {
  check_pair("outer", x, y);
  check_ndim("outer", x, 1, y, 1);
  return product("OuterBackward", {unsqueeze(x, 1)}, {unsqueeze(y, 0)});
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.dim() == 2 && b.dim() == 2) {
    check_pair("matmul", a, b);
    if (a.sizes()[1] != b.sizes()[0]) fail_inner("matmul", a, b);
    return product("MmBackward", {a}, {b});
  }
  check_pair("matmul", a, b);
  if (a.dim() == 0 || b.dim() == 0) {
    fail<ShapeError>("matmul", "expected operands of at least 1 dimension, got shapes {} and {}",
                     to_string(a.sizes()), to_string(b.sizes()));
  }
  if (a.sizes().back() != b.sizes()[std::max(b.dim() - 2, 0)]) fail_inner("matmul", a, b);
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  if (a.dim() == 1) return general_matmul(unsqueeze(a, 0), b).squeeze(-2);
  if (b.dim() == 1) return general_matmul(a, unsqueeze(b, 1)).squeeze(-1);
  return general_matmul(a, b);
}

Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, AddmmOptions options) {
  check_ndim("addmm", a, 2, b, 2);
  return add_product("addmm", "AddmmBackward", c, a, b, options);
}

Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, AddmmOptions options) {
  check_ndim("baddbmm", a, 3, b, 3);
  if (a.sizes()[0] != b.sizes()[0]) fail_inner("baddbmm", a, b);
  return add_product("baddbmm", "BaddbmmBackward", c, a, b, options);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_pair("linear", x, weight);
  if (bias.defined()) check_pair("linear", weight, bias);
  int64_t in = weight.dim() == 0 ? -1 : weight.sizes().back();
  if (x.dim() == 0 || weight.dim() < 1 || weight.dim() > 2 || x.sizes().back() != in) {
    fail<ShapeError>("linear",
                     "expected an input [..., in] and a weight [out, in], got shapes {} and {}",
                     to_string(x.sizes()), to_string(weight.sizes()));
  }
  if (weight.dim() == 1) {
    Tensor y = matmul(x, weight);
    return bias.defined() ? y + bias : y;
  }
  int64_t out = weight.sizes()[0];
  if (bias.defined() && (bias.dim() != 1 || bias.sizes()[0] != out)) {
    fail<ShapeError>("linear", "expected a bias of shape [{}], got {}", out,
                     to_string(bias.sizes()));
  }
  return unflat_rows(linear_rows(flat_rows(x), weight, bias), x.sizes(), out);
}

Tensor Tensor::matmul(const Tensor& other) const { return farro::matmul(*this, other); }
Tensor Tensor::mm(const Tensor& other) const { return farro::mm(*this, other); }
Tensor Tensor::bmm(const Tensor& other) const { return farro::bmm(*this, other); }
Tensor Tensor::mv(const Tensor& other) const { return farro::mv(*this, other); }
Tensor Tensor::dot(const Tensor& other) const { return farro::dot(*this, other); }

}  // namespace farro
