#include <farro/backends/kernels/matmul.hpp>

#include <algorithm>
#include <cstring>

#include <farro/backends/kernels/copy.hpp>
#include <farro/backends/kernels/host_gemm.hpp>
#include <farro/backends/kernels/matmul_problem.hpp>
#include <farro/backends/kernels/sum_partials.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/scratch.hpp>

namespace farro::kernels {
namespace {

bool rows_are_lines(int64_t rows, int64_t columns, int64_t row_stride, int64_t col_stride) {
  return (col_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1);
}

/// Whether a matrix can be handed to a library as it is, and how.
struct Layout {
  bool fits = false;
  bool trans = false;
  int64_t ld = 0;

  Layout(int64_t rows, int64_t columns, int64_t row_stride, int64_t col_stride) {
    if (rows_are_lines(rows, columns, row_stride, col_stride)) {
      fits = true;
      ld = rows == 1 ? columns : row_stride;
    } else if (rows_are_lines(columns, rows, col_stride, row_stride)) {
      fits = true;
      trans = true;
      ld = columns == 1 ? rows : col_stride;
    }
  }
};

}  // namespace

MatmulProblem make_matmul_problem(const ArrayView& out, const ArrayView& a, const ArrayView& b) {
  int ndim = out.ndim();
  MatmulProblem p{};
  p.m = out.sizes[ndim - 2];
  p.n = out.sizes[ndim - 1];
  p.k = a.sizes[a.ndim() - 1];
  p.a_row = a.strides[a.ndim() - 2];
  p.a_col = a.strides[a.ndim() - 1];
  p.b_row = b.strides[b.ndim() - 2];
  p.b_col = b.strides[b.ndim() - 1];
  p.out_row = out.strides[ndim - 2];
  p.out_col = out.strides[ndim - 1];
  auto stride_of = [&](const ArrayView& v, int d) {
    int own = d - (ndim - v.ndim());
    return own < 0 || v.sizes[own] == 1 ? 0 : v.strides[own];
  };
  for (int d = 0; d < ndim - 2; ++d) {
    int64_t size = out.sizes[d], sa = stride_of(a, d), sb = stride_of(b, d), so = out.strides[d];
    if (size == 1) continue;
    int last = p.batch.size() - 1;
    if (last >= 0 && p.a_batch[last] == sa * size && p.b_batch[last] == sb * size &&
        p.out_batch[last] == so * size) {
      p.batch[last] *= size;
      p.a_batch[last] = sa;
      p.b_batch[last] = sb;
      p.out_batch[last] = so;
      continue;
    }
    p.batch.push_back(size);
    p.a_batch.push_back(sa);
    p.b_batch.push_back(sb);
    p.out_batch.push_back(so);
  }
  // One matrix b for all of a's: more rows of a instead of a batch.
  while (!p.batch.empty()) {
    int last = p.batch.size() - 1;
    int64_t size = p.batch[last], a_row = p.m == 1 ? p.a_batch[last] : p.a_row;
    int64_t out_row = p.m == 1 ? p.out_batch[last] : p.out_row;
    if (p.b_batch[last] != 0 || p.a_batch[last] != p.m * a_row ||
        p.out_batch[last] != p.m * out_row)
      break;
    if (!Layout(p.m * size, p.k, a_row, p.a_col).fits ||
        !Layout(p.m * size, p.n, out_row, p.out_col).fits)
      break;
    p.m *= size;
    p.a_row = a_row;
    p.out_row = out_row;
    for (Dims* dims : {&p.batch, &p.a_batch, &p.b_batch, &p.out_batch}) dims->resize(last);
  }
  return p;
}

namespace {

/// Splits a dimension of `size` into `count` nearly equal parts of at most about `wanted` elements,
/// the last perhaps shorter.
struct Cut {
  int64_t size, part, count;
  Cut(int64_t n, int64_t wanted) : size(n) {
    constexpr int64_t kStep = 32;
    int64_t parts = (n + wanted - 1) / wanted;
    part = parts == 1 ? n : ((n + parts - 1) / parts + kStep - 1) / kStep * kStep;
    count = (n + part - 1) / part;
  }
  int64_t begin(int64_t i) const { return i * part; }
  int64_t length(int64_t i) const { return std::min(part, size - i * part); }
};

/// Work in streamed elements, for the launch layer.
double cost_of(double flops) { return flops / 16; }

/// The product of one dtype float or double whose operands are where `a`, `b` and `out` say.
template <class T>
struct Operands {
  const T* a;
  const T* b;
  T* out;
  T alpha;
  bool accumulate;
  const T* bias;
};

template <class T>
void set_rows(T* out, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t columns,
              const T* bias) {
  for (int64_t i = 0; i < rows; ++i) {
    T* line = out + i * row_stride;
    if (col_stride == 1) {
      std::memcpy(line, bias, static_cast<size_t>(columns) * sizeof(T));
    } else {
      for (int64_t j = 0; j < columns; ++j) line[j * col_stride] = bias[j];
    }
  }
}

/// Tiles of out: large enough for a library to run at full speed, larger where there is plenty, and
/// all of it where the product is too small to share.
struct Tiling {
  Cut rows, columns;
  int64_t tiles_per_block;

