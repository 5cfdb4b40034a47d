#pragma once

/// Internal to the random kernels: the words of many Philox blocks at once.

#include <cstdint>

#include <farro/backends/config.hpp>
#include <farro/backends/random.hpp>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace farro::kernels {

/// Blocks that are made together.
inline constexpr int64_t kPhiloxBlocks = 8;

#ifdef __AVX2__

/// Four blocks side by side: words in the lower halves of 64-bit lanes, whose upper halves hold
/// leftovers that no multiplication reads.
struct PhiloxLanes {
  __m256i c0, c1, c2, c3;

  FARRO_INLINE void round(__m256i k0, __m256i k1) {
    __m256i p0 = _mm256_mul_epu32(c0, _mm256_set1_epi64x(0xD2511F53));
    __m256i p1 = _mm256_mul_epu32(c2, _mm256_set1_epi64x(0xCD9E8D57));
    c0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1), k0);
    c2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3), k1);
    c1 = p1;
    c3 = p0;
  }
  FARRO_INLINE void store(uint32_t* words) const {
    __m256i a = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
    __m256i b = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
    __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
    auto* to = reinterpret_cast<__m256i*>(words);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
};

/// The words of `blocks` (a multiple of kPhiloxBlocks) blocks from `first` on: word i % 4 of block
/// first + i / 4 at i.
inline void philox_words(const Philox& random, uint64_t first, int64_t blocks, uint32_t* words) {
  auto operation_low = _mm256_set1_epi64x(static_cast<int64_t>(random.operation & 0xffffffffu));
  auto operation_high = _mm256_set1_epi64x(static_cast<int64_t>(random.operation >> 32));
  for (int64_t b = 0; b < blocks; b += kPhiloxBlocks) {
    PhiloxLanes lanes[2];
    for (int h = 0; h < 2; ++h) {
      __m256i block = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<int64_t>(first) + b + 4 * h),
                                       _mm256_setr_epi64x(0, 1, 2, 3));
      lanes[h] = {block, _mm256_srli_epi64(block, 32), operation_low, operation_high};
    }
    uint32_t k0 = static_cast<uint32_t>(random.seed), k1 = static_cast<uint32_t>(random.seed >> 32);
#pragma GCC unroll 10
    for (int r = 0; r < 10; ++r) {
      __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
      lanes[0].round(key0, key1);
      lanes[1].round(key0, key1);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    lanes[0].store(words + 4 * b);
    lanes[1].store(words + 4 * b + 16);
  }
}

#else

inline void philox_words(const Philox& random, uint64_t first, int64_t blocks, uint32_t* words) {
  for (int64_t b = 0; b < blocks; ++b) {
    Philox::Words w = random(first + static_cast<uint64_t>(b));
    for (int k = 0; k < 4; ++k) words[4 * b + k] = w.v[k];
  }
}

#endif

}  // namespace farro::kernels
