#include <farro/init/init.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/random.hpp>
#include <farro/backends/warning.hpp>

namespace farro::init {
namespace {

Philox draw(Generator* generator) { return (generator ? *generator : default_generator()).next(); }

/// True where there is something to fill; warns where there is not.
bool has_elements(const char* name, const Tensor& tensor) {
  if (tensor.numel() > 0) return true;
  warn(fmt::format("[{}] a tensor of shape {} has no elements: nothing was initialised", name,
                   to_string(tensor.sizes())));
  return false;
}

void check_floating(const char* name, const Tensor& tensor) {
  if (!tensor.is_floating_point()) {
    fail<TypeError>(name, "expected a floating-point tensor, got {}", name_of(tensor.dtype()));
  }
}

const Tensor& fill_uniform(const char* name, const Tensor& tensor, double a, double b,
                           Generator* generator) {
  check_floating(name, tensor);
  if (a > b) fail<ValueError>(name, "expected lower and upper bounds, got {} and {}", a, b);
  if (!has_elements(name, tensor)) return tensor;
  NoGrad guard;
  autograd::check_inplace(tensor, name);
  kernels::fill_uniform(tensor.array(), draw(generator), a, b);
  autograd::bump_version(tensor);
  return tensor;
}

const Tensor& fill_normal(const char* name, const Tensor& tensor, double mean, double std,
                          Generator* generator) {
  check_floating(name, tensor);
  if (!(std >= 0))
    fail<ValueError>(name, "expected a standard deviation of at least 0, got {}", std);
  if (!has_elements(name, tensor)) return tensor;
  NoGrad guard;
  autograd::check_inplace(tensor, name);
  kernels::fill_normal(tensor.array(), draw(generator), mean, std);
  autograd::bump_version(tensor);
  return tensor;
}

/// Row-major elements from the host.
const Tensor& set(const Tensor& tensor, const std::vector<double>& elements) {
  NoGrad guard;
  tensor.copy_(
      from_vector(elements, tensor.sizes(), {.dtype = kFloat64, .device = tensor.device()}));
  return tensor;
}

/// Scales column after column to length 1 after taking away what lies along those before, twice for
/// accuracy. `columns` are contiguous, of `length` each.
void orthonormalize(std::vector<double>& columns, int64_t count, int64_t length) {
  for (int64_t j = 0; j < count; ++j) {
    double* column = &columns[static_cast<size_t>(j * length)];
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < j; ++k) {
        const double* other = &columns[static_cast<size_t>(k * length)];
        double along = 0;
        for (int64_t i = 0; i < length; ++i) along += column[i] * other[i];
        for (int64_t i = 0; i < length; ++i) column[i] -= along * other[i];
      }
    }
    double norm = 0;
    for (int64_t i = 0; i < length; ++i) norm += column[i] * column[i];
    norm = std::sqrt(norm);
    for (int64_t i = 0; i < length; ++i) column[i] /= norm;
  }
}

double normal_cdf(double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }

}  // namespace

