#include <farro/autograd/gradcheck_jacobian.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/backends/registry.hpp>

namespace farro::detail {
namespace {

constexpr const char* kName = "gradcheck";

template <class F>
void with_float(DType dtype, F f) {
  switch (dtype) {
    case DType::Float32:
      return f(float{});
    case DType::Float64:
      return f(double{});
    case DType::BFloat16:
      return f(BFloat16{});
    default:
      return f(Float16{});
  }
}

/// One element of a tensor of floats, on any device.
class Place {
 public:
  Place(const Tensor& tensor, int64_t number) : device_(tensor.device()), dtype_(tensor.dtype()) {
    const Dims& sizes = tensor.sizes();
    int64_t offset = 0;
    for (int d = sizes.size() - 1; d >= 0; --d) {
      offset += number % sizes[d] * tensor.strides()[d];
      number /= sizes[d];
    }
    place_ =
        static_cast<std::byte*>(tensor.data_ptr()) + offset * static_cast<int64_t>(size_of(dtype_));
  }
  double get() const {
    double result = 0;
    with_float(dtype_, [&](auto value) {
      copy(&value, place_, sizeof value);
      if constexpr (sizeof value == 2) {
        result = static_cast<double>(static_cast<float>(value));
      } else {
        result = static_cast<double>(value);
      }
    });
    return result;
  }
  void set(double number) const {
    with_float(dtype_, [&](auto value) {
      if constexpr (sizeof value == 2) {
        value = decltype(value)(static_cast<float>(number));
      } else {
        value = static_cast<decltype(value)>(number);
      }
      copy(place_, &value, sizeof value);
    });
  }

 private:
  void copy(void* to, const void* from, size_t bytes) const {
    if (device_.is_host()) {
      std::memcpy(to, from, bytes);
    } else {
      detail::backend_info(device_.backend()).copy(to, from, bytes);
    }
  }

  Device device_;
  DType dtype_;
  std::byte* place_;
};

/// An element that goes back to its place in the end.
class MovedElement {
 public:
  MovedElement(const Tensor& tensor, int64_t number)
      : element_(tensor, number), middle_(element_.get()) {}
  ~MovedElement() { element_.set(middle_); }
  MovedElement(const MovedElement&) = delete;
  MovedElement& operator=(const MovedElement&) = delete;
  /// Returns what is stored.
  double move(double distance) const {
    element_.set(middle_ + distance);
    return element_.get();
  }

 private:
  Place element_;
  double middle_;
};

/// What f gives now, as numbers.
std::vector<std::vector<double>> evaluate(const TensorFunction& f,
                                          const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& like) {
  std::vector<std::vector<double>> values;
  for (const Tensor& output : f(inputs))
    values.push_back(output.defined() ? output.to_vector() : std::vector<double>());
  for (size_t o = 0; o < like.size(); ++o) {
    if (values.size() == like.size() && values[o].size() == static_cast<size_t>(like[o].numel()))
      continue;
    fail<ValueError>(
        kName,
        "expected a function whose outputs have the same shapes on each call; output {} has not",
        o);
  }
  return values;
}

}  // namespace

std::vector<Jacobian> numerical_jacobians(const TensorFunction& f,
                                          const std::vector<Tensor>& inputs, const Tensor& input,
                                          const std::vector<Tensor>& outputs, double eps) {
  std::vector<Jacobian> jacobians;
  for (const Tensor& output : outputs) jacobians.emplace_back(input, output);
  for (int64_t row = 0; row < input.numel(); ++row) {
    MovedElement element(input, row);
    double above = element.move(eps);
    auto high = evaluate(f, inputs, outputs);
    double step = above - element.move(-eps);  // what rounding has left of 2 · eps
    if (step == 0 || !std::isfinite(step)) step = 2 * eps;
    auto low = evaluate(f, inputs, outputs);
    for (size_t o = 0; o < jacobians.size(); ++o) {
      for (size_t c = 0; c < jacobians[o].columns; ++c) {
        jacobians[o].at(static_cast<size_t>(row), c) = (high[o][c] - low[o][c]) / step;
      }
    }
  }
  return jacobians;
}

std::vector<std::vector<double>> numerical_directional(
    const TensorFunction& f, const std::vector<Tensor>& inputs, const Tensor& input,
    const std::vector<double>& direction, const std::vector<Tensor>& outputs, double eps) {
  std::deque<MovedElement> elements;
  for (int64_t i = 0; i < input.numel(); ++i) elements.emplace_back(input, i);
  auto move = [&](double distance) {
    for (size_t i = 0; i < elements.size(); ++i) elements[i].move(distance * direction[i]);
    return evaluate(f, inputs, outputs);
  };
  auto high = move(eps), low = move(-eps);
  for (size_t o = 0; o < outputs.size(); ++o) {
    for (size_t c = 0; c < high[o].size(); ++c) high[o][c] = (high[o][c] - low[o][c]) / (2 * eps);
  }
  return high;
}

void check_gradient(const Tensor& gradient, const Tensor& input, size_t input_number) {
  if (!gradient.defined()) return;
  if (gradient.sizes() != input.sizes() || gradient.dtype() != input.dtype() ||
      gradient.device() != input.device()) {
    fail<GradcheckError>(
        kName, "expected a gradient of shape {}, {} on {} for input {}, got {}, {} on {}",
        to_string(input.sizes()), name_of(input.dtype()), input.device().str(), input_number,
        to_string(gradient.sizes()), name_of(gradient.dtype()), gradient.device().str());
  }
}

std::vector<Jacobian> analytical_jacobians(const Tensor& output,
                                           const std::vector<Tensor>& inputs) {
  std::vector<Jacobian> jacobians;
  for (const Tensor& input : inputs) jacobians.emplace_back(input, output);
  for (int64_t column = 0; column < output.numel(); ++column) {
    Tensor one_hot = zeros(output.sizes(), {.dtype = output.dtype(), .device = output.device()});
    Place(one_hot, column).set(1);
    auto gradients =
        grad({output}, inputs, {.retain_graph = true, .allow_unused = true}, {one_hot});
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!gradients[i].defined()) continue;
      check_gradient(gradients[i], inputs[i], i);
      std::vector<double> values = gradients[i].to_vector();
      for (size_t row = 0; row < values.size(); ++row)
        jacobians[i].at(row, static_cast<size_t>(column)) = values[row];
    }
  }
  return jacobians;
}

std::string matrix_text(const Jacobian& jacobian) {
  constexpr size_t kRows = 32, kColumns = 10;
  std::vector<std::string> cells;
  size_t rows = std::min(jacobian.rows, kRows), columns = std::min(jacobian.columns, kColumns),
         width = 0;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      cells.push_back(fmt::format("{:.6g}", jacobian.at(r, c)));
      width = std::max(width, cells.back().size());
    }
  }
  std::string text;
  for (size_t r = 0; r < rows; ++r) {
    text += "  ";
    for (size_t c = 0; c < columns; ++c)
      text += fmt::format(" {:>{}}", cells[r * columns + c], width);
    text += jacobian.columns > columns ? " …\n" : "\n";
  }
  if (jacobian.rows > rows) text += "   …\n";
  return text;
}

}  // namespace farro::detail
