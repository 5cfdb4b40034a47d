#include <farro/backends/kernels/pool_window.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/lanes.hpp>
#include <farro/backends/launch.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace farro::kernels {
namespace {

/// The inputs that a row of outputs reads through one column of the kernel: output o in [begin,
/// end) reads the input o * stride + shift of the row.
struct Column {
  int64_t begin, end, shift;
};

Column column(const PoolShape& s, int64_t k) {
  int64_t shift = k * s.dilation[2] - s.padding[2], stride = s.stride[2];
  int64_t begin = shift < 0 ? (-shift + stride - 1) / stride : 0, room = s.in[2] - 1 - shift;
  return {begin, room < 0 ? begin : std::max(begin, std::min(s.out[2], room / stride + 1)), shift};
}

/// Calls f(output, input) for each row of a plane's outputs and each row of inputs that it reads,
/// the places of the rows' first elements in their planes, in row-major order. Before, calls
/// `start(output, a, b)` with the row's windows.
template <class Start, class F>
FARRO_INLINE void for_rows(const PoolShape& s, const Start& start, const F& f) {
  for (int64_t row = 0; row < s.out[0] * s.out[1]; ++row) {
    PoolWindow a = pool_window(s, 0, row / s.out[1]), b = pool_window(s, 1, row % s.out[1]);
    start(row * s.out[2], a, b);
    for (int64_t i = a.begin; i < a.end; i += a.step) {
      for (int64_t j = b.begin; j < b.end; j += b.step)
        f(row * s.out[2], (i * s.in[1] + j) * s.in[2]);
    }
  }
}

/// Calls f with the stride as a constant where it is a usual one, which lets the loop over a row
/// use SIMD.
template <class F>
FARRO_INLINE void with_stride(int64_t stride, const F& f) {
  if (stride == 1) return f(std::integral_constant<int64_t, 1>());
  if (stride == 2) return f(std::integral_constant<int64_t, 2>());
  f(stride);
}

template <class T>
void max_plane(const PoolShape& s, const T* x, T* y, int64_t* index) {
  auto start = [&](int64_t out, const PoolWindow& a, const PoolWindow& b) {
    int64_t row = (a.begin * s.in[1] + b.begin) * s.in[2];
    for (int64_t o = 0; o < s.out[2]; ++o) {
      y[out + o] = -std::numeric_limits<T>::infinity();
      index[out + o] = row + pool_window(s, 2, o).begin;
    }
  };
  with_stride(s.stride[2], [&](auto stride) {
    for_rows(s, start, [&](int64_t out, int64_t in) {
      for (int64_t k = 0; k < s.kernel[2]; ++k) {
        Column c = column(s, k);
        for (int64_t o = c.begin; o < c.end; ++o) {
          int64_t from = in + c.shift + o * stride;
          bool take = x[from] > y[out + o] || x[from] != x[from];
          y[out + o] = take ? x[from] : y[out + o];
          index[out + o] = take ? from : index[out + o];
        }
      }
    });
  });
}

/// Divides the outputs of a row by their windows' divisors; 0 where a window holds no input.
template <class T>
void divide_row(const PoolShape& s, const PoolWindow& a, const PoolWindow& b, const T* from,
                T* to) {
  for (int64_t o = 0; o < s.out[2]; ++o) {
    PoolWindow c = pool_window(s, 2, o);
    bool empty = a.end <= a.begin || b.end <= b.begin || c.end <= c.begin;
    to[o] = empty ? T(0) : from[o] / static_cast<T>(pool_divisor(s, a, b, c));
  }
}

template <class T>
void avg_plane(const PoolShape& s, const T* x, T* y) {
  std::fill_n(y, s.out_size(), T(0));
  with_stride(s.stride[2], [&](auto stride) {
    for_rows(
        s, [](auto...) {},
        [&](int64_t out, int64_t in) {
          for (int64_t k = 0; k < s.kernel[2]; ++k) {
            Column c = column(s, k);
            for (int64_t o = c.begin; o < c.end; ++o) y[out + o] += x[in + c.shift + o * stride];
          }
        });
  });
  auto divide = [&](int64_t out, const PoolWindow& a, const PoolWindow& b) {
    divide_row(s, a, b, y + out, y + out);
  };
  for_rows(s, divide, [](auto...) {});
}

template <class T>
void avg_plane_backward(const PoolShape& s, const T* g, T* gx, T* shares) {
  std::fill_n(gx, s.in_size(), T(0));
  auto start = [&](int64_t out, const PoolWindow& a, const PoolWindow& b) {
    divide_row(s, a, b, g + out, shares);
  };
  with_stride(s.stride[2], [&](auto stride) {
    for_rows(s, start, [&](int64_t, int64_t in) {
      // From the last column: an input meets its outputs in row-major order, as in the reference.
      for (int64_t k = s.kernel[2]; k-- > 0;) {
        Column c = column(s, k);
        for (int64_t o = c.begin; o < c.end; ++o) gx[in + c.shift + o * stride] += shares[o];
      }
    });
  });
}

/// Runs body(plane, input or its gradient, output or its gradient) over planes; an array of another
/// dtype than T is converted before (`reads`) or after (`writes`).
struct PlaneArray {
  void* data;
  DType dtype;
  int64_t size;
  bool writes;
};

template <class T, class Body>
void for_planes(Device device, const char* label, int64_t planes, PlaneArray a, PlaneArray b,
                double cost, const Body& body) {
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
      write_strided(at(array.data, array.dtype, plane * array.size), array.dtype, 1, array.size,
                    buffer);
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

int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode) {
  int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0 && !(ceil_mode && room + stride > 0)) return 0;
  int64_t count = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (count - 1) * stride >= in + padding) --count;
  return count;
}

