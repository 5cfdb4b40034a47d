#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <farro/backends/half.hpp>

namespace farro {

/// Element types. The order is that of the scalar list in dispatch.hpp.
enum class DType : uint8_t {
  Float32,
  Float64,
  BFloat16,
  Float16,
  Int64,
  Int32,
  Int16,
  Int8,
  UInt8,
  Bool
};

inline constexpr int kDTypeCount = 10;
inline constexpr DType kFloat32 = DType::Float32;
inline constexpr DType kFloat64 = DType::Float64;
inline constexpr DType kBFloat16 = DType::BFloat16;
inline constexpr DType kFloat16 = DType::Float16;
inline constexpr DType kInt64 = DType::Int64;
inline constexpr DType kInt32 = DType::Int32;
inline constexpr DType kInt16 = DType::Int16;
inline constexpr DType kInt8 = DType::Int8;
inline constexpr DType kUInt8 = DType::UInt8;
inline constexpr DType kBool = DType::Bool;

constexpr bool is_floating_point(DType t) { return t <= DType::Float16; }
constexpr bool is_integral(DType t) { return t >= DType::Int64 && t <= DType::UInt8; }

/// Bytes of one element.
constexpr size_t size_of(DType t) {
  constexpr uint8_t sizes[kDTypeCount] = {4, 8, 2, 2, 8, 4, 2, 1, 1, 1};
  return sizes[static_cast<int>(t)];
}

/// PyTorch's names: "float32", "int64", "bool", …
std::string_view name_of(DType t);
/// The inverse of name_of; throws TypeError for an unknown name.
DType dtype_from_name(std::string_view name);

/// The dtype that PyTorch's promotion gives for two tensors of the same category of rank
/// (docs: torch.promote_types), e.g. bfloat16 with float16 gives float32, uint8 with int8 gives
/// int16.
DType promote(DType a, DType b);

/// The dtype in which kernels compute: float for the 16-bit floats, the type itself for float32 and
/// float64, int64 for integers and bool.
constexpr DType compute_dtype(DType t) {
  return t == DType::Float64 ? t : is_floating_point(t) ? DType::Float32 : DType::Int64;
}

/// The DType of a C++ scalar.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = kFloat64;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = kBFloat16;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType value = kFloat16;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = kInt64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = kInt32;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = kInt16;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = kInt8;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = kUInt8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = kBool;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace farro
