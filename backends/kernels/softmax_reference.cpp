#include <farro/backends/kernels/softmax_job.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>

#include <cmath>

namespace farro::kernels {
namespace {

template <class T>
struct SoftmaxRow {
  SoftmaxJob job;
  FARRO_FUNCTION void operator()(int64_t item) const {
    int64_t base = item / job.inner * job.n * job.inner + item % job.inner;
    T top = load_as<T>(job.in, job.dtype, base), sum = T(0);
    for (int64_t r = 1; r < job.n; ++r) {
      T x = load_as<T>(job.in, job.dtype, base + r * job.inner);
      top = x > top || x != x ? x : top;
    }
    for (int64_t r = 0; r < job.n; ++r)
      sum += std::exp(load_as<T>(job.in, job.dtype, base + r * job.inner) - top);
    T shift = std::log(sum);
    for (int64_t r = 0; r < job.n; ++r) {
      T x = load_as<T>(job.in, job.dtype, base + r * job.inner) - top;
      store_as(job.out, job.dtype, base + r * job.inner, job.log ? x - shift : std::exp(x) / sum);
    }
  }
};

template <class T>
struct SoftmaxBackwardRow {
  SoftmaxJob job;
  FARRO_FUNCTION void operator()(int64_t item) const {
    int64_t base = item / job.inner * job.n * job.inner + item % job.inner;
    T sum = T(0);
    for (int64_t r = 0; r < job.n; ++r) {
      T g = load_as<T>(job.grad, job.dtype, base + r * job.inner);
      sum += job.log ? g : g * load_as<T>(job.in, job.dtype, base + r * job.inner);
    }
    for (int64_t r = 0; r < job.n; ++r) {
      T g = load_as<T>(job.grad, job.dtype, base + r * job.inner);
      T y = load_as<T>(job.in, job.dtype, base + r * job.inner);
      store_as(job.out, job.dtype, base + r * job.inner,
               job.log ? g - std::exp(y) * sum : y * (g - sum));
    }
  }
};

}  // namespace

void softmax_reference(Device device, const char* label, const SoftmaxJob& job) {
  dispatch_dtype("softmax", compute_dtype(job.dtype), kComputeFloats, [&]<class T>() {
    double cost = static_cast<double>(job.n) * 16;
    if (job.grad) {
      for_each(device, label, job.outer * job.inner, SoftmaxBackwardRow<T>{job}, cost);
    } else {
      for_each(device, label, job.outer * job.inner, SoftmaxRow<T>{job}, cost);
    }
  });
}

}  // namespace farro::kernels
