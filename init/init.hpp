#pragma once

/// Ways to fill a tensor before training, in place, unrecorded. Random ones draw from `generator`,
/// or from default_generator(); the same seed gives the same numbers on every host backend and
/// thread count. A tensor without elements is left alone, with a warning. All return the tensor.
/// Names and numbers are those of torch.nn.init.

#include <string_view>

#include <farro/autograd/tensor.hpp>
#include <farro/backends/random.hpp>

namespace farro::init {

/// How many inputs reach an output through a weight, and how many outputs an input.
struct Fans {
  int64_t in = 0;
  int64_t out = 0;
};
/// fan_in is size(1)·(size(2)·size(3)·…), fan_out size(0)·the same. ValueError for fewer than 2
/// dimensions.
Fans calculate_fan_in_and_fan_out(const Tensor& tensor);
/// mode is "fan_in", "fan_out" or "fan_avg", the mean of both; ValueError for another.
double calculate_fan(const Tensor& tensor, std::string_view mode);

/// What a nonlinearity wants weights scaled by: 1 for linear, conv1d … conv_transpose3d, sigmoid;
/// tanh 5/3; relu √2; leaky_relu √(2 / (1 + slope²)), slope 0.01 unless given; selu 3/4.
/// ValueError, naming those known, for others.
double calculate_gain(std::string_view nonlinearity, std::optional<double> slope = {});

const Tensor& uniform_(const Tensor& tensor, double a = 0, double b = 1,
                       Generator* generator = nullptr);
const Tensor& normal_(const Tensor& tensor, double mean = 0, double std = 1,
                      Generator* generator = nullptr);
/// Normal, of what lies in [a, b] only.
const Tensor& trunc_normal_(const Tensor& tensor, double mean = 0, double std = 1, double a = -2,
                            double b = 2, Generator* generator = nullptr);
const Tensor& constant_(const Tensor& tensor, double value);
const Tensor& ones_(const Tensor& tensor);
const Tensor& zeros_(const Tensor& tensor);
/// The identity; ValueError unless there are 2 dimensions.
const Tensor& eye_(const Tensor& tensor);
/// Makes a convolution's weight (3 to 5 dimensions, ValueError otherwise) pass its input channels
/// on, in each group.
const Tensor& dirac_(const Tensor& tensor, int64_t groups = 1);

/// Uniform in ±gain·√(6 / (fan_in + fan_out)) (Glorot and Bengio, Understanding the difficulty of
/// training deep feedforward neural networks, 2010).
const Tensor& xavier_uniform_(const Tensor& tensor, double gain = 1,
                              Generator* generator = nullptr);
/// Normal of deviation gain·√(2 / (fan_in + fan_out)).
const Tensor& xavier_normal_(const Tensor& tensor, double gain = 1, Generator* generator = nullptr);
/// Uniform in ±gain·√(3 / fan); a is the slope of leaky_relu (He et al., Delving deep into
/// rectifiers, 2015).
const Tensor& kaiming_uniform_(const Tensor& tensor, double a = 0, std::string_view mode = "fan_in",
                               std::string_view nonlinearity = "leaky_relu",
                               Generator* generator = nullptr);
/// Normal of deviation gain / √fan.
const Tensor& kaiming_normal_(const Tensor& tensor, double a = 0, std::string_view mode = "fan_in",
                              std::string_view nonlinearity = "leaky_relu",
                              Generator* generator = nullptr);
/// A matrix with orthonormal rows or columns, whichever are fewer, after flattening dimensions 1 …
/// (Saxe et al., Exact solutions to the nonlinear dynamics of learning in deep linear neural
/// networks, 2013). ValueError for fewer than 2.
const Tensor& orthogonal_(const Tensor& tensor, double gain = 1, Generator* generator = nullptr);
/// Normal, with ⌈sparsity·rows⌉ zeros in each column; ValueError unless there are 2 dimensions.
const Tensor& sparse_(const Tensor& tensor, double sparsity, double std = 0.01,
                      Generator* generator = nullptr);

}  // namespace farro::init
