#pragma once

#include <cstdint>

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

/// Element i of the row-major order becomes start + i * step.
void arange(const ArrayView& to, double start, double step);
void arange(const ArrayView& to, int64_t start, int64_t step);
/// As many equally spaced numbers as there are elements, from start to stop, both included;
/// symmetric in rounding.
void linspace(const ArrayView& to, double start, double stop);
/// Copies the lower (or upper) triangle of each matrix, up to the given diagonal, and zeroes the
/// rest. Same sizes and dtype; at least 2 dimensions.
void triangle(const ArrayView& to, const ArrayView& from, int64_t diagonal, bool upper);

}  // namespace farro::kernels
