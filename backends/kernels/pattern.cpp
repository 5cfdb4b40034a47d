#include <farro/backends/kernels/pattern.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/runs.hpp>
#include <farro/backends/launch.hpp>

namespace farro::kernels {
namespace {

template <class T>
struct ArangeElement {
  void* to;
  DType dtype;
  Walk walk;
  T start, step;
  FARRO_FUNCTION void operator()(int64_t i) const {
    store_as(to, dtype, walk.offset(i), static_cast<T>(start + static_cast<T>(i) * step));
  }
};

struct LinspaceElement {
  void* to;
  DType dtype;
  Walk walk;
  double start, stop, step;
  int64_t n;
  FARRO_FUNCTION void operator()(int64_t i) const {
    double value = i < n / 2 ? start + step * static_cast<double>(i)
                             : stop - step * static_cast<double>(n - 1 - i);
    store_as(to, dtype, walk.offset(i), value);
  }
};

template <class T>
struct TriangleElement {
  void* to;
  const void* from;
  DType dtype;
  Walk out, in;
  int64_t rows, columns, diagonal;
  bool upper;
  FARRO_FUNCTION void operator()(int64_t i) const {
    int64_t distance = i % columns - i / columns % rows;
    bool keep = upper ? distance >= diagonal : distance <= diagonal;
    store_as(to, dtype, out.offset(i), keep ? load_as<T>(from, dtype, in.offset(i)) : T(0));
  }
};

}  // namespace

void arange(const ArrayView& to, double start, double step) {
  for_each(to.device, "farro::arange", to.numel(),
           ArangeElement<double>{to.data, to.dtype, Walk(to.sizes, to.strides), start, step});
}

void arange(const ArrayView& to, int64_t start, int64_t step) {
  for_each(to.device, "farro::arange", to.numel(),
           ArangeElement<int64_t>{to.data, to.dtype, Walk(to.sizes, to.strides), start, step});
}

void linspace(const ArrayView& to, double start, double stop) {
  int64_t n = to.numel();
  double step = n > 1 ? (stop - start) / static_cast<double>(n - 1) : 0;
  // A single number is the start.
  for_each(to.device, "farro::linspace", n,
           LinspaceElement{to.data, to.dtype, Walk(to.sizes, to.strides), start,
                           n > 1 ? stop : start, step, n});
}

void triangle(const ArrayView& to, const ArrayView& from, int64_t diagonal, bool upper) {
  int d = to.ndim();
  dispatch_dtype("triangle", compute_dtype(to.dtype), kComputeScalars, [&]<class T>() {
    for_each(to.device, "farro::triangle", to.numel(),
             TriangleElement<T>{to.data, from.data, to.dtype, Walk(to.sizes, to.strides),
                                Walk(from.sizes, from.strides), to.sizes[d - 2], to.sizes[d - 1],
                                diagonal, upper});
  });
}

}  // namespace farro::kernels
