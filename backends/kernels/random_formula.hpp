#pragma once

/// Internal to the random kernels: from random words to numbers.

#include <cmath>

#include <farro/backends/kernels/random.hpp>
#include <farro/backends/kernels/runs.hpp>

namespace farro::kernels {

/// Digits that a uniform number of a dtype keeps.
FARRO_FUNCTION inline int uniform_digits(DType dtype) {
  return dtype == DType::Float64    ? 53
         : dtype == DType::BFloat16 ? 8
         : dtype == DType::Float16  ? 11
                                    : 24;
}

/// x in [0, 1) to [low, high), where rounding must not reach `high`; `last` is the number before
/// it.
template <class T>
struct UniformRange {
  T low, width, last;
  UniformRange(double from, double to)
      : low(static_cast<T>(from)),
        width(static_cast<T>(to - from)),
        last(to > from ? std::nextafter(static_cast<T>(to), static_cast<T>(from))
                       : static_cast<T>(from)) {}
  FARRO_FUNCTION T operator()(T x) const {
    T y = x * width + low;
    return y < last ? y : last;
  }
};

/// A word in [0, 1), with `digits` digits.
FARRO_FUNCTION inline float unit_float(uint32_t word, int digits) {
  return static_cast<float>(static_cast<int32_t>(word >> (32 - digits))) *
         static_cast<float>(1.0 / static_cast<double>(uint64_t{1} << digits));
}
FARRO_FUNCTION inline double unit_double(uint32_t low, uint32_t high) {
  return static_cast<double>(static_cast<int64_t>((uint64_t{high} << 21) | (low >> 11))) * 0x1p-53;
}

/// The upper 64 bits of a 128-bit product.
FARRO_FUNCTION inline uint64_t multiply_high(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(a) * b >> 64);
#else
  uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffffu);
  return a1 * b1 + (middle >> 32) + (other >> 32);
#endif
}

/// Words below it are successes.
inline uint64_t bernoulli_threshold(double p) {
  return static_cast<uint64_t>(std::llround(p * 0x1p32));
}

void uniform_reference(const ArrayView& out, const Philox& random, double low, double high);
void normal_reference(const ArrayView& out, const Philox& random, double mean, double deviation);
void bernoulli_reference(const ArrayView& out, const Philox& random, double p);
void integers_reference(const ArrayView& out, const Philox& random, int64_t low, int64_t high);
void dropout_reference(const ArrayView& out, const ArrayView& in, const Philox& random, double p);

}  // namespace farro::kernels
