#include <farro/backends/kernels/random_formula.hpp>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/kernels/lanes.hpp>
#include <farro/backends/kernels/philox_words.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/simd_trig.hpp>

#include <algorithm>
#include <numeric>

namespace farro::kernels {
namespace {

/// Elements that a body works on at once; their words fit the first-level cache.
constexpr int64_t kChunk = 2048;

int64_t whole(int64_t blocks) {
  return (blocks + kPhiloxBlocks - 1) / kPhiloxBlocks * kPhiloxBlocks;
}

/// Fills `out` chunk by chunk: make(words, n, to) gives n elements of T from n·words_each words.
template <class T, class Make>
void fill(const char* label, const ArrayView& out, const Philox& random, int words_each,
          double cost, const Make& make) {
  Walk walk(out.sizes, out.strides);
  bool in_place = walk.contiguous() && out.dtype == dtype_of<T>;
  parallel_blocks(out.device, label, {out.numel(), kChunk, cost}, [&](int64_t begin, int64_t end) {
    alignas(64) uint32_t words[2 * kChunk];
    alignas(64) T buffer[kChunk];
    int64_t n = end - begin, blocks = (n * words_each + 3) / 4;
    philox_words(random, static_cast<uint64_t>(begin * words_each / 4), whole(blocks), words);
    T* to = in_place && n == kChunk ? out.as<T>() + begin : buffer;
    make(words, n, to);
    if (to == buffer) write_run(out.data, out.dtype, walk, begin, n, buffer);
  });
}

/// n (rounded up to a pair) normal numbers. Pairs share a radius and an angle: u[2j] and u[2j + 1].
template <class T>
void box_muller(const T* radius, const T* angle, int64_t pairs, T mean, T deviation, T* to) {
  alignas(64) T cosines[static_cast<size_t>(kPackSize<T>)],
      sines[static_cast<size_t>(kPackSize<T>)];
  for (int64_t j = 0; j < pairs; j += kPackSize<T>) {
    Pack<T> r = xsimd::sqrt(Pack<T>(T(-2)) * xsimd::log(Pack<T>::load_aligned(radius + j))) *
                Pack<T>(deviation);
    // xsimd's sincos would let a lane's neighbours decide how it is reduced.
    auto [s, c] = simd::sincos_below_limit(
        Pack<T>(Pack<T>::load_aligned(angle + j) * Pack<T>(T(6.283185307179586))));
    (r * c + Pack<T>(mean)).store_aligned(cosines);
    (r * s + Pack<T>(mean)).store_aligned(sines);
    for (int64_t k = 0; k < std::min(kPackSize<T>, pairs - j); ++k) {
      to[2 * (j + k)] = cosines[k];
      to[2 * (j + k) + 1] = sines[k];
    }
  }
}

template <class T>
void normal_of_words(const uint32_t* words, int64_t n, T mean, T deviation, T* to) {
  alignas(64) T radius[kChunk / 2], angle[kChunk / 2];
  int64_t pairs = (n + 1) / 2, padded = (pairs + kPackSize<T> - 1) / kPackSize<T> * kPackSize<T>;
  for (int64_t j = 0; j < padded; ++j) {
    if constexpr (sizeof(T) == 4) {
      radius[j] = (static_cast<float>(static_cast<int32_t>(words[2 * j] >> 1)) + 0.5f) * 0x1p-31f;
      angle[j] = unit_float(words[2 * j + 1], 24);
    } else {
      radius[j] = unit_double(words[4 * j], words[4 * j + 1]) + 0x1p-54;
      angle[j] = unit_double(words[4 * j + 2], words[4 * j + 3]);
    }
  }
  if (n % 2 == 0) {
    box_muller(radius, angle, pairs, mean, deviation, to);
  } else {
    alignas(64) T buffer[kChunk];
    box_muller(radius, angle, pairs, mean, deviation, buffer);
    std::copy_n(buffer, n, to);
  }
}

bool reference(Device device) { return use_reference_kernels() || !device.is_host(); }

}  // namespace

void fill_uniform(const ArrayView& out, const Philox& random, double low, double high) {
  if (reference(out.device)) return uniform_reference(out, random, low, high);
  if (out.dtype == kFloat64) {
    UniformRange<double> range(low, high);
    fill<double>("farro::uniform", out, random, 2, 2,
                 [&](const uint32_t* words, int64_t n, double* to) {
                   for (int64_t i = 0; i < n; ++i)
                     to[i] = range(unit_double(words[2 * i], words[2 * i + 1]));
                 });
    return;
  }
  UniformRange<float> range(low, high);
  int digits = uniform_digits(out.dtype);
  fill<float>("farro::uniform", out, random, 1, 1,
              [&](const uint32_t* words, int64_t n, float* to) {
                for (int64_t i = 0; i < n; ++i) to[i] = range(unit_float(words[i], digits));
              });
}

void fill_normal(const ArrayView& out, const Philox& random, double mean, double deviation) {
  if (reference(out.device)) return normal_reference(out, random, mean, deviation);
  dispatch_dtype("normal", compute_dtype(out.dtype), kComputeFloats, [&]<class T>() {
    fill<T>("farro::normal", out, random, sizeof(T) / 4, 4,
            [&](const uint32_t* words, int64_t n, T* to) {
              normal_of_words(words, n, static_cast<T>(mean), static_cast<T>(deviation), to);
            });
  });
}

void fill_bernoulli(const ArrayView& out, const Philox& random, double p) {
  if (reference(out.device)) return bernoulli_reference(out, random, p);
  uint64_t threshold = bernoulli_threshold(p);
  dispatch_dtype("bernoulli", compute_dtype(out.dtype), kComputeScalars, [&]<class T>() {
    fill<T>("farro::bernoulli", out, random, 1, 1, [&](const uint32_t* words, int64_t n, T* to) {
      for (int64_t i = 0; i < n; ++i) to[i] = words[i] < threshold ? T(1) : T(0);
    });
  });
}

void fill_integers(const ArrayView& out, const Philox& random, int64_t low, int64_t high) {
  if (reference(out.device)) return integers_reference(out, random, low, high);
  uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  fill<int64_t>(
      "farro::integers", out, random, 2, 2, [&](const uint32_t* words, int64_t n, int64_t* to) {
        for (int64_t i = 0; i < n; ++i) {
          uint64_t x = (uint64_t{words[2 * i + 1]} << 32) | words[2 * i];
          to[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + multiply_high(x, range));
        }
      });
}

void fill_permutation(int64_t* out, int64_t n, const Philox& random) {
  std::iota(out, out + n, int64_t{0});
  uint32_t words[2 * kChunk];
  for (int64_t i = 0; i < n - 1; ++i) {
    int64_t at = i % kChunk;
    if (at == 0) philox_words(random, static_cast<uint64_t>(i / 2), kChunk / 2, words);
    uint64_t x = (uint64_t{words[2 * at + 1]} << 32) | words[2 * at];
    std::swap(out[i],
              out[i + static_cast<int64_t>(multiply_high(x, static_cast<uint64_t>(n - i)))]);
  }
}

void dropout(const ArrayView& out, const ArrayView& in, const Philox& random, double p) {
  if (reference(out.device)) return dropout_reference(out, in, random, p);
  uint64_t keep = bernoulli_threshold(1 - p);
  dispatch_dtype("dropout", compute_dtype(out.dtype), kComputeFloats, [&]<class T>() {
    T scale = p < 1 ? static_cast<T>(1 / (1 - p)) : T(0);
    parallel_blocks(
        out.device, "farro::dropout", {out.numel(), kChunk, 1}, [&](int64_t begin, int64_t end) {
          alignas(64) uint32_t words[kChunk];
          alignas(64) T buffer[kChunk], result[kChunk];
          int64_t n = end - begin;
          philox_words(random, static_cast<uint64_t>(begin / 4), whole((n + 3) / 4), words);
          const T* x = as_run(at(in.data, in.dtype, begin), in.dtype, n, buffer);
          bool native = out.dtype == dtype_of<T>;
          T* y = native ? out.as<T>() + begin : result;
          for (int64_t i = 0; i < n; ++i) y[i] = words[i] < keep ? x[i] * scale : T(0);
          if (!native) write_strided(at(out.data, out.dtype, begin), out.dtype, 1, n, y);
        });
  });
}

}  // namespace farro::kernels
