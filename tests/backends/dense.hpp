#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <farro/backends/array_view.hpp>
#include <farro/backends/dtype.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/random.hpp>

/// Arrays for tests of kernels, below the level of tensors.
namespace farro::dense {

/// Owned memory and a view of it.
struct Array {
  IntrusivePtr<Storage> storage;
  ArrayView view;

  /// Contiguous, of NaN (or -1 for integers), so that what a kernel leaves out is seen.
  Array(const Dims& sizes, DType dtype, Device device) {
    view.dtype = dtype;
    view.device = device;
    view.sizes = sizes;
    view.strides = contiguous_strides(sizes);
    storage = Storage::allocate(static_cast<size_t>(sizes.product()) * size_of(dtype), device);
    view.data = storage->data();
    std::memset(view.data, 0xff, storage->bytes());
  }
  int64_t numel() const { return view.numel(); }
  double get(int64_t i) const;
  void set(int64_t i, double value);
  std::vector<double> values() const {
    std::vector<double> v;
    for (int64_t i = 0; i < numel(); ++i) v.push_back(get(i));
    return v;
  }
  std::string bytes() const { return {static_cast<const char*>(view.data), storage->bytes()}; }
};

template <class F>
void with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::Float32:
      return f(float());
    case DType::Float64:
      return f(double());
    case DType::BFloat16:
      return f(BFloat16());
    case DType::Float16:
      return f(Float16());
    case DType::Int64:
      return f(int64_t());
    case DType::Int32:
      return f(int32_t());
    case DType::Int8:
      return f(int8_t());
    default:
      return f(uint8_t());
  }
}

inline double Array::get(int64_t i) const {
  double result = 0;
  with_type(view.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
      result = static_cast<float>(view.as<T>()[i]);
    } else {
      result = static_cast<double>(view.as<T>()[i]);
    }
  });
  return result;
}

inline void Array::set(int64_t i, double value) {
  with_type(view.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
      view.as<T>()[i] = T(static_cast<float>(value));
    } else {
      view.as<T>()[i] = static_cast<T>(value);
    }
  });
}

/// Pseudo-random: uniform in [-1, 1) for floats, small integers otherwise.
inline Array random_array(const Dims& sizes, DType dtype, Device device, uint64_t seed) {
  Array a(sizes, dtype, device);
  Philox philox{seed, 0};
  for (int64_t i = 0; i < a.numel(); ++i) {
    uint32_t word = philox(static_cast<uint64_t>(i)).v[0];
    a.set(i, is_floating_point(dtype) ? static_cast<double>(word) / 2147483648.0 - 1
                                      : static_cast<double>(word % 7));
  }
  return a;
}

/// The view with its dimensions in another order.
inline ArrayView permuted(const ArrayView& v, const std::vector<int>& order) {
  ArrayView p = v;
  for (size_t i = 0; i < order.size(); ++i) {
    p.sizes[static_cast<int>(i)] = v.sizes[order[i]];
    p.strides[static_cast<int>(i)] = v.strides[order[i]];
  }
  return p;
}

/// A bound for the error of a sum of `terms` products of numbers below 1, added one after the
/// other, relative to the rounding of the dtype.
inline double error_bound(DType dtype, int64_t terms) {
  double unit = dtype == kFloat64    ? 1e-16
                : dtype == kFloat32  ? 6e-8
                : dtype == kFloat16  ? 5e-4
                : dtype == kBFloat16 ? 4e-3
                                     : 0;
  auto count = static_cast<double>(terms);
  bool is_half = dtype == kFloat16 || dtype == kBFloat16;  // rounded once
  return is_half ? unit * 2 : unit * (4 * std::sqrt(count) + count / 8 + 16);
}

}  // namespace farro::dense
