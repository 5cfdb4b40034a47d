#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <support/compare.hpp>
#include <farro/autograd/tensor_function.hpp>
#include <farro/backends/kernels/pointwise.hpp>

/// Every differentiable operation of the library, and the kinds of tensors that each must take.
namespace farro::test {

using Inputs = std::vector<Tensor>;

/// Transposed: leaves whose transposes the operation sees (columns of matrices, for vectors).
/// Expanded: leaves of one entry along a dimension, expanded before the operation. LayoutLeft:
/// leaves whose first index is the fastest. The other kinds are contiguous leaves; Odd, and the
/// last four, are of odd sizes.
enum class Kind { ZeroD, Empty, One, Odd, Broadcast, Transposed, Expanded, LayoutLeft };
inline constexpr std::array kKinds = {Kind::ZeroD,    Kind::Empty,     Kind::One,
                                      Kind::Odd,      Kind::Broadcast, Kind::Transposed,
                                      Kind::Expanded, Kind::LayoutLeft};
const char* name_of(Kind kind);

/// What an operation takes in one place.
struct Operand {
  Dims zero_d, empty, one, odd;
  Domain domain{0.2, 1.5};
  Dims broadcast{};  ///< where the operation broadcasts by itself
};
/// Of any shape.
Operand any(Domain domain = {0.2, 1.5});
/// Of one dimension.
Operand line(Domain domain = {0.2, 1.5});
/// Of a fixed number of dimensions.
Operand of(const Dims& empty, const Dims& one, const Dims& odd, Domain domain = {-1, 1});

struct Skip {
  Kind kind;
  const char* reason;
  bool only_twice = false;  ///< it has a first derivative
};

struct Operation {
  std::string name;
  TensorFunction f;
  std::vector<Operand> operands;
  std::vector<Skip> skips{};  ///< kinds that the operation can't take, or has no gradient for
  bool first_is_condition = false;
  double eps = 1e-6;  ///< of finite differences
  /// How a kind is left out; null if it isn't.
  const Skip* skipped(Kind kind) const;
};

std::vector<Operation> pointwise_operations();
std::vector<Operation> shape_operations();
std::vector<Operation> index_operations();
std::vector<Operation> reduce_operations();
std::vector<Operation> product_operations();
std::vector<Operation> layer_operations();
/// All of the above.
std::vector<Operation> all_operations();

/// A function and leaves for it.
struct Sample {
  TensorFunction f;
  Inputs inputs;
};
Sample make_sample(const Operation& operation, Kind kind, Device device);

}  // namespace farro::test