void max_pool(const ArrayView& out, const ArrayView& indices, const ArrayView& in,
              const PoolShape& shape) {
  if (reference(in.device)) return max_pool_reference(out, indices, in, shape);
  with_compute(in.dtype, [&]<class T>() {
    for_planes<T>(in.device, "farro::max_pool", shape.planes,
                  {in.data, in.dtype, shape.in_size(), false},
                  {out.data, out.dtype, shape.out_size(), true}, window_cost(shape),
                  [&](int64_t plane, const T* x, T* y) {
                    max_plane(shape, x, y, indices.as<int64_t>() + plane * shape.out_size());
                  });
  });
}

void max_pool_backward(const ArrayView& grad_in, const ArrayView& grad_out,
                       const ArrayView& indices, const PoolShape& shape) {
  if (reference(grad_out.device))
    return max_pool_backward_reference(grad_in, grad_out, indices, shape);
  with_compute(grad_out.dtype, [&]<class T>() {
    for_planes<T>(grad_out.device, "farro::max_pool_backward", shape.planes,
                  {grad_out.data, grad_out.dtype, shape.out_size(), false},
                  {grad_in.data, grad_in.dtype, shape.in_size(), true},
                  static_cast<double>(shape.in_size() + shape.out_size()),
                  [&](int64_t plane, const T* g, T* gx) {
                    const int64_t* index = indices.as<int64_t>() + plane * shape.out_size();
                    std::fill_n(gx, shape.in_size(), T(0));
                    for (int64_t o = 0; o < shape.out_size(); ++o) gx[index[o]] += g[o];
                  });
  });
}

void max_pool_gather(const ArrayView& out, const ArrayView& in, const ArrayView& indices,
                     const PoolShape& shape) {
  if (reference(in.device)) return max_pool_gather_reference(out, in, indices, shape);
  with_compute(in.dtype, [&]<class T>() {
    for_planes<T>(in.device, "farro::max_pool_gather", shape.planes,
                  {in.data, in.dtype, shape.in_size(), false},
                  {out.data, out.dtype, shape.out_size(), true},
                  static_cast<double>(shape.out_size()), [&](int64_t plane, const T* x, T* y) {
                    const int64_t* index = indices.as<int64_t>() + plane * shape.out_size();
                    for (int64_t o = 0; o < shape.out_size(); ++o) y[o] = x[index[o]];
                  });
  });
}

void avg_pool(const ArrayView& out, const ArrayView& in, const PoolShape& shape) {
  if (reference(in.device)) return avg_pool_reference(out, in, shape);
  with_compute(in.dtype, [&]<class T>() {
    for_planes<T>(in.device, "farro::avg_pool", shape.planes,
                  {in.data, in.dtype, shape.in_size(), false},
                  {out.data, out.dtype, shape.out_size(), true}, window_cost(shape),
                  [&](int64_t, const T* x, T* y) { avg_plane(shape, x, y); });
  });
}

void avg_pool_backward(const ArrayView& grad_in, const ArrayView& grad_out,
                       const PoolShape& shape) {
  if (reference(grad_out.device)) return avg_pool_backward_reference(grad_in, grad_out, shape);
  with_compute(grad_out.dtype, [&]<class T>() {
    for_planes<T>(grad_out.device, "farro::avg_pool_backward", shape.planes,
                  {grad_out.data, grad_out.dtype, shape.out_size(), false},
                  {grad_in.data, grad_in.dtype, shape.in_size(), true}, window_cost(shape),
                  [&](int64_t, const T* g, T* gx) {
                    AlignedBuffer<T> shares(shape.out[2]);
                    avg_plane_backward(shape, g, gx, shares.data);
                  });
  });
}

}  // namespace farro::kernels
