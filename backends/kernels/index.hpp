#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <farro/backends/array_view.hpp>

/// Reading and writing where an index says. The indexed dimensions of an array are neighbours,
/// [first, first + count); one position, an int64, stands for all of them in row-major order, so
/// that the same positions serve every array of these sizes, whatever its strides. Positions are
/// contiguous, on the array's device, and in range.
namespace farro::kernels {

/// Which dimensions the positions index, and how many dimensions the positions have themselves.
struct Selection {
  int first = 0;
  int count = 1;
  int positions_dims = 1;
};

/// out[a.., p.., c..] = from[a.., positions[p..], c..]. `out` is contiguous; dtypes are the same.
void take(const ArrayView& out, const ArrayView& from, const ArrayView& positions,
          const Selection& selection);
/// to[a.., positions[p..], c..] = values[a.., p.., c..]; where several meet, the last in row-major
/// order stays.
void put(const ArrayView& to, const ArrayView& positions, const ArrayView& values,
         const Selection& selection);
/// As put, adding alpha * value, in row-major order of the positions at any number of threads.
void add_at(const ArrayView& to, const ArrayView& positions, const ArrayView& values, double alpha,
            const Selection& selection);

/// An index value that was outside of its dimension.
struct BadIndex {
  int64_t value = 0;
  int which = 0;  ///< of several index arrays
};

/// positions = row-major combination of the entries of several integer arrays, each broadcast to
/// positions' sizes, for dimensions of the given sizes. Negative entries count from the end. Gives
/// the first entry that is out of range, if there is one; positions are not to be used then.
std::optional<BadIndex> combine_indices(const ArrayView& positions,
                                        std::span<const ArrayView> indices, const Dims& sizes);
/// Positions in an array of `sizes` (all of its dimensions) of what gather reads: entry i.. of the
/// index with coordinate `dim` replaced by its value.
std::optional<BadIndex> gather_positions(const ArrayView& positions, const ArrayView& index,
                                         const Dims& sizes, int dim);

/// How many elements are not 0.
int64_t count_nonzero(const ArrayView& array);
/// Row-major positions of the elements that are not 0, ascending; `positions` holds count_nonzero
/// entries.
void nonzero_positions(const ArrayView& positions, const ArrayView& array);
/// Row i of the matrix `coordinates` (contiguous, int64) holds the coordinates of position i in an
/// array of `sizes`.
void unravel(const ArrayView& coordinates, const ArrayView& positions, const Dims& sizes);

}  // namespace farro::kernels
