#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <support/devices.hpp>

#include <farro/autograd/tensor.hpp>
#include <farro/backends/runtime.hpp>

/// What tests of every folder share.
namespace farro::test {

/// Bounds of |actual - expected| <= atol + rtol · |expected|.
struct Tolerance {
  double rtol = 1e-9;
  double atol = 1e-12;
};

/// Where two tensors differ in shape, dtype or by more than the tolerance; empty if they don't. NaN
/// equals NaN.
std::string difference(const Tensor& actual, const Tensor& expected, Tolerance tolerance = {});
inline bool allclose(const Tensor& actual, const Tensor& expected, Tolerance tolerance = {}) {
  return difference(actual, expected, tolerance).empty();
}
/// The same shape, dtype and bits (any NaN equals any other); devices and strides may differ.
bool bitwise_equal(const Tensor& a, const Tensor& b);
/// Of shape, dtype and bits in row-major order: the same for tensors that are bitwise_equal.
uint64_t hash(const Tensor& tensor);
/// The elements' bytes in row-major order.
std::vector<std::byte> bytes_of(const Tensor& tensor);

/// A leaf with these elements, in row-major order.
Tensor from_values(const std::vector<double>& values, const Dims& sizes,
                   TensorOptions options = {});
/// As from_values, 1-d.
Tensor from_values(const std::vector<double>& values, TensorOptions options = {});
/// A float64 leaf that requires grad.
inline Tensor leaf(const std::vector<double>& values) {
  return from_values(values, {.requires_grad = true});
}
inline Tensor leaf(const std::vector<double>& values, const Dims& sizes) {
  return from_values(values, sizes, {.requires_grad = true});
}
/// A leaf of pseudo-random numbers in [lo, hi), the same on every device. float64 unless the
/// options say otherwise.
Tensor random(const Dims& sizes, TensorOptions options = {}, uint64_t seed = 1, double lo = -1,
              double hi = 1);
/// A leaf with the elements of `values` in memory with the given strides (0 where elements share a
/// place).
Tensor with_strides(const Tensor& values, const Dims& strides);

}  // namespace farro::test