Fans calculate_fan_in_and_fan_out(const Tensor& tensor) {
  if (tensor.dim() < 2) {
    fail<ValueError>("calculate_fan_in_and_fan_out", "expected at least 2 dimensions, got shape {}",
                     to_string(tensor.sizes()));
  }
  int64_t field = 1;
  for (int i = 2; i < tensor.dim(); ++i) field *= tensor.size(i);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

double calculate_fan(const Tensor& tensor, std::string_view mode) {
  if (mode != "fan_in" && mode != "fan_out" && mode != "fan_avg") {
    fail<ValueError>("calculate_fan", "expected mode fan_in, fan_out or fan_avg, got \"{}\"", mode);
  }
  Fans fans = calculate_fan_in_and_fan_out(tensor);
  if (mode == "fan_in") return static_cast<double>(fans.in);
  if (mode == "fan_out") return static_cast<double>(fans.out);
  return static_cast<double>(fans.in + fans.out) / 2;
}

double calculate_gain(std::string_view nonlinearity, std::optional<double> slope) {
  static constexpr std::string_view ones[] = {
      "linear",           "conv1d",           "conv2d",           "conv3d",
      "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"};
  if (std::ranges::count(ones, nonlinearity) > 0) return 1;
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 0.75;
  if (nonlinearity == "leaky_relu") {
    double s = slope.value_or(0.01);
    return std::sqrt(2 / (1 + s * s));
  }
  fail<ValueError>("calculate_gain",
                   "expected linear, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, "
                   "conv_transpose3d, sigmoid, tanh, relu, leaky_relu or selu, got \"{}\"",
                   nonlinearity);
}

const Tensor& uniform_(const Tensor& tensor, double a, double b, Generator* generator) {
  return fill_uniform("uniform_", tensor, a, b, generator);
}

const Tensor& normal_(const Tensor& tensor, double mean, double std, Generator* generator) {
  return fill_normal("normal_", tensor, mean, std, generator);
}

const Tensor& trunc_normal_(const Tensor& tensor, double mean, double std, double a, double b,
                            Generator* generator) {
  if (!(a <= b))
    fail<ValueError>("trunc_normal_", "expected lower and upper bounds, got {} and {}", a, b);
  if (!(std > 0))
    fail<ValueError>("trunc_normal_", "expected a standard deviation above 0, got {}", std);
  double lo = normal_cdf((a - mean) / std), hi = normal_cdf((b - mean) / std);
  check_floating("trunc_normal_", tensor);
  if (!has_elements("trunc_normal_", tensor)) return tensor;
  // By the inverse of the distribution function, in double: its ends are steep.
  NoGrad guard;
  Tensor x = empty(tensor.sizes(), {.dtype = kFloat64, .device = tensor.device()});
  fill_uniform("trunc_normal_", x, 2 * lo - 1, 2 * hi - 1, generator);
  x = erfinv(x) * (std * std::sqrt(2.0)) + mean;
  tensor.copy_(x.clamp(a, b));
  return tensor;
}

const Tensor& constant_(const Tensor& tensor, double value) {
  if (!has_elements("constant_", tensor)) return tensor;
  NoGrad guard;
  return tensor.fill_(value);
}

const Tensor& ones_(const Tensor& tensor) { return constant_(tensor, 1); }
const Tensor& zeros_(const Tensor& tensor) { return constant_(tensor, 0); }

const Tensor& eye_(const Tensor& tensor) {
  if (tensor.dim() != 2)
    fail<ValueError>("eye_", "expected 2 dimensions, got shape {}", to_string(tensor.sizes()));
  if (!has_elements("eye_", tensor)) return tensor;
  NoGrad guard;
  tensor.copy_(
      eye(tensor.size(0), tensor.size(1), {.dtype = tensor.dtype(), .device = tensor.device()}));
  return tensor;
}

const Tensor& dirac_(const Tensor& tensor, int64_t groups) {
  if (tensor.dim() < 3 || tensor.dim() > 5) {
    fail<ValueError>("dirac_", "expected 3 to 5 dimensions, got shape {}",
                     to_string(tensor.sizes()));
  }
  if (groups < 1 || tensor.size(0) % groups != 0) {
    fail<ValueError>("dirac_", "expected groups to divide {} output channels, got {}",
                     tensor.size(0), groups);
  }
  if (!has_elements("dirac_", tensor)) return tensor;
  int64_t out = tensor.size(0) / groups, in = tensor.size(1), field = 1, centre = 0;
  for (int i = 2; i < tensor.dim(); ++i) {
    field *= tensor.size(i);
    centre = centre * tensor.size(i) + tensor.size(i) / 2;
  }
  std::vector<double> elements(static_cast<size_t>(tensor.numel()));
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t c = 0; c < std::min(out, in); ++c) {
      elements[static_cast<size_t>(((g * out + c) * in + c) * field + centre)] = 1;
    }
  }
  return set(tensor, elements);
}

