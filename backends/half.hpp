#pragma once

#include <bit>
#include <cstdint>

#include <farro/backends/config.hpp>

namespace farro {

/// bfloat16: the upper half of a float32, rounded to nearest even.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  FARRO_FUNCTION explicit BFloat16(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(nan ? ((u >> 16) | 0x40u) : rounded);
  }
  FARRO_FUNCTION explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

/// IEEE 754 binary16, rounded to nearest even.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  FARRO_FUNCTION explicit Float16(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    uint32_t sign = (u >> 16) & 0x8000u;
    u &= 0x7fffffffu;
    uint32_t result;
    if (u >= 0x47800000u) {  // too large, infinite or NaN
      result = u > 0x7f800000u ? (0x7e00u | ((u >> 13) & 0x3ffu)) : 0x7c00u;
    } else if (u < 0x38800000u) {  // subnormal: adding 0.5 lets the float adder do the rounding
      float shifted = std::bit_cast<float>(u) + 0.5f;
      result = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
    } else {
      u += 0xc8000fffu + ((u >> 13) & 1u);  // exponent bias 127 to 15, round half to even
      result = u >> 13;
    }
    bits = static_cast<uint16_t>(sign | result);
  }
  FARRO_FUNCTION explicit operator float() const {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    uint32_t u = static_cast<uint32_t>(bits & 0x7fffu) << 13;
    uint32_t exponent = u & 0x0f800000u;
    u += 0x38000000u;  // bias 15 to 127
    if (exponent == 0x0f800000u) {
      u += 0x38000000u;  // infinite or NaN
    } else if (exponent == 0) {
      u += 0x00800000u;
      u = std::bit_cast<uint32_t>(std::bit_cast<float>(u) - std::bit_cast<float>(0x38800000u));
    }
    return std::bit_cast<float>(sign | u);
  }
};

}  // namespace farro
