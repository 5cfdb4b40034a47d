#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include <farro/backends/array_view.hpp>
#include <farro/backends/kernels/runs.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/random.hpp>

/// Arrays for tests of kernels, which know no tensors. Host devices only.
namespace farro::test {

/// A view with the memory behind it.
struct Array {
  IntrusivePtr<Storage> storage;
  ArrayView view;

  Array() = default;
  Array(Dims sizes, DType dtype, Device device)
      : storage(Storage::allocate(static_cast<size_t>(sizes.product()) * size_of(dtype), device)),
        view{storage->data(), dtype, device, sizes, contiguous_strides(sizes)} {
    if (storage->data()) std::memset(storage->data(), 0, storage->bytes());
  }
  operator const ArrayView&() const { return view; }
  const ArrayView* operator&() const { return &view; }

  double operator[](int64_t i) const {
    return kernels::load_as<double>(view.data, view.dtype,
                                    kernels::Walk(view.sizes, view.strides).offset(i));
  }
  void set(int64_t i, double value) const {
    kernels::store_as(view.data, view.dtype, kernels::Walk(view.sizes, view.strides).offset(i),
                      value);
  }
  std::vector<double> values() const {
    std::vector<double> result(static_cast<size_t>(view.numel()));
    for (size_t i = 0; i < result.size(); ++i) result[i] = (*this)[static_cast<int64_t>(i)];
    return result;
  }
  /// The same elements in memory of another order: dimension order[0] is the outermost there.
  Array laid_out(const std::vector<int>& order) const {
    Dims sizes;
    for (int d : order) sizes.push_back(view.sizes[d]);
    Array result(sizes, view.dtype, view.device);
    Dims inner = result.view.strides;
    result.view.sizes = view.sizes;
    result.view.strides = view.sizes;
    for (size_t k = 0; k < order.size(); ++k)
      result.view.strides[order[k]] = inner[static_cast<int>(k)];
    for (int64_t i = 0; i < view.numel(); ++i) result.set(i, (*this)[i]);
    return result;
  }
};

/// Numbers in [low, high), the same on every device.
inline Array random_array(Dims sizes, DType dtype, Device device, uint64_t seed = 1,
                          double low = -1, double high = 1) {
  Array result(sizes, dtype, device);
  Philox philox{seed, 0};
  for (int64_t i = 0; i < result.view.numel(); ++i) {
    double unit = static_cast<double>(philox(static_cast<uint64_t>(i)).v[0]) * 0x1p-32;
    result.set(i, low + (high - low) * unit);
  }
  return result;
}

inline bool same_bits(const Array& a, const Array& b) {
  std::vector<double> x = a.values(), y = b.values();
  return a.view.sizes == b.view.sizes && x.size() == y.size() &&
         (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0);
}

/// The largest |a - b| / (1 + |b|); infinity where one is NaN and the other is not.
inline double distance(const Array& a, const Array& b) {
  double worst = a.view.sizes == b.view.sizes ? 0 : INFINITY;
  for (int64_t i = 0; i < a.view.numel() && worst < INFINITY; ++i) {
    if (a[i] == b[i] || (a[i] != a[i] && b[i] != b[i])) continue;
    double d = std::abs(a[i] - b[i]) / (1 + std::abs(b[i]));
    worst = std::max(worst, d == d ? d : static_cast<double>(INFINITY));
  }
  return worst;
}

}  // namespace farro::test
