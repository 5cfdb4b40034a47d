#include <farro/backends/kernels/unblock.hpp>

#include <cstring>

namespace farro::kernels {
namespace {

constexpr int kSide = 8;
typedef float Line __attribute__((vector_size(kSide * sizeof(float))));

/// An 8 x 8 tile: lines of `from` become columns of `to`.
void transpose_tile(float* to, int64_t to_stride, const float* from, int64_t from_stride) {
  Line a[kSide], b[kSide];
  for (int i = 0; i < kSide; ++i) std::memcpy(&a[i], from + i * from_stride, sizeof(Line));
#pragma GCC unroll 4
  for (int i = 0; i < kSide; i += 2) {  // pairs of lines: elements
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int i = 0; i < kSide; i += 4) {  // pairs of pairs: two elements
    a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    a[i + 2] = __builtin_shufflevector(b[i + 1], b[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 3] = __builtin_shufflevector(b[i + 1], b[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kSide / 2; ++i) {  // halves
    b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < kSide; ++i) std::memcpy(to + i * to_stride, &b[i], sizeof(Line));
}

}  // namespace

void unblock_channels(float* to, const float* from, int64_t count, int64_t points, int64_t block) {
  int64_t whole = points / kSide * kSide;
  for (int64_t g = 0; g < count; ++g, from += points * block, to += points * block) {
    for (int64_t c = 0; c < block; c += kSide) {
      for (int64_t p = 0; p < whole; p += kSide)
        transpose_tile(to + c * points + p, points, from + p * block + c, block);
      for (int64_t p = whole; p < points; ++p) {
        for (int64_t i = 0; i < kSide; ++i) to[(c + i) * points + p] = from[p * block + c + i];
      }
    }
  }
}

}  // namespace farro::kernels
