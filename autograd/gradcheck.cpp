#include <farro/autograd/gradcheck.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/random.hpp>
#include <farro/backends/registry.hpp>
#include <farro/backends/warning.hpp>

namespace farro {
namespace {

constexpr const char* kName = "gradcheck";

/// d output[c] / d input[r], row by row.
struct Jacobian {
  size_t rows = 0, columns = 0;
  std::vector<double> values;
  Jacobian(const Tensor& input, const Tensor& output)
      : rows(static_cast<size_t>(input.numel())),
        columns(static_cast<size_t>(output.numel())),
        values(rows * columns, 0.0) {}
  double& at(size_t row, size_t column) { return values[row * columns + column]; }
  double at(size_t row, size_t column) const { return values[row * columns + column]; }
};

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
class Element {
 public:
  Element(const Tensor& tensor, int64_t number) : device_(tensor.device()), dtype_(tensor.dtype()) {
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
  Element element_;
  double middle_;
};

bool is_differentiable(const Tensor& t) {
  return t.defined() && t.is_floating_point() && t.requires_grad();
}

std::vector<Tensor> differentiable(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  std::ranges::copy_if(tensors, std::back_inserter(result), is_differentiable);
  return result;
}

void check_inputs(const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!is_differentiable(x)) continue;
    for (int d = 0; d < x.dim(); ++d) {
      if (x.stride(d) == 0 && x.size(d) > 1) {
        fail<GradError>(kName,
                        "expected inputs whose elements have a place of their own in memory, got "
                        "input {} of shape "
                        "{} and strides {}",
                        i, to_string(x.sizes()), to_string(x.strides()));
      }
    }
    if (x.dtype() != kFloat64) {
      warn(
          fmt::format("[{}] input {} is {}: differences of outputs are unlikely to be precise "
                      "enough in less than float64",
                      kName, i, name_of(x.dtype())));
    }
  }
  if (std::ranges::none_of(inputs, is_differentiable)) {
    fail<ValueError>(kName, "expected at least one floating-point input that requires grad");
  }
}

/// Of every output with respect to one input, by central differences.
std::vector<Jacobian> numerical_jacobians(const CheckedFunction& f,
                                          const std::vector<Tensor>& inputs, const Tensor& input,
                                          const std::vector<Tensor>& outputs, double eps) {
  std::vector<Jacobian> jacobians;
  for (const Tensor& output : outputs) jacobians.emplace_back(input, output);
  auto evaluate = [&] {
    std::vector<std::vector<double>> values;
    for (const Tensor& output : f(inputs))
      values.push_back(output.defined() ? output.to_vector() : std::vector<double>());
    return values;
  };
  for (int64_t row = 0; row < input.numel(); ++row) {
    MovedElement element(input, row);
    double above = element.move(eps);
    auto high = evaluate();
    double step = above - element.move(-eps);  // what rounding has left of 2 · eps
    if (step == 0 || !std::isfinite(step)) step = 2 * eps;
    auto low = evaluate();
    for (size_t o = 0; o < jacobians.size(); ++o) {
      Jacobian& jacobian = jacobians[o];
      if (high.size() != jacobians.size() || high[o].size() != jacobian.columns ||
          low[o].size() != jacobian.columns) {
        fail<ValueError>(kName,
                         "expected a function whose outputs have the same shapes on each call; "
                         "output {} has not",
                         o);
      }
      for (size_t c = 0; c < jacobian.columns; ++c) {
        jacobian.at(static_cast<size_t>(row), c) = (high[o][c] - low[o][c]) / step;
      }
    }
  }
  return jacobians;
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

/// Of one output with respect to every input, a backward for each element of the output.
std::vector<Jacobian> analytical_jacobians(const Tensor& output,
                                           const std::vector<Tensor>& inputs) {
  std::vector<Jacobian> jacobians;
  for (const Tensor& input : inputs) jacobians.emplace_back(input, output);
  for (int64_t column = 0; column < output.numel(); ++column) {
    Tensor one_hot = zeros(output.sizes(), {.dtype = output.dtype(), .device = output.device()});
    Element(one_hot, column).set(1);
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

/// A matrix with aligned columns; the middle of large ones is left out.
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

void compare(const Jacobian& analytical, const Jacobian& numerical, size_t output, size_t input,
             const GradcheckOptions& options) {
  size_t worst = 0, wrong = 0;
  double worst_excess = 0;
  for (size_t i = 0; i < numerical.values.size(); ++i) {
    double a = analytical.values[i], n = numerical.values[i];
    double excess = std::abs(a - n) / (options.atol + options.rtol * std::abs(n));
    if (excess <= 1 || a == n) continue;
    if (wrong++ == 0 || !(excess <= worst_excess)) {
      worst = i;
      worst_excess = std::isnan(excess) ? HUGE_VAL : excess;
    }
  }
  if (wrong == 0) return;
  size_t row = worst / numerical.columns, column = worst % numerical.columns;
  fail<GradcheckError>(
      kName,
      "expected the Jacobians of output {} with respect to input {} to agree (atol {}, rtol {}), "
      "got {} of "
      "{} entries that differ, most at row {} (element of the input), column {} (element of the "
      "output): numerical {:.9g}, analytical {:.9g}\nnumerical:\n{}analytical:\n{}",
      output, input, options.atol, options.rtol, wrong, numerical.values.size(), row, column,
      numerical.values[worst], analytical.values[worst], matrix_text(numerical),
      matrix_text(analytical));
}

void compare_runs(const Jacobian& first, const Jacobian& second, size_t output, size_t input,
                  double tolerance) {
  for (size_t i = 0; i < first.values.size(); ++i) {
    double a = first.values[i], b = second.values[i];
    if (std::abs(a - b) <= tolerance || a == b || (std::isnan(a) && std::isnan(b))) continue;
    fail<GradcheckError>(kName,
                         "expected two runs of one backward to agree within {}, got different "
                         "gradients of output {} with "
                         "respect to input {}: {:.17g} and {:.17g}\nfirst run:\n{}second run:\n{}",
                         tolerance, output, input, a, b, matrix_text(first), matrix_text(second));
  }
}

void check_jacobians(const CheckedFunction& f, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& outputs, const GradcheckOptions& options) {
  std::vector<Tensor> wanted = differentiable(inputs);
  std::vector<size_t> numbers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_differentiable(inputs[i])) numbers.push_back(i);
  }
  std::vector<std::vector<Jacobian>> numerical;  // by input, then output
  for (const Tensor& input : wanted)
    numerical.push_back(numerical_jacobians(f, inputs, input, outputs, options.eps));
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (!is_differentiable(outputs[o])) {
      for (size_t i = 0; i < wanted.size(); ++i)
        compare(Jacobian(wanted[i], outputs[o]), numerical[i][o], o, numbers[i], options);
      continue;
    }
    std::vector<Jacobian> first = analytical_jacobians(outputs[o], wanted);
    std::vector<Jacobian> second = analytical_jacobians(outputs[o], wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      compare_runs(first[i], second[i], o, numbers[i], options.nondet_tol);
      compare(first[i], numerical[i][o], o, numbers[i], options);
    }
  }
}

/// Zero gradients of the outputs give zeros.
void check_zero_gradients(const CheckedFunction& f, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> wanted = differentiable(inputs), outputs = differentiable(f(inputs)), zero;
  if (outputs.empty()) return;
  for (const Tensor& output : outputs)
    zero.push_back(zeros(output.sizes(), {.dtype = output.dtype(), .device = output.device()}));
  auto gradients = grad(outputs, wanted, {.allow_unused = true}, zero);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!gradients[i].defined()) continue;
    check_gradient(gradients[i], wanted[i], i);
    for (double value : gradients[i].to_vector()) {
      if (value == 0) continue;
      fail<GradcheckError>(
          kName,
          "expected zeros from backward for gradients of the outputs that are zero, got {} in the "
          "gradient of differentiable input {}",
          value, i);
    }
  }
}

