#pragma once

#include <cstdint>

namespace farro::kernels {

/// c [m, n] = alpha op(a) op(b), added to c if accumulate; row-major with unit steps within lines,
/// op transposes.
template <class T>
struct HostGemm {
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t lda;
  bool trans_a;
  const T* b;
  int64_t ldb;
  bool trans_b;
  bool accumulate;
  T* c;
  int64_t ldc;
};

/// y [m] = alpha op(a) x, added to y if accumulate; op(a) is [m, k].
template <class T>
struct HostGemv {
  int64_t m, k;
  T alpha;
  const T* a;
  int64_t lda;
  bool trans;
  const T* x;
  int64_t incx;
  bool accumulate;
  T* y;
  int64_t incy;
};

/// The fastest way for the sizes (of sizes alone, so that equal shapes give equal bits): OpenBLAS,
/// oneDNN or small_gemm, on the calling thread. No dimension may be 0.
void host_gemm(const HostGemm<float>& g);
void host_gemm(const HostGemm<double>& g);
void host_gemv(const HostGemv<float>& g);
void host_gemv(const HostGemv<double>& g);

}  // namespace farro::kernels
