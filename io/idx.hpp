#pragma once

#include <filesystem>

#include <farro/autograd/tensor.hpp>

namespace farro::io {

/// Reads a file in the IDX format of the MNIST data sets (http://yann.lecun.com/exdb/mnist), plain
/// or compressed by gzip, into a tensor on the host of the dtype and sizes that it names: uint8,
/// int8, int16, int32, float32, float64. Throws FileError when it is missing, truncated, longer
/// than it says or none of this format.
Tensor read_idx(const std::filesystem::path& path);

}  // namespace farro::io
