#pragma once

#include <optional>
#include <vector>

#include <farro/autograd/tensor.hpp>

/// Geometry. What PyTorch gives as a view is a view here: it shares memory, and backward undoes it
/// by recorded operations. Dimensions may be negative, counting from the end (IndexError outside).
/// A wrong shape is a ShapeError.
namespace farro {

/// The same elements in another shape, without a copy; one size may be -1. ShapeError if the
/// strides do not allow it.
Tensor view(const Tensor& x, IntList sizes);
/// As view where possible, else of a contiguous copy.
Tensor reshape(const Tensor& x, IntList sizes);
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);
/// Splits one dimension into several; one size may be -1.
Tensor unflatten(const Tensor& x, int64_t dim, IntList sizes);
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, IntList dims);
Tensor unsqueeze(const Tensor& x, int64_t dim);

Tensor permute(const Tensor& x, IntList dims);
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
/// The transpose of a tensor of at most 2 dimensions.
Tensor t(const Tensor& x);
Tensor movedim(const Tensor& x, IntList from, IntList to);
inline Tensor movedim(const Tensor& x, int64_t from, int64_t to) {
  return movedim(x, IntList{from}, IntList{to});
}

/// Repeats dimensions of size 1 without a copy; -1 keeps a size.
Tensor expand(const Tensor& x, IntList sizes);
Tensor expand_as(const Tensor& x, const Tensor& other);
Tensor broadcast_to(const Tensor& x, IntList sizes);
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors);

/// x[start:stop:step] along one dimension; bounds are clipped as Python's. ValueError for a step
/// below 1.
Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start = {},
             std::optional<int64_t> stop = {}, int64_t step = 1);
/// IndexError unless the range lies within the dimension.
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// Pieces of `size`; the last may be smaller.
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
/// Pieces of the given sizes, which must add up to the dimension.
std::vector<Tensor> split(const Tensor& x, IntList sizes, int64_t dim = 0);
/// At most `chunks` pieces of equal size; the last may be smaller.
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);
/// Any geometry over x's storage; places may overlap. ShapeError if it reaches outside of the
/// storage.
Tensor as_strided(const Tensor& x, IntList sizes, IntList strides,
                  std::optional<int64_t> storage_offset = {});
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);

/// Joins along a dimension; dtypes promote. 1-d tensors without elements are skipped, as PyTorch
/// skips them.
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim = 0);
/// Joins tensors of one shape along a new dimension.
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim = 0);
Tensor flip(const Tensor& x, IntList dims);
/// Moves elements around the end of each dimension; without dimensions, of the flattened tensor.
Tensor roll(const Tensor& x, IntList shifts, IntList dims = {});
/// Copies the tensor `repeats` times along each dimension; more numbers than dimensions add leading
/// ones.
Tensor repeat(const Tensor& x, IntList repeats);
/// As repeat; fewer numbers than dimensions leave leading ones alone.
Tensor tile(const Tensor& x, IntList repeats);
/// Repeats each entry; of the flattened tensor where no dimension is given.
Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim = {});
/// Entry i of the dimension `repeats[i]` times.
Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim = {});

}  // namespace farro
