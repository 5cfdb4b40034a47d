#include <farro/backends/kernels/softmax_job.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/lanes.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/simd_exp.hpp>
#include <farro/backends/simd_log.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace farro::kernels {
namespace {

/// Columns that are worked on together when the dimension is not the innermost.
template <class T>
inline constexpr int64_t kColumns = 64 / sizeof(T);
template <class T>
inline constexpr T kLowest = -std::numeric_limits<T>::infinity();

template <class T>
void softmax_row(T* y, const T* x, int64_t n, bool log) {
  // A NaN may be passed over here: it makes the sum NaN.
  T top = fold_row(
      n, kLowest<T>, Largest(), [](auto v) { return v; }, x);
  Pack<T> t(top);
  if (log) {
    T sum = fold_row(
        n, T(0), Add(), [t](auto v) { return simd::exp(v - t); }, x);
    map_row(
        n, y, [t, l = Pack<T>(std::log(sum))](auto v) { return v - t - l; }, x);
    return;
  }
  T sum = map_and_sum(
      n, y, [t](auto v) { return simd::exp(v - t); }, x);
  map_row(
      n, y, [s = Pack<T>(T(1) / sum)](auto v) { return v * s; }, y);
}

template <class T>
void softmax_backward_row(T* gx, const T* g, const T* y, int64_t n, bool log) {
  if (log) {
    T sum = fold_row(
        n, T(0), Add(), [](auto v) { return v; }, g);
    map_row(
        n, gx, [s = Pack<T>(sum)](auto gv, auto yv) { return gv - simd::exp(yv) * s; }, g, y);
  } else {
    T sum = fold_row(
        n, T(0), Add(), [](auto gv, auto yv) { return gv * yv; }, g, y);
    map_row(
        n, gx, [s = Pack<T>(sum)](auto gv, auto yv) { return yv * (gv - s); }, g, y);
  }
}

/// The same for kColumns columns at once, in place; x is [n, kColumns].
template <class T>
void softmax_tile(T* x, int64_t n, bool log) {
  constexpr int64_t width = kPackSize<T>;
  for (int64_t c = 0; c < kColumns<T>; c += width) {
    T* column = x + c;
    Pack<T> top(kLowest<T>), sum(T(0));
    for (int64_t r = 0; r < n; ++r)
      top = Largest()(top, Pack<T>::load_aligned(column + r * kColumns<T>));
    for (int64_t r = 0; r < n; ++r) {
      T* p = column + r * kColumns<T>;
      Pack<T> e = simd::exp(Pack<T>::load_aligned(p) - top);
      sum += e;
      if (!log) e.store_aligned(p);
    }
    Pack<T> scale = Pack<T>(T(1)) / sum, shift = simd::log(sum);
    for (int64_t r = 0; r < n; ++r) {
      T* p = column + r * kColumns<T>;
      Pack<T> v = Pack<T>::load_aligned(p);
      (log ? v - top - shift : v * scale).store_aligned(p);
    }
  }
}

/// g [n, kColumns] becomes the gradient of the input.
template <class T>
void softmax_backward_tile(T* g, const T* y, int64_t n, bool log) {
  constexpr int64_t width = kPackSize<T>;
  for (int64_t c = 0; c < kColumns<T>; c += width) {
    Pack<T> sum(T(0));
    for (int64_t r = 0; r < n; ++r) {
      Pack<T> gv = Pack<T>::load_aligned(g + c + r * kColumns<T>);
      sum += log ? gv : gv * Pack<T>::load_aligned(y + c + r * kColumns<T>);
    }
    for (int64_t r = 0; r < n; ++r) {
      Pack<T> gv = Pack<T>::load_aligned(g + c + r * kColumns<T>);
      Pack<T> yv = Pack<T>::load_aligned(y + c + r * kColumns<T>);
      (log ? gv - simd::exp(yv) * sum : yv * (gv - sum)).store_aligned(g + c + r * kColumns<T>);
    }
  }
}

template <class T>
void read_tile(const void* data, DType dtype, int64_t base, int64_t inner, int64_t n,
               int64_t columns, T* tile) {
  for (int64_t r = 0; r < n; ++r) {
    T* row = tile + r * kColumns<T>;
    read_strided(at(data, dtype, base + r * inner), dtype, 1, columns, row);
    for (int64_t c = columns; c < kColumns<T>; ++c) row[c] = T(0);
  }
}

template <class T>
void write_tile(void* data, DType dtype, int64_t base, int64_t inner, int64_t n, int64_t columns,
                const T* tile) {
  for (int64_t r = 0; r < n; ++r) {
    write_strided(at(data, dtype, base + r * inner), dtype, 1, columns, tile + r * kColumns<T>);
  }
}

/// Calls body(base, columns) for every tile of columns.
template <class T, class Body>
void for_tiles(Device device, const char* label, const SoftmaxJob& job, const Body& body) {
  int64_t tiles = (job.inner + kColumns<T> - 1) / kColumns<T>;
  parallel_blocks(device, label,
                  {job.outer * tiles, 1, static_cast<double>(job.n * kColumns<T>) * 2},
                  [&](int64_t begin, int64_t end) {
                    AlignedBuffer<T> a(job.n * kColumns<T>), b(job.grad ? job.n * kColumns<T> : 0);
                    for (int64_t item = begin; item < end; ++item) {
                      int64_t column = item % tiles * kColumns<T>;
                      body(item / tiles * job.n * job.inner + column,
                           std::min(kColumns<T>, job.inner - column), a.data, b.data);
                    }
                  });
}

template <class T>
void run_columns(Device device, const char* label, const SoftmaxJob& job) {
  for_tiles<T>(device, label, job, [&](int64_t base, int64_t columns, T* a, T* b) {
    if (job.grad == nullptr) {
      read_tile(job.in, job.dtype, base, job.inner, job.n, columns, a);
      softmax_tile(a, job.n, job.log);
    } else {
      read_tile(job.grad, job.dtype, base, job.inner, job.n, columns, a);
      read_tile(job.in, job.dtype, base, job.inner, job.n, columns, b);
      softmax_backward_tile(a, b, job.n, job.log);
    }
    write_tile(job.out, job.dtype, base, job.inner, job.n, columns, a);
  });
}

template <class T>
void run_rows(Device device, const char* label, const SoftmaxJob& job) {
  int64_t n = job.n, grain = std::max<int64_t>(1, 2048 / n);
  bool native = job.dtype == dtype_of<T>;
  parallel_blocks(device, label, {job.outer, grain, static_cast<double>(n) * 2},
                  [&](int64_t begin, int64_t end) {
                    AlignedBuffer<T> result(native ? 0 : n), first(native ? 0 : n),
                        second(native || !job.grad ? 0 : n);
                    for (int64_t r = begin; r < end; ++r) {
                      const T* x = as_run(at(job.in, job.dtype, r * n), job.dtype, n, first.data);
                      T* y = native ? static_cast<T*>(job.out) + r * n : result.data;
                      if (job.grad == nullptr) {
                        softmax_row(y, x, n, job.log);
                      } else {
                        softmax_backward_row(
                            y, as_run(at(job.grad, job.dtype, r * n), job.dtype, n, second.data), x,
                            n, job.log);
                      }
                      if (!native) write_strided(at(job.out, job.dtype, r * n), job.dtype, 1, n, y);
                    }
                  });
}

void run(Device device, const SoftmaxJob& job) {
  if (job.outer * job.n * job.inner == 0) return;
  const char* label = job.grad
                          ? (job.log ? "farro::log_softmax_backward" : "farro::softmax_backward")
                          : (job.log ? "farro::log_softmax" : "farro::softmax");
  if (use_reference_kernels() || !device.is_host()) {
    softmax_reference(device, label, job);
    return;
  }
  dispatch_dtype("softmax", compute_dtype(job.dtype), kComputeFloats, [&]<class T>() {
    job.inner == 1 ? run_rows<T>(device, label, job) : run_columns<T>(device, label, job);
  });
}

}  // namespace

SoftmaxJob::SoftmaxJob(const ArrayView& out_, const ArrayView& in_, int dim, bool log_)
    : out(out_.data), in(in_.data), dtype(in_.dtype), log(log_) {
  for (int d = 0; d < in_.ndim(); ++d) (d < dim ? outer : d == dim ? n : inner) *= in_.sizes[d];
}

void softmax(const ArrayView& out, const ArrayView& in, int dim, bool log) {
  run(in.device, SoftmaxJob(out, in, dim, log));
}

void softmax_backward(const ArrayView& grad_in, const ArrayView& grad_out, const ArrayView& out,
                      int dim, bool log) {
  SoftmaxJob job(grad_in, out, dim, log);
  job.grad = grad_out.data;
  run(out.device, job);
}

}  // namespace farro::kernels
