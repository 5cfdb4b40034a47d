#include <catch2/catch_test_macros.hpp>

#include <string_view>
#include <vector>

#include <support/compare.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>

/// Promotion of operands by dtype and by what they are: tensors with dimensions, 0-d tensors,
/// numbers. The tables are torch.result_type of PyTorch 1.13.0, which also is the dtype of a sum
/// there, a letter for each dtype.

namespace farro::test {
namespace {

/// In the order of DType.
constexpr std::string_view kLetters = "fdbhliscu?";

using Table = std::vector<std::string_view>;

const Table kAlike = {"fdffffffff", "dddddddddd", "fdbfbbbbbb", "fdfhhhhhhh", "fdbhllllll",
                      "fdbhliiiii", "fdbhlissss", "fdbhliscsc", "fdbhlissuu", "fdbhliscu?"};
/// Rows: tensors with dimensions; columns: 0-d tensors.
const Table kWithZeroDim = {"ffffffffff", "dddddddddd", "bbbbbbbbbb", "hhhhhhhhhh", "fdbhllllll",
                            "fdbhiiiiii", "fdbhssssss", "fdbhcccccc", "fdbhuuuuuu", "fdbhliscu?"};
/// Columns: true, 1, 1.5. The same for tensors with dimensions and 0-d ones.
const Table kWithNumber = {"fff", "ddd", "bbb", "hhh", "llf", "iif", "ssf", "ccf", "uuf", "?lf"};
/// Numbers alone are computed as C++ and Python do, in double, and remain numbers.
const Table kNumbers = {"?ld", "lld", "ddd"};

std::vector<Tensor> of_every_dtype(const Dims& sizes) {
  std::vector<Tensor> result;
  for (int i = 0; i < kDTypeCount; ++i)
    result.push_back(ones(sizes, {.dtype = static_cast<DType>(i)}));
  return result;
}

std::vector<Tensor> numbers() { return {Tensor(true), Tensor(1), Tensor(1.5)}; }

char letter(const Tensor& t) { return kLetters[static_cast<size_t>(t.dtype())]; }

void check(const Table& table, const std::vector<Tensor>& rows,
           const std::vector<Tensor>& columns) {
  REQUIRE(table.size() == rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    REQUIRE(table[r].size() == columns.size());
    for (size_t c = 0; c < columns.size(); ++c) {
      const Tensor &x = rows[r], &z = columns[c];
      INFO(name_of(x.dtype()) << " with " << name_of(z.dtype()));
      char expected = table[r][c];
      CHECK(letter(add(x, z)) == expected);
      CHECK(letter(mul(z, x)) == expected);
      CHECK(letter(maximum(x, z)) == expected);
      CHECK(letter(where(eq(x, z), x, z)) == expected);
      CHECK(letter(lt(x, z)) == '?');
      // True division and functions of numbers give integers the default dtype.
      CHECK(letter(div(x, z)) ==
            (std::string_view("fdbh").find(expected) == std::string_view::npos ? 'f' : expected));
    }
  }
}

}  // namespace

TEST_CASE("promotion: two tensors with dimensions, two without") {
  check(kAlike, of_every_dtype({2}), of_every_dtype({2}));
  check(kAlike, of_every_dtype({}), of_every_dtype({}));
}

TEST_CASE("promotion: a tensor with dimensions outranks one without") {
  check(kWithZeroDim, of_every_dtype({2}), of_every_dtype({}));
}

TEST_CASE("promotion: tensors outrank numbers") {
  check(kWithNumber, of_every_dtype({2}), numbers());
  check(kWithNumber, of_every_dtype({}), numbers());
  check(kNumbers, numbers(), numbers());
  CHECK(letter(ones({2}, {.dtype = kFloat16}) * (Tensor(1.5) + 1)) == 'h');
}

TEST_CASE("promotion: a result in place has self's dtype, or is refused before anything changes") {
  for (const Tensor& self : of_every_dtype({2})) {
    for (const Tensor& other : of_every_dtype({2})) {
      DType result = promote(self.dtype(), other.dtype());
      bool fits = is_floating_point(self.dtype()) ||
                  (!is_floating_point(result) && (self.dtype() != kBool || result == kBool));
      Tensor x = self.clone();
      INFO(name_of(x.dtype()) << " += " << name_of(other.dtype()));
      if (fits) {
        x.add_(other);
        CHECK(x.dtype() == self.dtype());
        CHECK(bitwise_equal(x, add(self, other).to(self.dtype())));
      } else {
        uint32_t version = x.version();
        CHECK_THROWS_AS(x.add_(other), TypeError);
        CHECK(bitwise_equal(x, self));
        CHECK(x.version() == version);
      }
    }
  }
}

TEST_CASE("promotion: gradients have their inputs' dtypes") {
  for (DType a : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
    for (DType b : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
      Tensor x = full({3}, 2, {.dtype = a, .requires_grad = true}),
             z = full({}, 4, {.dtype = b, .requires_grad = true});
      Tensor y = mul(x, z);
      y.backward(ones(y.sizes(), {.dtype = y.dtype()}));
      INFO(name_of(a) << " with " << name_of(b));
      CHECK(bitwise_equal(x.grad(), full({3}, 4, {.dtype = a})));
      CHECK(bitwise_equal(z.grad(), full({}, 6, {.dtype = b})));
    }
  }
}

}  // namespace farro::test
