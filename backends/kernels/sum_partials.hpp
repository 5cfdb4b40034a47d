#pragma once

#include <algorithm>
#include <cstdint>

#include <farro/backends/launch.hpp>

namespace farro::kernels {

/// Adds arrays of n elements, part(0) … part(count - 1), in a pairwise tree; the sum is left in
/// part(0), the others hold partial sums. The same bits on every host backend at every thread
/// count.
template <class Part>
void sum_partials(Device device, int64_t count, int64_t n, const Part& part) {
  constexpr int64_t kGrain = 4096;
  parallel_blocks(device, "farro::sum_partials", {n, kGrain, static_cast<double>(count)},
                  [&](int64_t begin, int64_t end) {
                    for (int64_t gap = 1; gap < count; gap *= 2) {
                      for (int64_t p = 0; p + gap < count; p += 2 * gap) {
                        auto* FARRO_RESTRICT to = part(p);
                        const auto* FARRO_RESTRICT from = part(p + gap);
                        for (int64_t i = begin; i < end; ++i) to[i] += from[i];
                      }
                    }
                  });
}

}  // namespace farro::kernels