/// Passes a tensor on, and no gradient back.
Tensor without_gradient(const Tensor& x) {
  return autograd::record("UndefinedGradBackward", alias(x, x.sizes(), x.strides(), x.data_ptr()),
                          {x}, {},
                          [](const autograd::BackwardContext&) { return autograd::Grads{{}}; });
}

/// A null gradient of an output counts as zeros: all of them null, and each one beside random
/// gradients of the others.
void check_undefined_gradients(const CheckedFunction& f, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> wanted = differentiable(inputs);
  size_t count = differentiable(f(inputs)).size();
  constexpr size_t kAll = ~size_t{0};
  auto gradients = [&](size_t which, bool undefined) {
    std::vector<Tensor> outputs = differentiable(f(inputs)), grads;
    Generator generator(0x9e3779b9);
    for (size_t o = 0; o < outputs.size(); ++o) {
      bool left_out = which == kAll || which == o;
      grads.push_back(left_out ? zeros_like(outputs[o])
                               : rand(outputs[o].sizes(),
                                      {.dtype = outputs[o].dtype(), .device = outputs[o].device()},
                                      &generator));
      if (left_out && undefined) outputs[o] = without_gradient(outputs[o]);
    }
    return grad(outputs, wanted, {.materialize_grads = true}, grads);
  };
  for (size_t which = count > 1 ? 0 : kAll; count > 0;
       which = which + 1 == count ? kAll : which + 1) {
    std::vector<Tensor> with_null;
    try {
      with_null = gradients(which, true);
    } catch (const Error& error) {
      fail<GradcheckError>(kName,
                           "expected backward to take null gradients of outputs, got an error: {}",
                           error.what());
    }
    std::vector<Tensor> with_zeros = gradients(which, false);
    for (size_t i = 0; i < wanted.size(); ++i) {
      std::vector<double> a = with_null[i].to_vector(), b = with_zeros[i].to_vector();
      auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
      if (std::ranges::equal(a, b, same)) continue;
      fail<GradcheckError>(
          kName,
          "expected null gradients of outputs to count as zeros in backward; the gradient of "
          "differentiable input {} differs",
          i);
    }
    if (which == kAll) break;
  }
}

