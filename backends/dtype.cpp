#include <farro/backends/dtype.hpp>

#include <array>

#include <farro/backends/error.hpp>

namespace farro {
namespace {

constexpr std::array<std::string_view, kDTypeCount> kNames = {
    "float32", "float64", "bfloat16", "float16", "int64",
    "int32",   "int16",   "int8",     "uint8",   "bool"};

}  // namespace

std::string_view name_of(DType t) { return kNames[static_cast<size_t>(t)]; }

DType dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  if (name == "float") return kFloat32;
  if (name == "double") return kFloat64;
  if (name == "half") return kFloat16;
  fail<TypeError>("dtype",
                  "expected one of float32, float64, bfloat16, float16, int64, int32, int16, int8, "
                  "uint8, bool, got \"{}\"",
                  name);
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_floating_point(a) != is_floating_point(b)) return is_floating_point(a) ? a : b;
  if (is_floating_point(a)) {
    if (a == kFloat64 || b == kFloat64) return kFloat64;
    return kFloat32;  // two different ones of float32, bfloat16, float16
  }
  if (a == kBool) return b;
  if (b == kBool) return a;
  if (a == kUInt8 || b == kUInt8) {
    DType other = a == kUInt8 ? b : a;
    return other == kInt8 ? kInt16 : other;
  }
  return a < b ? a : b;  // signed integers are listed from wide to narrow
}

}  // namespace farro
