#include <farro/backends/kernels/small_gemm.hpp>

#include <algorithm>
#include <xsimd/xsimd.hpp>

#include <farro/backends/config.hpp>
#include <farro/backends/simd.hpp>

namespace farro::kernels {
namespace {

constexpr int64_t kDepth = 256;  // of a panel of b: 16 columns of float fill half a level-1 cache
constexpr int kRows = 6;  // 6 x 2 accumulators, 2 registers of b and 1 of a: 15 of 16 registers
constexpr int kVectors = 2;

template <class T>
inline constexpr int64_t kWidth = xsimd::batch<T>::size;

/// A row of tiles: `rows` rows of a against one panel of b, `depth` deep, into c.
template <class T>
struct Tile {
  int64_t depth;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t ldb;
  T* c;
  int64_t ldc;
  int64_t columns;  // to be stored
  T alpha;
  bool accumulate;
};

template <int R, int V, class T>
void run_tile(const Tile<T>& t) {
  using Batch = xsimd::batch<T>;
  Batch sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[r][v] = Batch(T(0));
  }
  const T* a = t.a;
  const T* b = t.b;
  for (int64_t p = 0; p < t.depth; ++p, a += t.a_col, b += t.ldb) {
    Batch line[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) line[v] = Batch::load_unaligned(b + v * kWidth<T>);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      Batch factor(a[r * t.a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = simd::fma(factor, line[v], sum[r][v]);
    }
  }
  bool whole = t.columns == V * kWidth<T>;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    T* c = t.c + r * t.ldc;
    if (whole) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        Batch value = sum[r][v] * Batch(t.alpha);
        if (t.accumulate) value += Batch::load_unaligned(c + v * kWidth<T>);
        value.store_unaligned(c + v * kWidth<T>);
      }
    } else {
      T line[V * kWidth<T>];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v)
        (sum[r][v] * Batch(t.alpha)).store_unaligned(line + v * kWidth<T>);
      for (int64_t j = 0; j < t.columns; ++j) c[j] = t.accumulate ? c[j] + line[j] : line[j];
    }
  }
}

template <int V, class T>
void run_rows(Tile<T> t, int64_t m) {
  for (int64_t i = 0; i < m; i += kRows, t.a += kRows * t.a_row, t.c += kRows * t.ldc) {
    switch (std::min<int64_t>(m - i, kRows)) {
      case 1:
        run_tile<1, V>(t);
        break;
      case 2:
        run_tile<2, V>(t);
        break;
      case 3:
        run_tile<3, V>(t);
        break;
      case 4:
        run_tile<4, V>(t);
        break;
      case 5:
        run_tile<5, V>(t);
        break;
      default:
        run_tile<6, V>(t);
        break;
    }
  }
}

/// Copies `columns` columns of b, `depth` deep, to rows of `width`, the missing columns as zeros.
template <class T>
void pack_panel(T* to, int64_t width, const T* b, int64_t ldb, bool trans, int64_t depth,
                int64_t columns) {
  if (columns < width) std::fill(to, to + depth * width, T(0));
  if (trans) {
    for (int64_t j = 0; j < columns; ++j) {
      const T* FARRO_RESTRICT from = b + j * ldb;
      for (int64_t p = 0; p < depth; ++p) to[p * width + j] = from[p];
    }
  } else {
    for (int64_t p = 0; p < depth; ++p)
      std::copy(b + p * ldb, b + p * ldb + columns, to + p * width);
  }
}

template <class T>
void run(const SmallGemm<T>& g) {
  constexpr int64_t kPanel = kVectors * kWidth<T>;
  constexpr int64_t kReuse = 64;  // rows of a from which a packed panel pays
  alignas(64) T packed[kDepth * kPanel];
  for (int64_t p = 0; p < g.k; p += kDepth) {
    int64_t depth = std::min(g.k - p, kDepth);
    for (int64_t j = 0; j < g.n; j += kPanel) {
      int64_t columns = std::min(g.n - j, kPanel);
      int64_t width = columns <= kWidth<T> ? kWidth<T> : kPanel;
      const T* b = g.trans_b ? g.b + j * g.ldb + p : g.b + p * g.ldb + j;
      int64_t ldb = g.ldb;
      if (g.trans_b || columns < width || g.m > kReuse) {
        pack_panel(packed, width, b, ldb, g.trans_b, depth, columns);
        b = packed;
        ldb = width;
      }
      Tile<T> tile{depth,   g.a + p * g.a_col,    g.a_row, g.a_col, b, ldb, g.c + j, g.ldc, columns,
                   g.alpha, g.accumulate || p > 0};
      width == kPanel ? run_rows<kVectors>(tile, g.m) : run_rows<1>(tile, g.m);
    }
  }
}

}  // namespace

void small_gemm(const SmallGemm<float>& g) { run(g); }
void small_gemm(const SmallGemm<double>& g) { run(g); }

}  // namespace farro::kernels
