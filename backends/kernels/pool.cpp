#include <farro/backends/kernels/pool_window.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/lanes.hpp>
#include <farro/backends/launch.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace farro::kernels {
namespace {

/// The windows of all outputs along each dimension.
struct Windows {
  explicit Windows(const PoolShape& shape) {
    for (size_t d = 0; d < 3; ++d) {
      along[d].reserve(static_cast<size_t>(shape.out[d]));
      for (int64_t o = 0; o < shape.out[d]; ++o) along[d].push_back(pool_window(shape, static_cast<int>(d), o));
    }
  }
  /// Calls f(output, window, window, window) for the outputs of a plane.
  template <class F>
  void for_each_output(const F& f) const {
    int64_t o = 0;
    for (const PoolWindow& a : along[0]) {
      for (const PoolWindow& b : along[1]) {
        for (const PoolWindow& c : along[2]) f(o++, a, b, c);
      }
    }
  }
  std::array<std::vector<PoolWindow>, 3> along;
};

/// Calls f(place in the plane) for the inputs of a window, in row-major order.
template <class F>
FARRO_INLINE void for_window(const PoolShape& s, const PoolWindow& a, const PoolWindow& b, const PoolWindow& c, const F& f) {
  for (int64_t i = a.begin; i < a.end; i += a.step) {
    for (int64_t j = b.begin; j < b.end; j += b.step) {
      int64_t row = (i * s.in[1] + j) * s.in[2];
      for (int64_t k = c.begin; k < c.end; k += c.step) f(row + k);
    }
  }
}

template <class T>
void max_plane(const PoolShape& shape, const Windows& windows, const T* x, T* y, int64_t* index) {
  windows.for_each_output([&](int64_t o, const PoolWindow& a, const PoolWindow& b, const PoolWindow& c) {
    int64_t place = (a.begin * shape.in[1] + b.begin) * shape.in[2] + c.begin;
    T best = -std::numeric_limits<T>::infinity();
    for_window(shape, a, b, c, [&](int64_t i) {
      bool take = x[i] > best || x[i] != x[i];
      best = take ? x[i] : best;
      place = take ? i : place;
    });
    y[o] = best;
    index[o] = place;
  });
}

/// Runs body(plane, input or its gradient, output or its gradient) over planes; an array of another dtype than T is
/// converted before (`reads`) or after (`writes`).
struct PlaneArray {
  void* data;
  DType dtype;
  int64_t size;
  bool writes;
};

template <class T, class Body>
void for_planes(Device device, const char* label, int64_t planes, PlaneArray a, PlaneArray b, double cost, const Body& body) {
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(4096 / std::max(cost, 1.0)));
  parallel_blocks(device, label, {planes, grain, cost}, [&](int64_t begin, int64_t end) {
    bool native = a.dtype == dtype_of<T>;
    AlignedBuffer<T> a_buffer(native ? 0 : a.size), b_buffer(native ? 0 : b.size);
    auto get = [native](const PlaneArray& array, int64_t plane, T* buffer) {
      void* from = at(array.data, array.dtype, plane * array.size);
      if (native) return static_cast<T*>(from);
      if (!array.writes) read_strided(from, array.dtype, 1, array.size, buffer);
      return buffer;
    };
    auto put = [native](const PlaneArray& array, int64_t plane, const T* buffer) {
      if (native || !array.writes) return;
      write_strided(at(array.data, array.dtype, plane * array.size), array.dtype, 1, array.size, buffer);
    };
    for (int64_t plane = begin; plane < end; ++plane) {
      T* pa = get(a, plane, a_buffer.data);
      T* pb = get(b, plane, b_buffer.data);
      body(plane, pa, pb);
      put(a, plane, pa);
      put(b, plane, pb);
    }
  });
}

double window_cost(const PoolShape& s) {
  return static_cast<double>(s.out_size() * (s.kernel[0] * s.kernel[1] * s.kernel[2] + 2));
}

template <class F>
void with_compute(DType dtype, const F& f) {
  dispatch_dtype("pool", compute_dtype(dtype), kComputeFloats, f);
}

bool reference(Device device) { return use_reference_kernels() || !device.is_host(); }

}  // namespace

int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0 && !(ceil_mode && room + stride > 0)) return 0;
  int64_t count = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (count - 1) * stride >= in + padding) --count;
  return count;
}

