#include <farro/backends/kernels/norm_job.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/lanes.hpp>
#include <farro/backends/launch.hpp>

#include <algorithm>

// A channel is read several times while it lies in the cache: for its mean, its variance, its
// result. Where a channel is a run of `length` elements in each sample, work is cut by channels;
// where length is 1, by tiles of channels side by side.

namespace farro::kernels {
namespace {

constexpr int64_t kChunk = 4096;
template <class T>
inline constexpr int64_t kColumns = 64 / sizeof(T);

/// y = x·scale + shift, and its parts in backward: gx = g·scale + (x - mean)·slope + shift
template <class T>
struct Affine {
  T mean, scale, slope, shift;
};

/// The formula of a channel's gradient, from Σ g and Σ g·(x - mean).
template <class T>
Affine<T> finish_backward(const BatchNormJob& job, int64_t c, double sum_g, double sum_gx) {
  double inv_std = job.inv_std.get(c, 1.0), n = static_cast<double>(job.count());
  job.grad_weight.set(c, sum_gx * inv_std);
  job.grad_bias.set(c, sum_g);
  double scale = inv_std * job.weight.get(c, 1.0);
  double slope = job.batch_statistics ? -scale * inv_std * inv_std * sum_gx / n : 0;
  double shift = job.batch_statistics ? -scale * sum_g / n : 0;
  return {job.mean.get(c, T(0)), static_cast<T>(scale), static_cast<T>(slope),
          static_cast<T>(shift)};
}

/// Calls f(element offset, count) for the runs of a channel.
template <class F>
void for_runs(const BatchNormJob& job, int64_t c, const F& f) {
  for (int64_t s = 0; s < job.samples; ++s) {
    int64_t base = (s * job.channels + c) * job.length;
    for (int64_t i = 0; i < job.length; i += kChunk) f(base + i, std::min(kChunk, job.length - i));
  }
}

template <class T>
const T* run_of(const OptionalArray& array, int64_t offset, int64_t n, T* buffer) {
  return as_run(at(array.data, array.dtype, offset), array.dtype, n, buffer);
}

/// Where a run's results are computed: in place, or in a buffer that is written out afterwards.
template <class T, class F>
void write_result(const OptionalArray& array, int64_t offset, int64_t n, const F& compute) {
  void* to = at(array.data, array.dtype, offset);
  if (array.dtype == dtype_of<T>) {
    compute(static_cast<T*>(to));
  } else {
    alignas(64) T buffer[kChunk];
    compute(buffer);
    write_strided(to, array.dtype, 1, n, buffer);
  }
}

template <class T>
void statistics_of_channel(const BatchNormJob& job, int64_t c) {
  alignas(64) T buffer[kChunk];
  using One = std::array<Pack<T>, 1>;
  LaneSums<T, 1> sum, squares;
  for_runs(job, c, [&](int64_t at, int64_t n) {
    sum.add(
        n, [](Pack<T> x) { return One{x}; }, run_of<T>(job.in, at, n, buffer));
  });
  double count = static_cast<double>(job.count()), mean = sum.total(0) / count;
  Pack<T> m(static_cast<T>(mean));
  for_runs(job, c, [&](int64_t at, int64_t n) {
    squares.add(
        n, [m](Pack<T> x) { return One{(x - m) * (x - m)}; }, run_of<T>(job.in, at, n, buffer));
  });
  job.put_statistics<T>(c, mean, squares.total(0) / count);
}

template <class T>
void apply_to_channel(const BatchNormJob& job, int64_t c) {
  alignas(64) T buffer[kChunk];
  Pack<T> mean(job.mean.get(c, T(0))),
      scale(static_cast<T>(job.inv_std.get(c, 1.0) * job.weight.get(c, 1.0)));
  Pack<T> bias(job.bias.get(c, T(0)));
  for_runs(job, c, [&](int64_t at, int64_t n) {
    const T* x = run_of<T>(job.in, at, n, buffer);
    write_result<T>(job.out, at, n, [&](T* y) {
      map_row(
          n, y, [=](Pack<T> v) { return (v - mean) * scale + bias; }, x);
    });
  });
}

template <class T>
void backward_of_channel(const BatchNormJob& job, int64_t c) {
  alignas(64) T buffer[kChunk], grad_buffer[kChunk];
  Pack<T> mean(job.mean.get(c, T(0)));
  LaneSums<T, 2> sums;
  for_runs(job, c, [&](int64_t at, int64_t n) {
    sums.add(
        n,
        [mean](Pack<T> g, Pack<T> x) {
          return std::array<Pack<T>, 2>{g, g * (x - mean)};
        },
        run_of<T>(job.grad_out, at, n, grad_buffer), run_of<T>(job.in, at, n, buffer));
  });
  Affine<T> a = finish_backward<T>(job, c, sums.total(0), sums.total(1));
  if (job.grad_in.data == nullptr) return;
  Pack<T> scale(a.scale), slope(a.slope), shift(a.shift);
  for_runs(job, c, [&](int64_t at, int64_t n) {
    const T* g = run_of<T>(job.grad_out, at, n, grad_buffer);
    const T* x = run_of<T>(job.in, at, n, buffer);
    write_result<T>(job.grad_in, at, n, [&](T* to) {
      map_row(
          n, to, [=](Pack<T> gv, Pack<T> xv) { return gv * scale + ((xv - mean) * slope + shift); },
          g, x);
    });
  });
}

/// The columns [first, first + columns) of row s, padded to a whole tile.
template <class T>
const T* tile_row(const BatchNormJob& job, const OptionalArray& array, int64_t s, int64_t first,
                  int64_t columns, T* buffer) {
  const void* from = at(array.data, array.dtype, s * job.channels + first);
  if (columns == kColumns<T> && array.dtype == dtype_of<T>) return static_cast<const T*>(from);
  std::fill_n(buffer, kColumns<T>, T(0));
  read_strided(from, array.dtype, 1, columns, buffer);
  return buffer;
}

/// Adds f(row s) over all samples for a tile of columns; f(s, to) gives kColumns values for each of
/// Q sums.
template <class T, int Q, class F>
void sum_columns(int64_t samples, double (&totals)[Q][kColumns<T>], const F& f) {
  for (auto& t : totals) std::fill(std::begin(t), std::end(t), 0.0);
  for (int64_t first = 0; first < samples; first += 128) {
    alignas(64) T sums[Q][kColumns<T>] = {};
    for (int64_t s = first; s < std::min(first + 128, samples); ++s) f(s, sums);
    for (int q = 0; q < Q; ++q) {
      for (int64_t k = 0; k < kColumns<T>; ++k) totals[q][k] += static_cast<double>(sums[q][k]);
    }
  }
}

template <class T>
void write_tile_row(const BatchNormJob& job, const OptionalArray& array, int64_t s, int64_t first,
                    int64_t columns, const T* row) {
  write_strided(at(array.data, array.dtype, s * job.channels + first), array.dtype, 1, columns,
                row);
}

template <class T>
void statistics_of_tile(const BatchNormJob& job, int64_t first, int64_t columns) {
  alignas(64) T buffer[kColumns<T>], mean[kColumns<T>] = {};
  double totals[1][kColumns<T>], means[kColumns<T>], count = static_cast<double>(job.count());
  sum_columns<T, 1>(job.samples, totals, [&](int64_t s, T(&sums)[1][kColumns<T>]) {
    const T* x = tile_row(job, job.in, s, first, columns, buffer);
    for (int64_t k = 0; k < kColumns<T>; ++k) sums[0][k] += x[k];
  });
  for (int64_t k = 0; k < columns; ++k) mean[k] = static_cast<T>(means[k] = totals[0][k] / count);
  sum_columns<T, 1>(job.samples, totals, [&](int64_t s, T(&sums)[1][kColumns<T>]) {
    const T* x = tile_row(job, job.in, s, first, columns, buffer);
    for (int64_t k = 0; k < kColumns<T>; ++k) sums[0][k] += (x[k] - mean[k]) * (x[k] - mean[k]);
  });
  for (int64_t k = 0; k < columns; ++k)
    job.put_statistics<T>(first + k, means[k], totals[0][k] / count);
}

template <class T>
void apply_to_tile(const BatchNormJob& job, int64_t first, int64_t columns) {
  alignas(64) T buffer[kColumns<T>], row[kColumns<T>],
      mean[kColumns<T>] = {}, scale[kColumns<T>] = {}, bias[kColumns<T>] = {};
  for (int64_t k = 0; k < columns; ++k) {
    int64_t c = first + k;
    mean[k] = job.mean.get(c, T(0));
    scale[k] = static_cast<T>(job.inv_std.get(c, 1.0) * job.weight.get(c, 1.0));
    bias[k] = job.bias.get(c, T(0));
  }
  for (int64_t s = 0; s < job.samples; ++s) {
    const T* x = tile_row(job, job.in, s, first, columns, buffer);
    for (int64_t k = 0; k < kColumns<T>; ++k) row[k] = (x[k] - mean[k]) * scale[k] + bias[k];
    write_tile_row(job, job.out, s, first, columns, row);
  }
}

template <class T>
void backward_of_tile(const BatchNormJob& job, int64_t first, int64_t columns) {
  constexpr int64_t width = kColumns<T>;
  alignas(64) T buffer[width], grad_buffer[width], row[width], mean[width] = {}, scale[width] = {},
                                                               slope[width] = {}, shift[width] = {};
  for (int64_t k = 0; k < columns; ++k) mean[k] = job.mean.get(first + k, T(0));
  double totals[2][width];
  sum_columns<T, 2>(job.samples, totals, [&](int64_t s, T(&sums)[2][width]) {
    const T* g = tile_row(job, job.grad_out, s, first, columns, grad_buffer);
    const T* x = tile_row(job, job.in, s, first, columns, buffer);
    for (int64_t k = 0; k < width; ++k) {
      sums[0][k] += g[k];
      sums[1][k] += g[k] * (x[k] - mean[k]);
    }
  });
  for (int64_t k = 0; k < columns; ++k) {
    Affine<T> a = finish_backward<T>(job, first + k, totals[0][k], totals[1][k]);
    scale[k] = a.scale, slope[k] = a.slope, shift[k] = a.shift;
  }
  if (job.grad_in.data == nullptr) return;
  for (int64_t s = 0; s < job.samples; ++s) {
    const T* g = tile_row(job, job.grad_out, s, first, columns, grad_buffer);
    const T* x = tile_row(job, job.in, s, first, columns, buffer);
    for (int64_t k = 0; k < width; ++k)
      row[k] = g[k] * scale[k] + ((x[k] - mean[k]) * slope[k] + shift[k]);
    write_tile_row(job, job.grad_in, s, first, columns, row);
  }
}

/// Runs channel(c), or tile(first, columns) where the channels lie side by side.
template <class T, class Channel, class Tile>
void for_channels(Device device, const char* label, const BatchNormJob& job, double cost,
                  const Channel& channel, const Tile& tile) {
  if (job.length > 1) {
    parallel_blocks(device, label, {job.channels, 1, static_cast<double>(job.count()) * cost},
                    [&](int64_t begin, int64_t end) {
                      for (int64_t c = begin; c < end; ++c) channel(c);
                    });
  } else {
    parallel_blocks(device, label,
                    {job.channels, kColumns<T>, static_cast<double>(job.count()) * cost},
                    [&](int64_t begin, int64_t end) { tile(begin, end - begin); });
  }
}

}  // namespace

void batch_norm(const ArrayView& out, const ArrayView& mean, const ArrayView& inv_std,
                const ArrayView& in, const ArrayView* weight, const ArrayView* bias, double eps,
                double momentum, const ArrayView* running_mean, const ArrayView* running_var) {
  BatchNormJob job{BatchNormShape(in.sizes)};
  job.in = in, job.out = out, job.mean = mean, job.inv_std = inv_std, job.weight = weight,
  job.bias = bias;
  job.running_mean = running_mean, job.running_var = running_var, job.eps = eps,
  job.momentum = momentum;
  if (use_reference_kernels() || !in.device.is_host()) return batch_norm_reference(in.device, job);
  dispatch_dtype("batch_norm", compute_dtype(in.dtype), kComputeFloats, [&]<class T>() {
    for_channels<T>(
        in.device, "farro::batch_norm", job, 1,
        [&](int64_t c) {
          statistics_of_channel<T>(job, c);
          apply_to_channel<T>(job, c);
        },
        [&](int64_t first, int64_t columns) {
          statistics_of_tile<T>(job, first, columns);
          apply_to_tile<T>(job, first, columns);
        });
  });
}

void batch_norm_apply(const ArrayView& out, const ArrayView& in, const ArrayView& mean,
                      const ArrayView& inv_std, const ArrayView* weight, const ArrayView* bias) {
  BatchNormJob job{BatchNormShape(in.sizes)};
  job.in = in, job.out = out, job.mean = mean, job.inv_std = inv_std, job.weight = weight,
  job.bias = bias;
  if (use_reference_kernels() || !in.device.is_host())
    return batch_norm_apply_reference(in.device, job);
  dispatch_dtype("batch_norm", compute_dtype(in.dtype), kComputeFloats, [&]<class T>() {
    for_channels<T>(
        in.device, "farro::batch_norm_apply", job, 0.5,
        [&](int64_t c) { apply_to_channel<T>(job, c); },
        [&](int64_t first, int64_t columns) { apply_to_tile<T>(job, first, columns); });
  });
}

void batch_norm_backward(const ArrayView* grad_in, const ArrayView* grad_weight,
                         const ArrayView* grad_bias, const ArrayView& grad_out, const ArrayView& in,
                         const ArrayView& mean, const ArrayView& inv_std, const ArrayView* weight,
                         bool batch_statistics) {
  BatchNormJob job{BatchNormShape(in.sizes)};
  job.in = in, job.grad_out = grad_out, job.grad_in = grad_in, job.grad_weight = grad_weight,
  job.grad_bias = grad_bias;
  job.mean = mean, job.inv_std = inv_std, job.weight = weight,
  job.batch_statistics = batch_statistics;
  if (use_reference_kernels() || !in.device.is_host())
    return batch_norm_backward_reference(in.device, job);
  dispatch_dtype("batch_norm", compute_dtype(in.dtype), kComputeFloats, [&]<class T>() {
    for_channels<T>(
        in.device, "farro::batch_norm_backward", job, 1,
        [&](int64_t c) { backward_of_channel<T>(job, c); },
        [&](int64_t first, int64_t columns) { backward_of_tile<T>(job, first, columns); });
  });
}

}  // namespace farro::kernels
