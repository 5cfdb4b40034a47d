#pragma once

#include <cstdint>

namespace farro::kernels {

/// Transposes `count` matrices [points, block] to [block, points]: images whose channels lie in
/// blocks of 8 or 16, as oneDNN likes them, to planes one after the other.
void unblock_channels(float* to, const float* from, int64_t count, int64_t points, int64_t block);

}  // namespace farro::kernels
