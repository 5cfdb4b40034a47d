#include <farro/backends/dims.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>  // join, from fmt 11 on

#include <algorithm>

namespace farro {

std::string to_string(IntList dims) {
  return fmt::format("[{}]", fmt::join(dims.begin(), dims.end(), ", "));
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  for (int i = sizes.size() - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * std::max<int64_t>(sizes[i + 1], 1);
  }
  return strides;
}

bool is_contiguous(const Dims& sizes, const Dims& strides) {
  int64_t expected = 1;
  bool in_order = true;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    in_order = in_order && strides[i] == expected;
    expected *= sizes[i];
  }
  return in_order;
}

Dims broadcast_shapes(const Dims& a, const Dims& b, std::string_view operation) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  int offset = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    int64_t& r = result[i + offset];
    if (r == shorter[i] || shorter[i] == 1) continue;
    if (r != 1) {
      fail<ShapeError>(operation, "expected shapes that broadcast, got {} and {}", to_string(a),
                       to_string(b));
    }
    r = shorter[i];
  }
  return result;
}

int wrap_dim(int64_t dim, int ndim, std::string_view operation) {
  int range = std::max(ndim, 1);
  if (dim < -range || dim >= range) {
    fail<IndexError>(operation, "expected a dimension in [{}, {}], got {}", -range, range - 1, dim);
  }
  return static_cast<int>(dim < 0 ? dim + range : dim);
}

}  // namespace farro
