#include <farro/backends/kernels/random_formula.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>

namespace farro::kernels {
namespace {

/// Where element i goes and which words it has.
struct RandomJob {
  Philox random;
  Walk walk;
  void* out;
  DType dtype;

  RandomJob(const ArrayView& view, const Philox& philox)
      : random(philox), walk(view.sizes, view.strides), out(view.data), dtype(view.dtype) {}
  FARRO_FUNCTION uint32_t word(int64_t i) const {
    return random(static_cast<uint64_t>(i) / 4).v[i % 4];
  }
  template <class T>
  FARRO_FUNCTION void put(int64_t i, T value) const {
    store_as(out, dtype, walk.offset(i), value);
  }
};

template <class T>
struct Uniform {
  RandomJob job;
  UniformRange<T> range;
  FARRO_FUNCTION void operator()(int64_t i) const {
    if (sizeof(T) == 8) {
      job.put(i, range(static_cast<T>(unit_double(job.word(2 * i), job.word(2 * i + 1)))));
    } else {
      job.put(i, range(static_cast<T>(unit_float(job.word(i), uniform_digits(job.dtype)))));
    }
  }
};

template <class T>
struct Normal {
  RandomJob job;
  T mean, deviation;
  FARRO_FUNCTION void operator()(int64_t i) const {
    int64_t pair = i / 2;
    T radius, angle;
    if (sizeof(T) == 8) {
      radius = static_cast<T>(unit_double(job.word(4 * pair), job.word(4 * pair + 1)) + 0x1p-54);
      angle = static_cast<T>(unit_double(job.word(4 * pair + 2), job.word(4 * pair + 3)));
    } else {
      radius =
          (static_cast<T>(static_cast<int32_t>(job.word(2 * pair) >> 1)) + T(0.5)) * T(0x1p-31);
      angle = static_cast<T>(unit_float(job.word(2 * pair + 1), 24));
    }
    T r = std::sqrt(T(-2) * std::log(radius)), a = angle * T(6.283185307179586);
    job.put(i, r * (i % 2 == 0 ? std::cos(a) : std::sin(a)) * deviation + mean);
  }
};

struct Bernoulli {
  RandomJob job;
  uint64_t threshold;
  FARRO_FUNCTION void operator()(int64_t i) const {
    job.put(i, job.word(i) < threshold ? 1.0f : 0.0f);
  }
};

struct Integers {
  RandomJob job;
  uint64_t low, range;
  FARRO_FUNCTION void operator()(int64_t i) const {
    uint64_t x = (uint64_t{job.word(2 * i + 1)} << 32) | job.word(2 * i);
    job.put(i, static_cast<int64_t>(low + multiply_high(x, range)));
  }
};

template <class T>
struct Dropout {
  RandomJob job;
  const void* in;
  uint64_t keep;
  T scale;
  FARRO_FUNCTION void operator()(int64_t i) const {
    job.put(i, job.word(i) < keep ? load_as<T>(in, job.dtype, i) * scale : T(0));
  }
};

}  // namespace

void uniform_reference(const ArrayView& out, const Philox& random, double low, double high) {
  dispatch_dtype("uniform", compute_dtype(out.dtype), kComputeFloats, [&]<class T>() {
    for_each(out.device, "farro::uniform", out.numel(), Uniform<T>{{out, random}, {low, high}}, 32);
  });
}

void normal_reference(const ArrayView& out, const Philox& random, double mean, double deviation) {
  dispatch_dtype("normal", compute_dtype(out.dtype), kComputeFloats, [&]<class T>() {
    for_each(out.device, "farro::normal", out.numel(),
             Normal<T>{{out, random}, static_cast<T>(mean), static_cast<T>(deviation)}, 64);
  });
}

void bernoulli_reference(const ArrayView& out, const Philox& random, double p) {
  for_each(out.device, "farro::bernoulli", out.numel(),
           Bernoulli{{out, random}, bernoulli_threshold(p)}, 32);
}

void integers_reference(const ArrayView& out, const Philox& random, int64_t low, int64_t high) {
  auto from = static_cast<uint64_t>(low);
  for_each(out.device, "farro::integers", out.numel(),
           Integers{{out, random}, from, static_cast<uint64_t>(high) - from}, 32);
}

void dropout_reference(const ArrayView& out, const ArrayView& in, const Philox& random, double p) {
  dispatch_dtype("dropout", compute_dtype(out.dtype), kComputeFloats, [&]<class T>() {
    for_each(out.device, "farro::dropout", out.numel(),
             Dropout<T>{{out, random},
                        in.data,
                        bernoulli_threshold(1 - p),
                        p < 1 ? static_cast<T>(1 / (1 - p)) : T(0)},
             32);
  });
}

}  // namespace farro::kernels