  Tiling(int64_t m, int64_t n, int64_t k)
      : rows(m, share(m, n, k) ? (m >= 1024  ? 512
                                  : m >= 512 ? 256
                                             : 128)
                               : m),
        columns(n, share(m, n, k) ? (m >= 512 ? 1024 : 512) : n) {
    constexpr int64_t kBlockFlops = int64_t{1} << 20;
    tiles_per_block =
        std::max<int64_t>(1, kBlockFlops / std::max<int64_t>(1, 2 * rows.part * columns.part * k));
  }

  static bool share(int64_t m, int64_t n, int64_t k) {
    return m * n >= (int64_t{1} << 22) / std::max<int64_t>(k, 1);
  }
};

template <class T>
void run_tiles(Device device, const MatmulProblem& p, const Operands<T>& o, const Layout& a,
               const Layout& b) {
  Tiling tiling(p.m, p.n, p.k);
  int64_t per_matrix = tiling.rows.count * tiling.columns.count;
  double flops = 2.0 * static_cast<double>(tiling.rows.part) *
                 static_cast<double>(tiling.columns.part) * static_cast<double>(p.k);
  LaunchShape shape{p.batches() * per_matrix, tiling.tiles_per_block, cost_of(flops)};
  parallel_blocks(device, "farro::matmul", shape, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      auto at = p.offsets(t / per_matrix);
      int64_t r = t % per_matrix / tiling.columns.count, c = t % tiling.columns.count;
      int64_t i = tiling.rows.begin(r), j = tiling.columns.begin(c);
      HostGemm<T> g{.m = tiling.rows.length(r),
                    .n = tiling.columns.length(c),
                    .k = p.k,
                    .alpha = o.alpha,
                    .a = o.a + at.a + (a.trans ? i : i * a.ld),
                    .lda = a.ld,
                    .trans_a = a.trans,
                    .b = o.b + at.b + (b.trans ? j * b.ld : j),
                    .ldb = b.ld,
                    .trans_b = b.trans,
                    .accumulate = o.accumulate || o.bias,
                    .c = o.out + at.out + i * p.out_row + j,
                    .ldc = p.m == 1 ? p.n : p.out_row};
      if (o.bias) set_rows(g.c, g.ldc, int64_t{1}, g.m, g.n, o.bias + j);
      host_gemm(g);
    }
  });
}

/// A product with a vector, out [m] = a [m, k] x [k], in blocks of rows.
template <class T>
void run_vector(Device device, const MatmulProblem& p, const Operands<T>& o, const Layout& a) {
  constexpr int64_t kBlockElements = 65536;
  Cut rows(p.m, std::max<int64_t>(16, kBlockElements / std::max<int64_t>(p.k, 1)));
  int64_t cost = rows.part * p.k;
  LaunchShape shape{p.batches() * rows.count, std::max<int64_t>(1, 16384 / cost),
                    static_cast<double>(cost)};
  parallel_blocks(device, "farro::matmul_vector", shape, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      auto at = p.offsets(t / rows.count);
      int64_t i = rows.begin(t % rows.count);
      T* y = o.out + at.out + i * p.out_row;
      host_gemv(HostGemv<T>{.m = rows.length(t % rows.count),
                            .k = p.k,
                            .alpha = o.alpha,
                            .a = o.a + at.a + (a.trans ? i : i * a.ld),
                            .lda = a.ld,
                            .trans = a.trans,
                            .x = o.b + at.b,
                            .incx = p.b_row,
                            .accumulate = o.accumulate,
                            .y = y,
                            .incy = p.out_row});
    }
  });
}

