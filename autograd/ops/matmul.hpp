#pragma once

#include <farro/autograd/tensor.hpp>

/// Products of matrices and vectors, floating-point or integer. Operands must have one dtype
/// (TypeError) and one device (BackendError); shapes that do not fit are a ShapeError. Transposed
/// operands are used where they lie.
namespace farro {

/// PyTorch's torch.matmul: 1-d operands count as a row on the left and a column on the right, and
/// leading dimensions broadcast. [m, k] [k, n] gives [m, n]; [k] [k] gives a 0-d tensor; [b, m, k]
/// [k] gives [b, m].
Tensor matmul(const Tensor& a, const Tensor& b);
/// [m, k] [k, n].
Tensor mm(const Tensor& a, const Tensor& b);
/// [b, m, k] [b, k, n].
Tensor bmm(const Tensor& a, const Tensor& b);
/// [m, k] [k].
Tensor mv(const Tensor& a, const Tensor& x);
/// [k] [k].
Tensor dot(const Tensor& x, const Tensor& y);
/// [m] [n] gives all products, [m, n].
Tensor outer(const Tensor& x, const Tensor& y);

struct AddmmOptions {
  double beta = 1;   ///< factor of the summand; 0 leaves it out, NaNs included
  double alpha = 1;  ///< factor of the product
};
/// beta c + alpha a b, where c broadcasts to the product's shape.
Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, AddmmOptions options = {});
/// As addmm, with batches of matrices.
Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, AddmmOptions options = {});

/// x [..., in] times the transpose of weight [out, in], plus bias [out] unless that is undefined:
/// one product. A 1-d weight gives one number per row.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace farro