void max_pool(const ArrayView& out, const ArrayView& indices, const ArrayView& in, const PoolShape& shape) {
  if (reference(in.device)) return max_pool_reference(out, indices, in, shape);
  Windows windows(shape);
  with_compute(in.dtype, [&]<class T>() {
    for_planes<T>(in.device, "farro::max_pool", shape.planes, {in.data, in.dtype, shape.in_size(), false},
                  {out.data, out.dtype, shape.out_size(), true}, window_cost(shape), [&](int64_t plane, const T* x, T* y) {
                    max_plane(shape, windows, x, y, indices.as<int64_t>() + plane * shape.out_size());
                  });
  });
}

void max_pool_backward(const ArrayView& grad_in, const ArrayView& grad_out, const ArrayView& indices,
                       const PoolShape& shape) {
  if (reference(grad_out.device)) return max_pool_backward_reference(grad_in, grad_out, indices, shape);
  with_compute(grad_out.dtype, [&]<class T>() {
    for_planes<T>(grad_out.device, "farro::max_pool_backward", shape.planes,
                  {grad_out.data, grad_out.dtype, shape.out_size(), false},
                  {grad_in.data, grad_in.dtype, shape.in_size(), true},
                  static_cast<double>(shape.in_size() + shape.out_size()), [&](int64_t plane, const T* g, T* gx) {
                    const int64_t* index = indices.as<int64_t>() + plane * shape.out_size();
                    std::fill_n(gx, shape.in_size(), T(0));
                    for (int64_t o = 0; o < shape.out_size(); ++o) gx[index[o]] += g[o];
                  });
  });
}

void max_pool_gather(const ArrayView& out, const ArrayView& in, const ArrayView& indices, const PoolShape& shape) {
  if (reference(in.device)) return max_pool_gather_reference(out, in, indices, shape);
  with_compute(in.dtype, [&]<class T>() {
    for_planes<T>(in.device, "farro::max_pool_gather", shape.planes, {in.data, in.dtype, shape.in_size(), false},
                  {out.data, out.dtype, shape.out_size(), true}, static_cast<double>(shape.out_size()),
                  [&](int64_t plane, const T* x, T* y) {
                    const int64_t* index = indices.as<int64_t>() + plane * shape.out_size();
                    for (int64_t o = 0; o < shape.out_size(); ++o) y[o] = x[index[o]];
                  });
  });
}

void avg_pool(const ArrayView& out, const ArrayView& in, const PoolShape& shape) {
  if (reference(in.device)) return avg_pool_reference(out, in, shape);
  Windows windows(shape);
  with_compute(in.dtype, [&]<class T>() {
    for_planes<T>(in.device, "farro::avg_pool", shape.planes, {in.data, in.dtype, shape.in_size(), false},
                  {out.data, out.dtype, shape.out_size(), true}, window_cost(shape), [&](int64_t, const T* x, T* y) {
                    windows.for_each_output([&](int64_t o, const PoolWindow& a, const PoolWindow& b, const PoolWindow& c) {
                      T sum = T(0);
                      for_window(shape, a, b, c, [&](int64_t i) { sum += x[i]; });
                      bool empty = a.end <= a.begin || b.end <= b.begin || c.end <= c.begin;
                      y[o] = empty ? T(0) : sum / static_cast<T>(pool_divisor(shape, a, b, c));
                    });
                  });
  });
}

void avg_pool_backward(const ArrayView& grad_in, const ArrayView& grad_out, const PoolShape& shape) {
  if (reference(grad_out.device)) return avg_pool_backward_reference(grad_in, grad_out, shape);
  Windows windows(shape);
  with_compute(grad_out.dtype, [&]<class T>() {
    for_planes<T>(grad_out.device, "farro::avg_pool_backward", shape.planes,
                  {grad_out.data, grad_out.dtype, shape.out_size(), false},
                  {grad_in.data, grad_in.dtype, shape.in_size(), true}, window_cost(shape),
                  [&](int64_t, const T* g, T* gx) {
                    std::fill_n(gx, shape.in_size(), T(0));
                    windows.for_each_output([&](int64_t o, const PoolWindow& a, const PoolWindow& b, const PoolWindow& c) {
                      if (a.end <= a.begin || b.end <= b.begin || c.end <= c.begin) return;
                      T value = g[o] / static_cast<T>(pool_divisor(shape, a, b, c));
                      for_window(shape, a, b, c, [&](int64_t i) { gx[i] += value; });
                    });
                  });
  });
}

}  // namespace farro::kernels
