#include <farro/backends/kernels/pool_window.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>

#include <limits>

namespace farro::kernels {
namespace {

/// The operands of a pooling kernel without their shapes.
struct PoolJob {
  PoolShape shape;
  const void* in;
  void* out;
  int64_t* indices;
  DType dtype;
};

/// The three windows of output `o` of a plane.
struct PoolCell {
  PoolWindow a, b, c;
  FARRO_FUNCTION PoolCell(const PoolShape& s, int64_t o)
      : a(pool_window(s, 0, o / (s.out[1] * s.out[2]))),
        b(pool_window(s, 1, o / s.out[2] % s.out[1])),
        c(pool_window(s, 2, o % s.out[2])) {}
  FARRO_FUNCTION bool empty() const {
    return a.end <= a.begin || b.end <= b.begin || c.end <= c.begin;
  }
};

template <class T>
struct MaxPoolOutput {
  PoolJob job;
  FARRO_FUNCTION void operator()(int64_t item) const {
    const PoolShape& s = job.shape;
    int64_t plane = item / s.out_size() * s.in_size();
    PoolCell w(s, item % s.out_size());
    int64_t place = (w.a.begin * s.in[1] + w.b.begin) * s.in[2] + w.c.begin;
    constexpr T lowest = -std::numeric_limits<T>::infinity();
    T best = lowest;
    for (int64_t i = w.a.begin; i < w.a.end; i += w.a.step) {
      for (int64_t j = w.b.begin; j < w.b.end; j += w.b.step) {
        for (int64_t k = w.c.begin; k < w.c.end; k += w.c.step) {
          int64_t at = (i * s.in[1] + j) * s.in[2] + k;
          T x = load_as<T>(job.in, job.dtype, plane + at);
          if (x > best || x != x) {
            best = x;
            place = at;
          }
        }
      }
    }
    store_as(job.out, job.dtype, item, best);
    job.indices[item] = place;
  }
};

template <class T>
struct AvgPoolOutput {
  PoolJob job;
  FARRO_FUNCTION void operator()(int64_t item) const {
    const PoolShape& s = job.shape;
    int64_t plane = item / s.out_size() * s.in_size();
    PoolCell w(s, item % s.out_size());
    T sum = T(0);
    for (int64_t i = w.a.begin; i < w.a.end; ++i) {
      for (int64_t j = w.b.begin; j < w.b.end; ++j) {
        for (int64_t k = w.c.begin; k < w.c.end; ++k) {
          sum += load_as<T>(job.in, job.dtype, plane + (i * s.in[1] + j) * s.in[2] + k);
        }
      }
    }
    store_as(job.out, job.dtype, item,
             w.empty() ? T(0) : sum / static_cast<T>(pool_divisor(s, w.a, w.b, w.c)));
  }
};

/// One element of the gradient of the input: the windows that hold it, in order.
template <class T, bool Max>
struct PoolGradient {
  PoolJob job;
  FARRO_FUNCTION void operator()(int64_t item) const {
    const PoolShape& s = job.shape;
    int64_t plane = item / s.in_size(), place = item % s.in_size();
    int64_t at[3] = {place / (s.in[1] * s.in[2]), place / s.in[2] % s.in[1], place % s.in[2]};
    int64_t first[3], last[3];
    for (int d = 0; d < 3; ++d) {
      int64_t reach = at[d] + s.padding[d], span = (s.kernel[d] - 1) * s.dilation[d];
      first[d] = reach < span ? 0 : (reach - span + s.stride[d] - 1) / s.stride[d];
      last[d] = reach / s.stride[d] < s.out[d] - 1 ? reach / s.stride[d] : s.out[d] - 1;
    }
    T sum = T(0);
    for (int64_t i = first[0]; i <= last[0]; ++i) {
      for (int64_t j = first[1]; j <= last[1]; ++j) {
        for (int64_t k = first[2]; k <= last[2]; ++k) {
          int64_t o = (i * s.out[1] + j) * s.out[2] + k, place_out = plane * s.out_size() + o;
          T g = load_as<T>(job.in, job.dtype, place_out);
          if (Max) {
            if (job.indices[place_out] == place) sum += g;
          } else {
            PoolCell w(s, o);
            sum += g / static_cast<T>(pool_divisor(s, w.a, w.b, w.c));
          }
        }
      }
    }
    store_as(job.out, job.dtype, item, sum);
  }
};

template <class T>
struct PoolGather {
  PoolJob job;
  FARRO_FUNCTION void operator()(int64_t item) const {
    int64_t plane = item / job.shape.out_size() * job.shape.in_size();
    store_as(job.out, job.dtype, item, load_as<T>(job.in, job.dtype, plane + job.indices[item]));
  }
};

template <template <class> class Functor>
void run(const char* label, const ArrayView& out, const ArrayView& in, const ArrayView* indices,
         const PoolShape& shape, int64_t items) {
  PoolJob job{shape, in.data, out.data, indices ? indices->as<int64_t>() : nullptr, in.dtype};
  double cost = static_cast<double>(shape.kernel[0] * shape.kernel[1] * shape.kernel[2]) * 4;
  dispatch_dtype("pool", compute_dtype(in.dtype), kComputeFloats,
                 [&]<class T>() { for_each(in.device, label, items, Functor<T>{job}, cost); });
}

template <class T>
using MaxGradient = PoolGradient<T, true>;
template <class T>
using AvgGradient = PoolGradient<T, false>;

}  // namespace

void max_pool_reference(const ArrayView& out, const ArrayView& indices, const ArrayView& in,
                        const PoolShape& shape) {
  run<MaxPoolOutput>("farro::max_pool", out, in, &indices, shape, shape.planes * shape.out_size());
}

void max_pool_backward_reference(const ArrayView& grad_in, const ArrayView& grad_out,
                                 const ArrayView& indices, const PoolShape& shape) {
  run<MaxGradient>("farro::max_pool_backward", grad_in, grad_out, &indices, shape,
                   shape.planes * shape.in_size());
}

void max_pool_gather_reference(const ArrayView& out, const ArrayView& in, const ArrayView& indices,
                               const PoolShape& shape) {
  run<PoolGather>("farro::max_pool_gather", out, in, &indices, shape,
                  shape.planes * shape.out_size());
}

void avg_pool_reference(const ArrayView& out, const ArrayView& in, const PoolShape& shape) {
  run<AvgPoolOutput>("farro::avg_pool", out, in, nullptr, shape, shape.planes * shape.out_size());
}

void avg_pool_backward_reference(const ArrayView& grad_in, const ArrayView& grad_out,
                                 const PoolShape& shape) {
  run<AvgGradient>("farro::avg_pool_backward", grad_in, grad_out, nullptr, shape,
                   shape.planes * shape.in_size());
}

}  // namespace farro::kernels
