#include <farro/backends/kernels/host_gemm.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <xsimd/xsimd.hpp>

#include <farro/backends/blas.hpp>
#include <farro/backends/kernels/small_gemm.hpp>
#include <farro/backends/one_thread.hpp>
#include <farro/backends/onednn.hpp>

namespace farro::kernels {
namespace {

enum class Engine { Own, Blas, OneDnn };

constexpr int64_t cube(int64_t n) { return n * n * n; }

/// Where each way is the fastest, measured by m n k. With AVX-512 OpenBLAS' small products have no
/// overhead; with AVX2 our own loop is ahead while a panel of b stays in cache, and far ahead in
/// float64; compiled for less, ours is for tiny products only.
struct Limits {
  int64_t own;      // our loop up to here
  int64_t one_dnn;  // float32: oneDNN from here …
  int64_t blas;     // … to here
};
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
constexpr size_t kFloats = xsimd::batch<float>::size;
template <class T>
constexpr Limits limits() {
  constexpr bool is_float = std::is_same_v<T, float>;
  if (kFloats >= 16) return {cube(is_float ? 8 : 16), cube(80), cube(400)};
  if (kFloats >= 8) return {cube(is_float ? 64 : 192), cube(64), kUnlimited};
  return {cube(6), kUnlimited, kUnlimited};
}

template <class T>
Engine choose(int64_t m, int64_t n, int64_t k) {
  static const bool have_blas = blas::available(),
                    have_onednn = onednn::available() && std::is_same_v<T, float>;
  constexpr Limits limit = limits<T>();
  double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (work <= static_cast<double>(limit.own)) return Engine::Own;
  bool onednn_range =
      work > static_cast<double>(limit.one_dnn) && work <= static_cast<double>(limit.blas);
  if (have_onednn && (onednn_range || !have_blas)) return Engine::OneDnn;
  return have_blas ? Engine::Blas : Engine::Own;
}

bool fits_int(std::initializer_list<int64_t> values) {
  return std::max(values) <= std::numeric_limits<int>::max();
}

template <class T>
blas::Gemm<T> as_blas(const HostGemm<T>& g) {
  auto i = [](int64_t v) { return static_cast<int>(v); };
  return {i(g.m),
          i(g.n),
          i(g.k),
          g.alpha,
          g.a,
          i(g.lda),
          g.trans_a,
          g.b,
          i(g.ldb),
          g.trans_b,
          g.accumulate ? T(1) : T(0),
          g.c,
          i(g.ldc)};
}

template <class T>
void run(const HostGemm<T>& g) {
  Engine engine = choose<T>(g.m, g.n, g.k);
  if (engine != Engine::Own && fits_int({g.m, g.n, g.k, g.lda, g.ldb, g.ldc})) {
    OneThread one;
    if constexpr (std::is_same_v<T, float>) {
      if (engine == Engine::OneDnn) return onednn::gemm(as_blas(g));
    }
    return blas::gemm(as_blas(g));
  }
  int64_t a_row = g.trans_a ? 1 : g.lda, a_col = g.trans_a ? g.lda : 1;
  small_gemm(SmallGemm<T>{g.m, g.n, g.k, g.alpha, g.a, a_row, a_col, g.b, g.ldb, g.trans_b,
                          g.accumulate, g.c, g.ldc});
}

/// Without a library: dot products where a's rows lie together, else sums of columns.
template <class T>
void plain_gemv(const HostGemv<T>& g) {
  constexpr int64_t kLanes = 16;
  for (int64_t i = 0; i < g.m; ++i) {
    const T* row = g.a + (g.trans ? i : i * g.lda);
    int64_t step = g.trans ? g.lda : 1;
    T lanes[kLanes] = {};
    int64_t p = 0;
    for (; p + kLanes <= g.k; p += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += row[(p + l) * step] * g.x[(p + l) * g.incx];
    }
    for (int64_t l = 0; p < g.k; ++p, ++l) lanes[l] += row[p * step] * g.x[p * g.incx];
    for (int64_t gap = kLanes / 2; gap > 0; gap /= 2) {
      for (int64_t l = 0; l < gap; ++l) lanes[l] += lanes[l + gap];
    }
    T& y = g.y[i * g.incy];
    y = g.alpha * lanes[0] + (g.accumulate ? y : T(0));
  }
}

template <class T>
void run(const HostGemv<T>& g) {
  constexpr int64_t kTiny = 64;
  if (g.m * g.k > kTiny && blas::available() && fits_int({g.m, g.k, g.lda, g.incx, g.incy}) &&
      g.incx > 0 && g.incy > 0) {
    auto i = [](int64_t v) { return static_cast<int>(v); };
    OneThread one;
    blas::gemv(blas::Gemv<T>{i(g.trans ? g.k : g.m), i(g.trans ? g.m : g.k), g.alpha, g.a, i(g.lda),
                             g.trans, g.x, i(g.incx), g.accumulate ? T(1) : T(0), g.y, i(g.incy)});
    return;
  }
  plain_gemv(g);
}

}  // namespace

void host_gemm(const HostGemm<float>& g) { run(g); }
void host_gemm(const HostGemm<double>& g) { run(g); }
void host_gemv(const HostGemv<float>& g) { run(g); }
void host_gemv(const HostGemv<double>& g) { run(g); }

}  // namespace farro::kernels
