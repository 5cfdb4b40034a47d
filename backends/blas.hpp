#pragma once

/// OpenBLAS, loaded when it is first needed. It chooses its kernels while it is being loaded and
/// does not recognise every processor, so the choice is made here (see blas.cpp). Calls run on the
/// calling thread if a OneThread scope is open or the caller is inside a parallel region; Farro's
/// kernels always see to that.

#include <string>

#include <farro/backends/config.hpp>

namespace farro::blas {

/// c [m, n] = alpha op(a) [m, k] op(b) [k, n] + beta c, all row-major; op transposes where the flag
/// is set. Leading dimensions are strides between stored rows. With beta 0, c is not read.
template <class T>
struct Gemm {
  int m, n, k;
  T alpha;
  const T* a;
  int lda;
  bool trans_a;
  const T* b;
  int ldb;
  bool trans_b;
  T beta;
  T* c;
  int ldc;
};

/// y = alpha op(a) x + beta y, a stored as rows x cols.
template <class T>
struct Gemv {
  int rows, cols;
  T alpha;
  const T* a;
  int lda;
  bool trans_a;
  const T* x;
  int incx;
  T beta;
  T* y;
  int incy;
};

/// True if OpenBLAS was found; loads it.
bool available();
/// Only where available() is true.
void gemm(const Gemm<float>& g);
void gemm(const Gemm<double>& g);
void gemv(const Gemv<float>& g);
void gemv(const Gemv<double>& g);

/// Library, version and the kernels in use, e.g. "OpenBLAS 0.3.21, SkylakeX kernels"; says so when
/// there is none.
std::string info();

}  // namespace farro::blas
