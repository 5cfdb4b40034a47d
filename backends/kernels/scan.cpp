#include <farro/backends/kernels/scan.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/runs.hpp>
#include <farro/backends/launch.hpp>

#include <algorithm>

namespace farro::kernels {
namespace {

/// The lines of an array along one dimension.
struct Lines {
  Walk starts;
  int64_t stride = 1;
  void* data;
  DType dtype;

  Lines(const ArrayView& view, int dim) : data(view.data), dtype(view.dtype) {
    Dims sizes = view.sizes, strides = view.strides;
    if (view.ndim() > 0) {
      stride = strides[dim];
      sizes.erase(dim);
      strides.erase(dim);
    }
    // Not merged: inputs and outputs are walked by the same numbers.
    starts.sizes = sizes;
    starts.strides = strides;
  }
};

struct AddTo {
  template <class T>
  FARRO_FUNCTION T operator()(T a, T b) const {
    return a + b;
  }
};
struct MultiplyTo {
  template <class T>
  FARRO_FUNCTION T operator()(T a, T b) const {
    return a * b;
  }
};

/// One line: running results of T.
template <class T, class Combine>
struct ScanLine {
  Lines out, in;
  int64_t n;
  bool reverse;
  FARRO_FUNCTION void operator()(int64_t line) const {
    int64_t to = out.starts.offset(line), from = in.starts.offset(line);
    T total = T(0);
    for (int64_t k = 0; k < n; ++k) {
      int64_t i = reverse ? n - 1 - k : k;
      T x = load_as<T>(in.data, in.dtype, from + i * in.stride);
      total = k == 0 ? x : Combine()(total, x);
      store_as(out.data, out.dtype, to + i * out.stride, total);
    }
  }
};

template <class T>
struct ScanExtremum {
  Lines out, indices, in;
  int64_t n;
  bool largest;
  FARRO_FUNCTION void operator()(int64_t line) const {
    int64_t to = out.starts.offset(line), from = in.starts.offset(line),
            index = indices.starts.offset(line), at = 0;
    T best = T(0);
    for (int64_t i = 0; i < n; ++i) {
      T x = load_as<T>(in.data, in.dtype, from + i * in.stride);
      if (i == 0 || x != x || (best == best && (largest ? x >= best : x <= best))) {
        best = x;
        at = i;
      }
      store_as(out.data, out.dtype, to + i * out.stride, best);
      static_cast<int64_t*>(indices.data)[index + i * indices.stride] = at;
    }
  }
};

int64_t line_length(const ArrayView& view, int dim) {
  return view.ndim() == 0 ? 1 : view.sizes[dim];
}

/// Calls f.operator()<T>() for the type in which running results are kept.
template <class F>
void with_wide(DType dtype, const F& f) {
  if (is_floating_point(dtype)) {
    f.template operator()<double>();
  } else {
    f.template operator()<int64_t>();
  }
}

template <class Combine>
void scan(const char* label, const ArrayView& out, const ArrayView& in, int dim, bool reverse) {
  if (in.numel() == 0) return;
  int64_t n = line_length(in, dim);
  with_wide(in.dtype, [&]<class T>() {
    for_each(in.device, label, in.numel() / n,
             ScanLine<T, Combine>{Lines(out, dim), Lines(in, dim), n, reverse},
             static_cast<double>(n) * 4);
  });
}

}  // namespace

void cumsum(const ArrayView& out, const ArrayView& in, int dim, bool reverse) {
  scan<AddTo>("farro::cumsum", out, in, dim, reverse);
}

void cumprod(const ArrayView& out, const ArrayView& in, int dim) {
  scan<MultiplyTo>("farro::cumprod", out, in, dim, false);
}

void cumextremum(const ArrayView& out, const ArrayView& indices, const ArrayView& in, int dim,
                 bool largest) {
  if (in.numel() == 0) return;
  int64_t n = line_length(in, dim);
  with_wide(in.dtype, [&]<class T>() {
    for_each(in.device, largest ? "farro::cummax" : "farro::cummin", in.numel() / n,
             ScanExtremum<T>{Lines(out, dim), Lines(indices, dim), Lines(in, dim), n, largest},
             static_cast<double>(n) * 4);
  });
}

}  // namespace farro::kernels
