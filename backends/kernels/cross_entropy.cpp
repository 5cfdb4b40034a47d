#include <farro/backends/kernels/cross_entropy.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/lanes.hpp>
#include <farro/backends/kernels/runs.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/simd_exp.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace farro::kernels {
namespace {

/// The operands of one row's work.
struct CrossEntropyJob {
  int64_t classes;
  const void* logits;
  DType dtype;
  const int64_t* targets;
  const void* weight;
  DType weight_dtype;
  int64_t ignore_index;
  void* losses;  ///< or null, in backward
  void* log_sum;
  DType wide;
  void* grad_logits;
  const void* grad;
  int64_t grad_step;
  double scale;

  template <class T>
  FARRO_FUNCTION T weight_of(int64_t target) const {
    return weight ? load_as<T>(weight, weight_dtype, target) : T(1);
  }
  template <class T>
  FARRO_FUNCTION T row_scale(int64_t r) const {
    if (targets[r] == ignore_index) return T(0);
    return load_as<T>(grad, dtype, r * grad_step) * static_cast<T>(scale) *
           weight_of<T>(targets[r]);
  }
  template <class T>
  FARRO_FUNCTION void put_loss(int64_t r, T log_of_sum) const {
    store_as(log_sum, wide, r, log_of_sum);
    int64_t t = targets[r];
    T loss = t == ignore_index
                 ? T(0)
                 : (log_of_sum - load_as<T>(logits, dtype, r * classes + t)) * weight_of<T>(t);
    store_as(losses, dtype, r, loss);
  }
};

template <class T>
struct CrossEntropyRow {
  CrossEntropyJob job;
  FARRO_FUNCTION void operator()(int64_t r) const {
    int64_t base = r * job.classes;
    T top = load_as<T>(job.logits, job.dtype, base), sum = T(0);
    for (int64_t k = 1; k < job.classes; ++k) {
      T x = load_as<T>(job.logits, job.dtype, base + k);
      top = x > top || x != x ? x : top;
    }
    for (int64_t k = 0; k < job.classes; ++k)
      sum += std::exp(load_as<T>(job.logits, job.dtype, base + k) - top);
    job.put_loss(r, top + std::log(sum));
  }
};

template <class T>
struct CrossEntropyGradientRow {
  CrossEntropyJob job;
  FARRO_FUNCTION void operator()(int64_t r) const {
    int64_t base = r * job.classes;
    T scale = job.row_scale<T>(r), log_sum = load_as<T>(job.log_sum, job.wide, r);
    for (int64_t k = 0; k < job.classes; ++k) {
      T p = std::exp(load_as<T>(job.logits, job.dtype, base + k) - log_sum);
      store_as(job.grad_logits, job.dtype, base + k,
               scale == T(0) ? T(0) : (p - (k == job.targets[r] ? T(1) : T(0))) * scale);
    }
  }
};

template <class T>
T log_sum_of_row(const T* x, int64_t n) {
  T top = fold_row(
      n, -std::numeric_limits<T>::infinity(), Largest(), [](auto v) { return v; }, x);
  return top + std::log(fold_row(
                   n, T(0), Add(), [t = Pack<T>(top)](auto v) { return simd::exp(v - t); }, x));
}

template <class T>
void run(Device device, const CrossEntropyJob& job, int64_t rows) {
  int64_t n = job.classes;
  bool backward = job.losses == nullptr, native = job.dtype == dtype_of<T>;
  const char* label = backward ? "farro::cross_entropy_backward" : "farro::cross_entropy";
  int64_t grain = std::max<int64_t>(1, 2048 / std::max<int64_t>(n, 1));
  parallel_blocks(
      device, label, {rows, grain, static_cast<double>(n) * 2}, [&](int64_t begin, int64_t end) {
        AlignedBuffer<T> buffer(native ? 0 : n);
        for (int64_t r = begin; r < end; ++r) {
          const T* x = as_run(at(job.logits, job.dtype, r * n), job.dtype, n, buffer.data);
          if (!backward) {
            job.put_loss(r, log_sum_of_row(x, n));
            continue;
          }
          T* to = native ? static_cast<T*>(job.grad_logits) + r * n : buffer.data;
          T scale = job.row_scale<T>(r);
          if (scale == T(0)) {
            std::fill_n(to, n, T(0));
          } else {
            Pack<T> shift(load_as<T>(job.log_sum, job.wide, r)), s(scale);
            map_row(
                n, to, [shift, s](auto v) { return simd::exp(v - shift) * s; }, x);
            to[job.targets[r]] -= scale;
          }
          if (!native) write_strided(at(job.grad_logits, job.dtype, r * n), job.dtype, 1, n, to);
        }
      });
}

void run(Device device, const CrossEntropyJob& job, int64_t rows) {
  dispatch_dtype("cross_entropy", compute_dtype(job.dtype), kComputeFloats, [&]<class T>() {
    double cost = static_cast<double>(job.classes) * 16;
    if (!use_reference_kernels() && device.is_host()) {
      run<T>(device, job, rows);
    } else if (job.losses) {
      for_each(device, "farro::cross_entropy", rows, CrossEntropyRow<T>{job}, cost);
    } else {
      for_each(device, "farro::cross_entropy_backward", rows, CrossEntropyGradientRow<T>{job},
               cost);
    }
  });
}

CrossEntropyJob make_job(const ArrayView& log_sum, const ArrayView& logits,
                         const ArrayView& targets, const ArrayView* weight, int64_t ignore_index) {
  CrossEntropyJob job{};
  job.classes = logits.sizes[1];
  job.logits = logits.data;
  job.dtype = logits.dtype;
  job.targets = targets.as<const int64_t>();
  job.weight = weight ? weight->data : nullptr;
  job.weight_dtype = weight ? weight->dtype : logits.dtype;
  job.ignore_index = ignore_index;
  job.log_sum = log_sum.data;
  job.wide = log_sum.dtype;
  return job;
}

}  // namespace

void cross_entropy(const ArrayView& losses, const ArrayView& log_sum, const ArrayView& logits,
                   const ArrayView& targets, const ArrayView* weight, int64_t ignore_index) {
  CrossEntropyJob job = make_job(log_sum, logits, targets, weight, ignore_index);
  job.losses = losses.data;
  run(logits.device, job, logits.sizes[0]);
}

void cross_entropy_backward(const ArrayView& grad_logits, const ArrayView& grad, double scale,
                            const ArrayView& log_sum, const ArrayView& logits,
                            const ArrayView& targets, const ArrayView* weight,
                            int64_t ignore_index) {
  CrossEntropyJob job = make_job(log_sum, logits, targets, weight, ignore_index);
  job.grad_logits = grad_logits.data;
  job.grad = grad.data;
  job.grad_step = grad.numel() == 1 ? 0 : 1;
  job.scale = scale;
  run(logits.device, job, logits.sizes[0]);
}

}  // namespace farro::kernels
