#pragma once

#include <cstdint>

namespace farro::kernels {

/// c [m, n] = alpha a b, or c + alpha a b if accumulate, on the calling thread. a has any strides;
/// b's columns have stride 1, or its rows if trans_b (ldb is the other stride); c's columns have
/// stride 1. Made for matrices that fit a cache, where a library's call and packing cost more than
/// the product, and correct at any size.
template <class T>
struct SmallGemm {
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t ldb;
  bool trans_b;
  bool accumulate;
  T* c;
  int64_t ldc;
};
void small_gemm(const SmallGemm<float>& g);
void small_gemm(const SmallGemm<double>& g);

}  // namespace farro::kernels