std::vector<Tensor> random_gradients(const std::vector<Tensor>& outputs) {
  Generator generator(0x51ed270b);
  std::vector<Tensor> grads;
  for (const Tensor& output : outputs) {
    grads.push_back(
        rand(output.sizes(), {.dtype = output.dtype(), .device = output.device()}, &generator));
    grads.back().requires_grad_();
  }
  return grads;
}

}  // namespace

bool gradcheck(const CheckedFunction& f, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options) {
  EnableGrad guard;
  check_inputs(inputs);
  try {
    check_jacobians(f, inputs, f(inputs), options);
    check_zero_gradients(f, inputs);
    if (options.check_undefined_grad) check_undefined_gradients(f, inputs);
  } catch (const GradcheckError&) {
    if (options.raise_exception) throw;
    return false;
  }
  return true;
}

bool gradgradcheck(const CheckedFunction& f, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options, const std::vector<Tensor>& grad_outputs) {
  EnableGrad guard;
  check_inputs(inputs);
  std::vector<Tensor> grads =
      grad_outputs.empty() ? random_gradients(differentiable(f(inputs))) : grad_outputs;
  std::vector<Tensor> all = inputs;
  all.insert(all.end(), grads.begin(), grads.end());
  auto gradients = [&f, count = inputs.size()](const std::vector<Tensor>& list) {
    auto end_of_inputs = list.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Tensor> own(list.begin(), end_of_inputs), of_outputs(end_of_inputs, list.end());
    auto result = grad(differentiable(f(own)), differentiable(own),
                       {.create_graph = true, .allow_unused = true}, of_outputs);
    std::erase_if(result, [](const Tensor& t) { return !t.defined(); });
    return result;
  };
  return gradcheck(gradients, all, options);
}

}  // namespace farro
