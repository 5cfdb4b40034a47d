#pragma once

#include <cstdint>

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

/// Writes `from`, broadcast to to's sizes, into `to`: any strides, dtypes and devices.
/// Floating-point values are truncated to integers; everything but 0 is true. The two must not
/// overlap unless they are the same elements.
void copy(const ArrayView& to, const ArrayView& from);

/// Writes one value into every element, converted as copy converts.
void fill(const ArrayView& to, double value);
void fill(const ArrayView& to, int64_t value);
/// Sets every element to 0.
void zero(const ArrayView& to);

}  // namespace farro::kernels
