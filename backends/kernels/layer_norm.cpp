#include <farro/backends/kernels/norm_job.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/lanes.hpp>
#include <farro/backends/kernels/sum_partials.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>

#include <algorithm>

namespace farro::kernels {
namespace {

template <class T>
const T* run_of(const OptionalArray& array, int64_t offset, int64_t n, T* buffer) {
  return as_run(at(array.data, array.dtype, offset), array.dtype, n, buffer);
}

/// n elements of an array that may be absent, as T.
template <class T>
struct Row {
  Row(const OptionalArray& array, int64_t n, T absent) : storage(n), data(storage.data) {
    if (array.data) {
      read_strided(array.data, array.dtype, 1, n, storage.data);
    } else {
      std::fill_n(storage.data, n, absent);
    }
  }
  AlignedBuffer<T> storage;
  const T* data;
};

template <class T>
void forward_row(const LayerNormJob& job, int64_t r, const T* x, const T* weight, const T* bias,
                 T* y) {
  using One = std::array<Pack<T>, 1>;
  double n = static_cast<double>(job.n);
  LaneSums<T, 1> sum, squares;
  sum.add(
      job.n, [](Pack<T> v) { return One{v}; }, x);
  T mean = static_cast<T>(sum.total(0) / n);
  Pack<T> m(mean);
  squares.add(
      job.n, [m](Pack<T> v) { return One{(v - m) * (v - m)}; }, x);
  T inv_std = static_cast<T>(1 / std::sqrt(squares.total(0) / n + job.eps));
  job.mean.set(r, mean);
  job.inv_std.set(r, inv_std);
  map_row(
      job.n, y,
      [m, s = Pack<T>(inv_std)](Pack<T> v, Pack<T> w, Pack<T> b) { return (v - m) * s * w + b; }, x,
      weight, bias);
}

template <class T>
void backward_row(const LayerNormJob& job, int64_t r, const T* g, const T* x, const T* weight,
                  T* gx) {
  double n = static_cast<double>(job.n);
  T inv_std = job.inv_std.get(r, T(1));
  Pack<T> mean(job.mean.get(r, T(0))), s(inv_std);
  LaneSums<T, 2> sums;
  sums.add(
      job.n,
      [mean, s](Pack<T> gv, Pack<T> xv, Pack<T> w) {
        Pack<T> scaled = gv * w;
        return std::array<Pack<T>, 2>{scaled, scaled * ((xv - mean) * s)};
      },
      g, x, weight);
  Pack<T> a(static_cast<T>(sums.total(0) / n)), b(static_cast<T>(sums.total(1) / n));
  map_row(
      job.n, gx,
      [=](Pack<T> gv, Pack<T> xv, Pack<T> w) { return s * (gv * w - a - (xv - mean) * s * b); }, g,
      x, weight);
}

template <class T>
void add_parameter_gradients(const LayerNormJob& job, int64_t r, const T* g, const T* x,
                             T* weight_sum, T* bias_sum) {
  Pack<T> mean(job.mean.get(r, T(0))), s(job.inv_std.get(r, T(1)));
  map_row(
      job.n, weight_sum,
      [=](Pack<T> sum, Pack<T> gv, Pack<T> xv) { return sum + gv * ((xv - mean) * s); }, weight_sum,
      g, x);
  map_row(
      job.n, bias_sum, [](Pack<T> sum, Pack<T> gv) { return sum + gv; }, bias_sum, g);
}

template <class T>
void forward(Device device, const LayerNormJob& job) {
  Row<T> weight(job.weight, job.n, T(1)), bias(job.bias, job.n, T(0));
  bool native = job.in.dtype == dtype_of<T>;
  int64_t grain = std::max<int64_t>(1, 4096 / job.n);
  parallel_blocks(device, "farro::layer_norm", {job.rows, grain, static_cast<double>(job.n)},
                  [&](int64_t begin, int64_t end) {
                    AlignedBuffer<T> buffer(native ? 0 : job.n);
                    for (int64_t r = begin; r < end; ++r) {
                      const T* x = run_of(job.in, r * job.n, job.n, buffer.data);
                      T* y = native ? static_cast<T*>(job.out.data) + r * job.n : buffer.data;
                      forward_row(job, r, x, weight.data, bias.data, y);
                      if (!native)
                        write_strided(at(job.out.data, job.out.dtype, r * job.n), job.out.dtype, 1,
                                      job.n, y);
                    }
                  });
}

template <class T>
void backward(Device device, const LayerNormJob& job) {
  Row<T> weight(job.weight, job.n, T(1));
  bool native = job.in.dtype == dtype_of<T>,
       parameters = job.grad_weight.data || job.grad_bias.data;
  // Each block of rows has its own sums of parameter gradients.
  int64_t block_rows = std::max<int64_t>(std::max<int64_t>(8, 4096 / job.n), (job.rows + 31) / 32);
  int64_t blocks = (job.rows + block_rows - 1) / block_rows;
  IntrusivePtr<Storage> storage = Storage::allocate(
      parameters ? static_cast<size_t>(blocks * 2 * job.n) * sizeof(T) : 0, device);
  T* partial = static_cast<T*>(storage->data());
  parallel_blocks(
      device, "farro::layer_norm_backward", {job.rows, block_rows, static_cast<double>(job.n) * 2},
      [&](int64_t begin, int64_t end) {
        AlignedBuffer<T> buffer(native ? 0 : job.n), grad_buffer(native ? 0 : job.n),
            result(native ? 0 : job.n);
        T* sums = parameters ? partial + begin / block_rows * 2 * job.n : nullptr;
        if (parameters) std::fill_n(sums, 2 * job.n, T(0));
        for (int64_t r = begin; r < end; ++r) {
          const T* x = run_of(job.in, r * job.n, job.n, buffer.data);
          const T* g = run_of(job.grad_out, r * job.n, job.n, grad_buffer.data);
          if (job.grad_in.data) {
            T* gx = native ? static_cast<T*>(job.grad_in.data) + r * job.n : result.data;
            backward_row(job, r, g, x, weight.data, gx);
            if (!native)
              write_strided(at(job.grad_in.data, job.grad_in.dtype, r * job.n), job.grad_in.dtype,
                            1, job.n, gx);
          }
          if (parameters) add_parameter_gradients(job, r, g, x, sums, sums + job.n);
        }
      });
  if (!parameters) return;
  sum_partials(device, blocks, 2 * job.n, [&](int64_t b) { return partial + b * 2 * job.n; });
  if (job.grad_weight.data)
    write_strided(job.grad_weight.data, job.grad_weight.dtype, 1, job.n, partial);
  if (job.grad_bias.data)
    write_strided(job.grad_bias.data, job.grad_bias.dtype, 1, job.n, partial + job.n);
}

}  // namespace

void layer_norm(const ArrayView& out, const ArrayView& mean, const ArrayView& inv_std,
                const ArrayView& in, const ArrayView* weight, const ArrayView* bias, double eps) {
  int64_t rows = mean.numel();
  LayerNormJob job{
      rows, rows > 0 ? in.numel() / rows : 0, in, out, {}, {}, {}, {}, mean, inv_std, weight, bias,
      eps};
  if (job.rows * job.n == 0) return;
  if (use_reference_kernels() || !in.device.is_host()) return layer_norm_reference(in.device, job);
  dispatch_dtype("layer_norm", compute_dtype(in.dtype), kComputeFloats,
                 [&]<class T>() { forward<T>(in.device, job); });
}

void layer_norm_backward(const ArrayView* grad_in, const ArrayView* grad_weight,
                         const ArrayView* grad_bias, const ArrayView& grad_out, const ArrayView& in,
                         const ArrayView& mean, const ArrayView& inv_std, const ArrayView* weight) {
  int64_t rows = mean.numel();
  LayerNormJob job{rows,
                   rows > 0 ? in.numel() / rows : 0,
                   in,
                   {},
                   grad_out,
                   grad_in,
                   grad_weight,
                   grad_bias,
                   mean,
                   inv_std,
                   weight,
                   {},
                   0};
  if (job.rows * job.n == 0) return;
  if (use_reference_kernels() || !in.device.is_host())
    return layer_norm_backward_reference(in.device, job);
  dispatch_dtype("layer_norm", compute_dtype(in.dtype), kComputeFloats,
                 [&]<class T>() { backward<T>(in.device, job); });
}

}  // namespace farro::kernels