/// A long dot product: partial sums of fixed length, added in a tree.
template <class T>
void run_dot(Device device, const MatmulProblem& p, const Operands<T>& o, int64_t part) {
  Cut depth(p.k, part);
  Scratch partials(static_cast<size_t>(depth.count) * sizeof(T));
  T* sums = partials.as<T>();
  for (int64_t batch = 0; batch < p.batches(); ++batch) {
    auto at = p.offsets(batch);
    parallel_blocks(device, "farro::dot", {depth.count, 1, static_cast<double>(part)},
                    [&](int64_t begin, int64_t end) {
                      for (int64_t d = begin; d < end; ++d) {
                        host_gemv(HostGemv<T>{.m = 1,
                                              .k = depth.length(d),
                                              .alpha = T(1),
                                              .a = o.a + at.a + depth.begin(d),
                                              .lda = depth.length(d),
                                              .trans = false,
                                              .x = o.b + at.b + depth.begin(d) * p.b_row,
                                              .incx = p.b_row,
                                              .accumulate = false,
                                              .y = sums + d,
                                              .incy = 1});
                      }
                    });
    sum_partials(device, depth.count, 1, [sums](int64_t i) { return sums + i; });
    T* out = o.out + at.out;
    *out = o.alpha * sums[0] + (o.accumulate ? *out : T(0));
  }
}

void transpose(MatmulProblem& p) {
  std::swap(p.m, p.n);
  std::swap(p.a_batch, p.b_batch);
  std::swap(p.a_row, p.b_col);
  std::swap(p.a_col, p.b_row);
  std::swap(p.out_row, p.out_col);
}

/// Makes contiguous what a library can't take, and runs. out's rows or columns lie together.
template <class T>
void run_host(const ArrayView& out, const ArrayView& a, const ArrayView& b,
              const MatmulOptions& options) {
  constexpr int64_t kLongDot = 16384;
  MatmulProblem p = make_matmul_problem(out, a, b);
  Operands<T> o{a.as<T>(),          b.as<T>(),
                out.as<T>(),        static_cast<T>(options.alpha),
                options.accumulate, options.bias ? options.bias->as<T>() : nullptr};
  bool vector = p.m == 1 || p.n == 1;
  if (vector && o.bias) {
    for (int64_t i = 0; i < p.batches(); ++i)
      set_rows(o.out + p.offsets(i).out, p.out_row, p.out_col, p.m, p.n, o.bias);
    o.accumulate = true;
    o.bias = nullptr;
  }
  bool turn = vector ? p.m == 1 && p.n != 1 : !rows_are_lines(p.m, p.n, p.out_row, p.out_col);
  if (turn) {
    transpose(p);
    std::swap(o.a, o.b);
  }
  Layout left(p.m, p.k, p.a_row, p.a_col), right(p.k, p.n, p.b_row, p.b_col);
  if (!vector) return run_tiles<T>(out.device, p, o, left, right);
  if (p.m == 1 && p.k > kLongDot && !left.trans) return run_dot<T>(out.device, p, o, kLongDot);
  run_vector<T>(out.device, p, o, left);
}

/// A view of the same sizes whose memory a library can take: v itself, or a copy (in `dtype`) held
/// by `keep`.
ArrayView usable(const ArrayView& v, DType dtype, Scratch& keep) {
  int last = v.ndim() - 1;
  if (v.dtype == dtype &&
      Layout(v.sizes[last - 1], v.sizes[last], v.strides[last - 1], v.strides[last]).fits)
    return v;
  // Expanded dimensions are copied once.
  ArrayView from = v, to = v;
  for (int d = 0; d < last - 1; ++d) {
    if (v.strides[d] == 0) from.sizes[d] = 1;
  }
  to.sizes = from.sizes;
  to.dtype = dtype;
  to.strides = contiguous_strides(to.sizes);
  keep = Scratch(static_cast<size_t>(to.numel()) * size_of(dtype));
  to.data = keep.as<void>();
  copy(to, from);
  return to;
}

