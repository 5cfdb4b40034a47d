#pragma once

#include <farro/autograd/ops/copy.hpp>

namespace farro::autograd {

/// The elements in row-major order without gaps, for a kernel that wants them so. Not recorded.
inline Tensor dense(const Tensor& x) {
  if (x.is_contiguous()) return x;
  NoGrad guard;
  return contiguous(x);
}

}  // namespace farro::autograd
