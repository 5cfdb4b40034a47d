#pragma once

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

/// A batched matrix product as strides: what remains of the views once leading dimensions are
/// broadcast and merged. Can be copied into a kernel.
struct MatmulProblem {
  int64_t m, n, k;
  Dims batch;                        // sizes of the leading dimensions
  Dims a_batch, b_batch, out_batch;  // their strides, 0 where broadcast
  int64_t a_row, a_col, b_row, b_col, out_row, out_col;

  FARRO_FUNCTION int64_t batches() const { return batch.product(); }

  struct Offsets {
    int64_t a = 0, b = 0, out = 0;
  };
  FARRO_FUNCTION Offsets offsets(int64_t i) const {
    Offsets o;
    for (int d = batch.size() - 1; d >= 0; --d) {
      int64_t rest = i / batch[d], at = i - rest * batch[d];
      o.a += at * a_batch[d];
      o.b += at * b_batch[d];
      o.out += at * out_batch[d];
      i = rest;
    }
    return o;
  }
};

/// Broadcasts a and b to out, drops leading dimensions of size 1 and merges neighbours where the
/// strides allow.
MatmulProblem make_matmul_problem(const ArrayView& out, const ArrayView& a, const ArrayView& b);

/// The plain kernel: one dot product per element, on any backend and for every dtype but bool. bias
/// may be null.
void plain_matmul(const MatmulProblem& p, const ArrayView& out, const ArrayView& a,
                  const ArrayView& b, double alpha, bool accumulate, const ArrayView* bias);

}  // namespace farro::kernels