const Tensor& xavier_uniform_(const Tensor& tensor, double gain, Generator* generator) {
  Fans fans = calculate_fan_in_and_fan_out(tensor);
  if (!has_elements("xavier_uniform_", tensor)) return tensor;
  double bound = gain * std::sqrt(6.0 / static_cast<double>(fans.in + fans.out));
  return fill_uniform("xavier_uniform_", tensor, -bound, bound, generator);
}

const Tensor& xavier_normal_(const Tensor& tensor, double gain, Generator* generator) {
  Fans fans = calculate_fan_in_and_fan_out(tensor);
  if (!has_elements("xavier_normal_", tensor)) return tensor;
  double std = gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
  return fill_normal("xavier_normal_", tensor, 0, std, generator);
}

const Tensor& kaiming_uniform_(const Tensor& tensor, double a, std::string_view mode,
                               std::string_view nonlinearity, Generator* generator) {
  double gain = calculate_gain(nonlinearity, a), fan = calculate_fan(tensor, mode);
  if (!has_elements("kaiming_uniform_", tensor)) return tensor;
  double bound = gain * std::sqrt(3 / fan);
  return fill_uniform("kaiming_uniform_", tensor, -bound, bound, generator);
}

const Tensor& kaiming_normal_(const Tensor& tensor, double a, std::string_view mode,
                              std::string_view nonlinearity, Generator* generator) {
  double gain = calculate_gain(nonlinearity, a), fan = calculate_fan(tensor, mode);
  if (!has_elements("kaiming_normal_", tensor)) return tensor;
  return fill_normal("kaiming_normal_", tensor, 0, gain / std::sqrt(fan), generator);
}

const Tensor& orthogonal_(const Tensor& tensor, double gain, Generator* generator) {
  check_floating("orthogonal_", tensor);
  if (tensor.dim() < 2) {
    fail<ValueError>("orthogonal_", "expected at least 2 dimensions, got shape {}",
                     to_string(tensor.sizes()));
  }
  if (!has_elements("orthogonal_", tensor)) return tensor;
  int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  int64_t count = std::min(rows, columns), length = std::max(rows, columns);
  // The random matrix is drawn as rows × columns on every backend, so that its numbers are the
  // same.
  std::vector<double> drawn = randn({rows, columns}, {.dtype = kFloat64}, generator).to_vector();
  auto at = [&](int64_t r, int64_t c) { return static_cast<size_t>(r * columns + c); };
  std::vector<double> vectors(drawn.size());
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t i = 0; i < length; ++i) {
      vectors[static_cast<size_t>(j * length + i)] = drawn[rows < columns ? at(j, i) : at(i, j)];
    }
  }
  orthonormalize(vectors, count, length);
  std::vector<double> elements(drawn.size());
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t i = 0; i < length; ++i) {
      elements[rows < columns ? at(j, i) : at(i, j)] =
          gain * vectors[static_cast<size_t>(j * length + i)];
    }
  }
  return set(tensor, elements);
}

const Tensor& sparse_(const Tensor& tensor, double sparsity, double std, Generator* generator) {
  if (tensor.dim() != 2)
    fail<ValueError>("sparse_", "expected 2 dimensions, got shape {}", to_string(tensor.sizes()));
  if (!(sparsity >= 0 && sparsity <= 1))
    fail<ValueError>("sparse_", "expected a sparsity from 0 to 1, got {}", sparsity);
  fill_normal("sparse_", tensor, 0, std, generator);
  if (tensor.numel() == 0) return tensor;
  int64_t rows = tensor.size(0), columns = tensor.size(1);
  auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  std::vector<double> elements = tensor.to_vector();
  for (int64_t c = 0; c < columns; ++c) {
    std::vector<int64_t> order(static_cast<size_t>(rows));
    kernels::fill_permutation(order.data(), rows, draw(generator));
    for (int64_t i = 0; i < zeros; ++i)
      elements[static_cast<size_t>(order[static_cast<size_t>(i)] * columns + c)] = 0;
  }
  return set(tensor, elements);
}

}  // namespace farro::init
