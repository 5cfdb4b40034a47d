#include <farro/nn/positions.hpp>

#include <algorithm>

#include <farro/backends/error.hpp>

namespace farro::nn::detail {

size_t wrap_position(const char* operation, int64_t position, size_t count) {
  auto n = static_cast<int64_t>(count);
  if (n == 0) fail<IndexError>(operation, "there is nothing at position {}: it is empty", position);
  if (position < -n || position >= n) {
    fail<IndexError>(operation, "expected a position from {} to {}, got {}", -n, n - 1, position);
  }
  return static_cast<size_t>(position < 0 ? position + n : position);
}

size_t wrap_insertion(const char* operation, int64_t position, size_t count) {
  auto n = static_cast<int64_t>(count);
  if (position < -n || position > n) {
    fail<IndexError>(operation, "expected a position from {} to {}, got {}", -n, n, position);
  }
  return static_cast<size_t>(position < 0 ? position + n : position);
}

std::vector<size_t> sliced_positions(std::optional<int64_t> start, std::optional<int64_t> stop,
                                     int64_t step, size_t count) {
  if (step < 1) fail<ValueError>("slice", "expected a step of at least 1, got {}", step);
  auto n = static_cast<int64_t>(count);
  auto bound = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  std::vector<size_t> positions;
  for (int64_t i = bound(start.value_or(0)); i < bound(stop.value_or(n)); i += step) {
    positions.push_back(static_cast<size_t>(i));
  }
  return positions;
}

}  // namespace farro::nn::detail
