#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

#include <farro/backends/dims.hpp>
#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/dtype.hpp>

namespace farro {
namespace {

using Catch::Matchers::ContainsSubstring;

DType dtype_at(int i) { return static_cast<DType>(i); }

TEST_CASE("dtype: names lead back to their dtypes") {
  for (int i = 0; i < kDTypeCount; ++i) CHECK(dtype_from_name(name_of(dtype_at(i))) == dtype_at(i));
  CHECK(dtype_from_name("float") == kFloat32);
  CHECK(dtype_from_name("double") == kFloat64);
  CHECK_THROWS_AS(dtype_from_name("complex64"), TypeError);
}

TEST_CASE("dtype: promotion gives what PyTorch's table gives") {
  // In the order of DType: f32 f64 bf16 f16 i64 i32 i16 i8 u8 bool.
  constexpr DType f32 = kFloat32, f64 = kFloat64, b16 = kBFloat16, f16 = kFloat16, i64 = kInt64,
                  i32 = kInt32, i16 = kInt16, i8 = kInt8, u8 = kUInt8, bit = kBool;
  constexpr DType table[kDTypeCount][kDTypeCount] = {
      {f32, f64, f32, f32, f32, f32, f32, f32, f32, f32},
      {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64},
      {f32, f64, b16, f32, b16, b16, b16, b16, b16, b16},
      {f32, f64, f32, f16, f16, f16, f16, f16, f16, f16},
      {f32, f64, b16, f16, i64, i64, i64, i64, i64, i64},
      {f32, f64, b16, f16, i64, i32, i32, i32, i32, i32},
      {f32, f64, b16, f16, i64, i32, i16, i16, i16, i16},
      {f32, f64, b16, f16, i64, i32, i16, i8, i16, i8},
      {f32, f64, b16, f16, i64, i32, i16, i16, u8, u8},
      {f32, f64, b16, f16, i64, i32, i16, i8, u8, bit}};
  for (int i = 0; i < kDTypeCount; ++i) {
    for (int j = 0; j < kDTypeCount; ++j) {
      INFO(name_of(dtype_at(i)) << " with " << name_of(dtype_at(j)));
      CHECK(promote(dtype_at(i), dtype_at(j)) == table[i][j]);
    }
  }
}

TEST_CASE("dtype: dispatch finds the scalar, or says what is not supported") {
  size_t bytes = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    dispatch_dtype("test", dtype_at(i), kScalars, [&]<class S>() {
      bytes = sizeof(S);
      CHECK(dtype_of<S> == dtype_at(i));
    });
    CHECK(bytes == size_of(dtype_at(i)));
  }
  auto nothing = []<class S>() {};
  CHECK_THROWS_WITH(dispatch_dtype("test", kInt8, kComputeFloats, nothing),
                    ContainsSubstring("[test]") && ContainsSubstring("int8"));
}

TEST_CASE("dtype: 16-bit floats come back from float and round to even") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Float16 half;
    BFloat16 brain;
    half.bits = brain.bits = static_cast<uint16_t>(bits);
    float a = static_cast<float>(half), b = static_cast<float>(brain);
    bool same =
        (std::isnan(a) || Float16(a).bits == bits) && (std::isnan(b) || BFloat16(b).bits == bits);
    if (!same) FAIL("bits " << bits);
  }
  CHECK(static_cast<float>(Float16(65504.f)) == 65504.f);
  CHECK(static_cast<float>(Float16(65520.f)) == INFINITY);
  CHECK(static_cast<float>(Float16(65519.f)) == 65504.f);
  CHECK(static_cast<float>(Float16(5.9604645e-8f)) == 5.9604645e-8f);  // the smallest subnormal
  CHECK(static_cast<float>(Float16(2.9802322e-8f)) == 0.f);            // half of it: to even
  CHECK(static_cast<float>(Float16(1 + 0x1p-11f)) == 1.f);
  CHECK(static_cast<float>(Float16(1 + 3 * 0x1p-11f)) == 1 + 0x1p-9f);
  CHECK(static_cast<float>(BFloat16(1 + 0x1p-8f)) == 1.f);
  CHECK(static_cast<float>(BFloat16(1 + 3 * 0x1p-8f)) == 1 + 0x1p-6f);
  CHECK(std::isnan(static_cast<float>(BFloat16(NAN))));
  CHECK(std::isnan(static_cast<float>(Float16(NAN))));
}

TEST_CASE("dims: strides, contiguity, broadcasting and wrapping") {
  CHECK(contiguous_strides({2, 3, 4}) == Dims{12, 4, 1});
  CHECK(is_contiguous({2, 3}, {3, 1}));
  CHECK(is_contiguous({1, 3}, {77, 1}));
  CHECK(is_contiguous({0, 3}, {5, 9}));
  CHECK(is_contiguous({}, {}));
  CHECK_FALSE(is_contiguous({2, 3}, {1, 2}));
  CHECK(broadcast_shapes({3, 1}, {2, 1, 4}, "t") == Dims{2, 3, 4});
  CHECK(broadcast_shapes({0}, {1}, "t") == Dims{0});
  CHECK(broadcast_shapes({}, {}, "t") == Dims{});
  CHECK_THROWS_AS(broadcast_shapes({2}, {3}, "t"), ShapeError);
  CHECK(wrap_dim(-1, 3, "t") == 2);
  CHECK(wrap_dim(0, 0, "t") == 0);
  CHECK_THROWS_AS(wrap_dim(3, 3, "t"), IndexError);
  CHECK_THROWS_AS(Dims(9, 1), ShapeError);
  CHECK(to_string(Dims{2, 3}) == "[2, 3]");
}

}  // namespace
}  // namespace farro
