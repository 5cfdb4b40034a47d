#include <farro/backends/kernels/norm_job.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>

namespace farro::kernels {
namespace {

/// One channel of batch normalisation.
template <class T>
struct BatchNormChannel {
  BatchNormJob job;

  FARRO_FUNCTION int64_t place(int64_t c, int64_t i) const {
    return (i / job.length * job.channels + c) * job.length + i % job.length;
  }
  FARRO_FUNCTION T x(int64_t c, int64_t i) const { return job.in.get(place(c, i), T(0)); }
  FARRO_FUNCTION T g(int64_t c, int64_t i) const { return job.grad_out.get(place(c, i), T(0)); }

  FARRO_FUNCTION void statistics(int64_t c) const {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < job.count(); ++i) sum += x(c, i);
    double mean = sum / static_cast<double>(job.count());
    for (int64_t i = 0; i < job.count(); ++i) squares += (x(c, i) - mean) * (x(c, i) - mean);
    job.put_statistics<T>(c, mean, squares / static_cast<double>(job.count()));
  }
  FARRO_FUNCTION void apply(int64_t c) const {
    T mean = job.mean.get(c, T(0)), scale = job.inv_std.get(c, T(1)) * job.weight.get(c, T(1));
    for (int64_t i = 0; i < job.count(); ++i) {
      job.out.set(place(c, i), (x(c, i) - mean) * scale + job.bias.get(c, T(0)));
    }
  }
  FARRO_FUNCTION void backward(int64_t c) const {
    T mean = job.mean.get(c, T(0)), inv_std = job.inv_std.get(c, T(1));
    double sum = 0, dot = 0, n = static_cast<double>(job.count());
    for (int64_t i = 0; i < job.count(); ++i) {
      sum += g(c, i);
      dot += static_cast<double>(g(c, i)) * ((x(c, i) - mean) * inv_std);
    }
    job.grad_weight.set(c, dot);
    job.grad_bias.set(c, sum);
    if (job.grad_in.data == nullptr) return;
    T scale = inv_std * job.weight.get(c, T(1));
    for (int64_t i = 0; i < job.count(); ++i) {
      T centred = g(c, i);
      if (job.batch_statistics) {
        centred -= static_cast<T>(sum / n) + (x(c, i) - mean) * inv_std * static_cast<T>(dot / n);
      }
      job.grad_in.set(place(c, i), centred * scale);
    }
  }
};

template <class T>
struct BatchNormForward : BatchNormChannel<T> {
  FARRO_FUNCTION void operator()(int64_t c) const {
    this->statistics(c);
    this->apply(c);
  }
};
template <class T>
struct BatchNormApply : BatchNormChannel<T> {
  FARRO_FUNCTION void operator()(int64_t c) const { this->apply(c); }
};
template <class T>
struct BatchNormBackward : BatchNormChannel<T> {
  FARRO_FUNCTION void operator()(int64_t c) const { this->backward(c); }
};

template <class T>
struct LayerNormForward {
  LayerNormJob job;
  FARRO_FUNCTION void operator()(int64_t r) const {
    double sum = 0, squares = 0, n = static_cast<double>(job.n);
    for (int64_t i = 0; i < job.n; ++i) sum += job.in.get(r * job.n + i, T(0));
    T mean = static_cast<T>(sum / n);
    for (int64_t i = 0; i < job.n; ++i) {
      T centred = job.in.get(r * job.n + i, T(0)) - mean;
      squares += centred * centred;
    }
    T inv_std = static_cast<T>(1 / std::sqrt(squares / n + job.eps));
    job.mean.set(r, mean);
    job.inv_std.set(r, inv_std);
    for (int64_t i = 0; i < job.n; ++i) {
      T centred = job.in.get(r * job.n + i, T(0)) - mean;
      job.out.set(r * job.n + i,
                  centred * inv_std * job.weight.get(i, T(1)) + job.bias.get(i, T(0)));
    }
  }
};

template <class T>
struct LayerNormBackward {
  LayerNormJob job;
  FARRO_FUNCTION void operator()(int64_t r) const {
    T mean = job.mean.get(r, T(0)), inv_std = job.inv_std.get(r, T(1));
    double sum = 0, dot = 0, n = static_cast<double>(job.n);
    for (int64_t i = 0; i < job.n; ++i) {
      double g = job.grad_out.get(r * job.n + i, T(0)) * job.weight.get(i, T(1));
      sum += g;
      dot += g * ((job.in.get(r * job.n + i, T(0)) - mean) * inv_std);
    }
    for (int64_t i = 0; i < job.n; ++i) {
      T g = job.grad_out.get(r * job.n + i, T(0)) * job.weight.get(i, T(1));
      T x = (job.in.get(r * job.n + i, T(0)) - mean) * inv_std;
      job.grad_in.set(r * job.n + i,
                      inv_std * (g - static_cast<T>(sum / n) - x * static_cast<T>(dot / n)));
    }
  }
};

template <class T>
struct LayerNormParameters {
  LayerNormJob job;
  FARRO_FUNCTION void operator()(int64_t i) const {
    double weight = 0, bias = 0;
    for (int64_t r = 0; r < job.rows; ++r) {
      T g = job.grad_out.get(r * job.n + i, T(0));
      bias += g;
      weight += g * ((job.in.get(r * job.n + i, T(0)) - job.mean.get(r, T(0))) *
                     job.inv_std.get(r, T(1)));
    }
    job.grad_weight.set(i, weight);
    job.grad_bias.set(i, bias);
  }
};

template <template <class> class Functor, class Job>
void run(Device device, const char* label, const Job& job, DType dtype, int64_t items,
         int64_t work) {
  dispatch_dtype(label, compute_dtype(dtype), kComputeFloats, [&]<class T>() {
    for_each(device, label, items, Functor<T>{{job}}, static_cast<double>(work) * 8);
  });
}

}  // namespace

void batch_norm_reference(Device device, const BatchNormJob& job) {
  run<BatchNormForward>(device, "farro::batch_norm", job, job.in.dtype, job.channels, job.count());
}

void batch_norm_apply_reference(Device device, const BatchNormJob& job) {
  run<BatchNormApply>(device, "farro::batch_norm_apply", job, job.in.dtype, job.channels,
                      job.count());
}

void batch_norm_backward_reference(Device device, const BatchNormJob& job) {
  run<BatchNormBackward>(device, "farro::batch_norm_backward", job, job.in.dtype, job.channels,
                         job.count());
}

void layer_norm_reference(Device device, const LayerNormJob& job) {
  run<LayerNormForward>(device, "farro::layer_norm", job, job.in.dtype, job.rows, job.n);
}

void layer_norm_backward_reference(Device device, const LayerNormJob& job) {
  if (job.grad_in.data) {
    run<LayerNormBackward>(device, "farro::layer_norm_backward", job, job.in.dtype, job.rows,
                           job.n);
  }
  run<LayerNormParameters>(device, "farro::layer_norm_parameters", job, job.in.dtype, job.n,
                           job.rows);
}

}  // namespace farro::kernels
