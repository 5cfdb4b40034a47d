#pragma once

#include <cstdint>

#include <farro/backends/array_view.hpp>
#include <farro/backends/config.hpp>
#include <farro/backends/dtype.hpp>

/// Strided elements of any dtype, read into and written from contiguous runs of a compute type
/// (float, double or int64_t). Kernels that work on runs see neither strides nor dtypes, and give
/// the same bits whatever the layout.
namespace farro::kernels {

/// Row-major order over strided dimensions, merged where memory allows.
struct Walk {
  Dims sizes;
  Dims strides;

  Walk() = default;
  /// Drops dimensions of size 1 and merges neighbours.
  Walk(const Dims& all_sizes, const Dims& all_strides);

  FARRO_FUNCTION int64_t count() const { return sizes.product(); }
  /// Elements from the base to element i in row-major order.
  FARRO_FUNCTION int64_t offset(int64_t i) const {
    int64_t result = 0;
    for (int d = sizes.size() - 1; d > 0; --d) {
      int64_t rest = i / sizes[d];
      result += (i - rest * sizes[d]) * strides[d];
      i = rest;
    }
    return sizes.empty() ? 0 : result + i * strides[0];
  }
  /// The step of the innermost dimension; 1 for a single element.
  FARRO_FUNCTION int64_t inner_stride() const {
    return sizes.empty() ? 1 : strides[sizes.size() - 1];
  }
  FARRO_FUNCTION int64_t inner_size() const { return sizes.empty() ? 1 : sizes[sizes.size() - 1]; }
  bool contiguous() const { return sizes.empty() || (sizes.size() == 1 && strides[0] == 1); }
};

/// One element of any dtype as T. May run inside a kernel.
template <class T>
FARRO_FUNCTION T load_as(const void* data, DType dtype, int64_t offset) {
  switch (dtype) {
    case DType::Float32:
      return static_cast<T>(static_cast<const float*>(data)[offset]);
    case DType::Float64:
      return static_cast<T>(static_cast<const double*>(data)[offset]);
    case DType::BFloat16:
      return static_cast<T>(static_cast<float>(static_cast<const BFloat16*>(data)[offset]));
    case DType::Float16:
      return static_cast<T>(static_cast<float>(static_cast<const Float16*>(data)[offset]));
    case DType::Int64:
      return static_cast<T>(static_cast<const int64_t*>(data)[offset]);
    case DType::Int32:
      return static_cast<T>(static_cast<const int32_t*>(data)[offset]);
    case DType::Int16:
      return static_cast<T>(static_cast<const int16_t*>(data)[offset]);
    case DType::Int8:
      return static_cast<T>(static_cast<const int8_t*>(data)[offset]);
    case DType::UInt8:
      return static_cast<T>(static_cast<const uint8_t*>(data)[offset]);
    case DType::Bool:
      return static_cast<T>(static_cast<const bool*>(data)[offset]);
  }
  return T(0);
}

/// Writes one element of any dtype. May run inside a kernel.
template <class T>
FARRO_FUNCTION void store_as(void* data, DType dtype, int64_t offset, T value) {
  switch (dtype) {
    case DType::Float32:
      static_cast<float*>(data)[offset] = static_cast<float>(value);
      break;
    case DType::Float64:
      static_cast<double*>(data)[offset] = static_cast<double>(value);
      break;
    case DType::BFloat16:
      static_cast<BFloat16*>(data)[offset] = BFloat16(static_cast<float>(value));
      break;
    case DType::Float16:
      static_cast<Float16*>(data)[offset] = Float16(static_cast<float>(value));
      break;
    case DType::Int64:
      static_cast<int64_t*>(data)[offset] = static_cast<int64_t>(value);
      break;
    case DType::Int32:
      static_cast<int32_t*>(data)[offset] = static_cast<int32_t>(value);
      break;
    case DType::Int16:
      static_cast<int16_t*>(data)[offset] = static_cast<int16_t>(value);
      break;
    case DType::Int8:
      static_cast<int8_t*>(data)[offset] = static_cast<int8_t>(value);
      break;
    case DType::UInt8:
      static_cast<uint8_t*>(data)[offset] = static_cast<uint8_t>(value);
      break;
    case DType::Bool:
      static_cast<bool*>(data)[offset] = value != T(0);
      break;
  }
}

/// The start of element `offset`, in bytes.
inline const void* at(const void* data, DType dtype, int64_t offset) {
  return static_cast<const char*>(data) + offset * static_cast<int64_t>(size_of(dtype));
}
inline void* at(void* data, DType dtype, int64_t offset) {
  return static_cast<char*>(data) + offset * static_cast<int64_t>(size_of(dtype));
}

/// Reads n elements that lie `stride` apart.
template <class T>
void read_strided(const void* data, DType dtype, int64_t stride, int64_t n, T* to);
template <class T>
void write_strided(void* data, DType dtype, int64_t stride, int64_t n, const T* from);

/// Reads n elements in row-major order from element `begin` on.
template <class T>
void read_run(const void* data, DType dtype, const Walk& walk, int64_t begin, int64_t n, T* to);
template <class T>
void write_run(void* data, DType dtype, const Walk& walk, int64_t begin, int64_t n, const T* from);

/// n contiguous elements as T: in place where the dtype is T already, else converted into `buffer`.
template <class T>
const T* as_run(const void* data, DType dtype, int64_t n, T* buffer) {
  if (dtype == dtype_of<T>) return static_cast<const T*>(data);
  read_strided(data, dtype, 1, n, buffer);
  return buffer;
}

}  // namespace farro::kernels