void run_host(const ArrayView& out, const ArrayView& a, const ArrayView& b,
              const MatmulOptions& options) {
  DType dtype = compute_dtype(out.dtype);
  int last = out.ndim() - 1;
  int64_t m = out.sizes[last - 1], n = out.sizes[last];
  bool direct = rows_are_lines(m, n, out.strides[last - 1], out.strides[last]) ||
                (!options.bias && rows_are_lines(n, m, out.strides[last], out.strides[last - 1]));
  Scratch keep_a, keep_b, keep_out, keep_bias;
  ArrayView left = usable(a, dtype, keep_a), right = usable(b, dtype, keep_b), target = out, bias;
  MatmulOptions converted = options;
  if (options.bias && options.bias->dtype != dtype) {
    bias = *options.bias;
    bias.dtype = dtype;
    keep_bias = Scratch(static_cast<size_t>(n) * size_of(dtype));
    bias.data = keep_bias.as<void>();
    copy(bias, *options.bias);
    converted.bias = &bias;
  }
  if (!direct || out.dtype != dtype) {
    target.dtype = dtype;
    target.strides = contiguous_strides(out.sizes);
    keep_out = Scratch(static_cast<size_t>(out.numel()) * size_of(dtype));
    target.data = keep_out.as<void>();
    if (options.accumulate) copy(target, out);
  }
  dtype == kFloat64 ? run_host<double>(target, left, right, converted)
                    : run_host<float>(target, left, right, converted);
  if (target.data != out.data) copy(out, target);
}

/// What most products of networks are: matrices that lie as a library takes them, too small to
/// share. False if not so.
template <class T>
bool run_single(const ArrayView& out, const ArrayView& a, const ArrayView& b,
                const MatmulOptions& options) {
  int64_t m = out.sizes[0], n = out.sizes[1], k = a.sizes[1];
  if (m == 1 || n == 1 || Tiling::share(m, n, k)) return false;
  Layout left(m, k, a.strides[0], a.strides[1]), right(k, n, b.strides[0], b.strides[1]);
  if (!left.fits || !right.fits || !rows_are_lines(m, n, out.strides[0], out.strides[1]))
    return false;
  HostGemm<T> g{.m = m,
                .n = n,
                .k = k,
                .alpha = static_cast<T>(options.alpha),
                .a = a.as<T>(),
                .lda = left.ld,
                .trans_a = left.trans,
                .b = b.as<T>(),
                .ldb = right.ld,
                .trans_b = right.trans,
                .accumulate = options.accumulate || options.bias,
                .c = out.as<T>(),
                .ldc = out.strides[0]};
  const T* bias = options.bias ? options.bias->as<T>() : nullptr;
  parallel_blocks(out.device, "farro::matmul", {1, 1, 1}, [&](int64_t, int64_t) {
    if (bias) set_rows(g.c, g.ldc, int64_t{1}, g.m, g.n, bias);
    host_gemm(g);
  });
  return true;
}

}  // namespace

void matmul(const ArrayView& out, const ArrayView& a, const ArrayView& b,
            const MatmulOptions& options) {
  if (out.numel() == 0) return;
  bool empty = a.sizes[a.ndim() - 1] == 0;
  if (!out.device.is_host() || use_reference_kernels() || !is_floating_point(out.dtype) || empty) {
    plain_matmul(make_matmul_problem(out, a, b), out, a, b, options.alpha, options.accumulate,
                 options.bias);
    return;
  }
  if (out.ndim() == 2 &&
      (out.dtype == kFloat32 ? run_single<float>(out, a, b, options)
                             : out.dtype == kFloat64 && run_single<double>(out, a, b, options))) {
    return;
  }
  run_host(out, a, b, options);
}

}  // namespace farro::kernels
