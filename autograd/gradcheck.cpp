#include <farro/autograd/gradcheck_jacobian.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <farro/autograd/derivatives.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/random.hpp>
#include <farro/backends/warning.hpp>

namespace farro {
namespace {

using namespace detail;

constexpr const char* kName = "gradcheck";

bool is_differentiable(const Tensor& t) {
  return t.defined() && t.is_floating_point() && t.requires_grad();
}

std::vector<Tensor> differentiable(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  std::ranges::copy_if(tensors, std::back_inserter(result), is_differentiable);
  return result;
}

/// The places of those that `differentiable` gives.
std::vector<size_t> numbers_of(const std::vector<Tensor>& tensors) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_differentiable(tensors[i])) numbers.push_back(i);
  }
  return numbers;
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

void compare(const Jacobian& analytical, const Jacobian& numerical, size_t output, size_t input,
             const GradcheckOptions& options, const char* mode = "backward") {
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
      "expected the Jacobians of output {} with respect to input {} by {} and by differences to "
      "agree (atol {}, rtol {}), "
      "got {} of "
      "{} entries that differ, most at row {} (element of the input), column {} (element of the "
      "output): numerical {:.9g}, analytical {:.9g}\nnumerical:\n{}analytical:\n{}",
      output, input, mode, options.atol, options.rtol, wrong, numerical.values.size(), row, column,
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

Tensor shaped_like(const Tensor& tensor, const std::vector<double>& values) {
  return from_vector(values, {tensor.numel()}, {.dtype = kFloat64})
      .to(tensor.device())
      .to(tensor.dtype())
      .reshape(tensor.sizes());
}

/// Of every output with respect to one input, by forward mode, an evaluation for each element of
/// the input.
std::vector<Jacobian> forward_jacobians(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                        size_t which, const std::vector<Tensor>& outputs) {
  const Tensor& input = inputs[which];
  std::vector<Jacobian> jacobians;
  for (const Tensor& output : outputs) jacobians.emplace_back(input, output);
  for (int64_t row = 0; row < input.numel(); ++row) {
    std::vector<Tensor> tangents(inputs.size());
    std::vector<double> one_hot(static_cast<size_t>(input.numel()));
    one_hot[static_cast<size_t>(row)] = 1;
    tangents[which] = shaped_like(input, one_hot);
    auto changes = detail::jvp(f, inputs, tangents, {}).second;
    for (size_t o = 0; o < outputs.size(); ++o) {
      std::vector<double> values = changes[o].to_vector();
      for (size_t c = 0; c < values.size(); ++c)
        jacobians[o].at(static_cast<size_t>(row), c) = values[c];
    }
  }
  return jacobians;
}

void check_jacobians(const TensorFunction& f, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& outputs, const GradcheckOptions& options) {
  std::vector<Tensor> wanted = differentiable(inputs);
  std::vector<size_t> numbers = numbers_of(inputs);
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
  for (size_t i = 0; options.check_forward_ad && i < wanted.size(); ++i) {
    std::vector<Jacobian> forward = forward_jacobians(f, inputs, numbers[i], outputs);
    for (size_t o = 0; o < outputs.size(); ++o)
      compare(forward[o], numerical[i][o], o, numbers[i], options, "forward mode");
  }
}

/// Numbers from -1 to 1, the same on each call.
std::vector<double> random_direction(const Tensor& like, Generator& generator) {
  std::vector<double> values = rand({like.numel()}, {.dtype = kFloat64}, &generator).to_vector();
  for (double& value : values) value = 2 * value - 1;
  return values;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double norm1(const std::vector<double>& a) {
  double sum = 0;
  for (double x : a) sum += std::abs(x);
  return sum;
}

/// One random projection vᵀ J u of each Jacobian instead of the whole (fast mode).
void check_projections(const TensorFunction& f, const std::vector<Tensor>& inputs,
                       const std::vector<Tensor>& outputs, const GradcheckOptions& options) {
  Generator generator(0x2545f491);
  std::vector<Tensor> wanted = differentiable(inputs);
  std::vector<size_t> numbers = numbers_of(inputs);
  std::vector<std::vector<double>> directions, weights;
  for (const Tensor& input : wanted) directions.push_back(random_direction(input, generator));
  for (const Tensor& output : outputs) weights.push_back(random_direction(output, generator));
  auto gradients = [&](size_t o) {
    const Tensor& output = outputs[o];
    if (!is_differentiable(output)) return std::vector<Tensor>(wanted.size());
    return grad({output}, wanted, {.retain_graph = true, .allow_unused = true},
                {shaped_like(output, weights[o])});
  };
  std::vector<std::vector<std::vector<double>>> changes;  // by input, then output
  for (size_t i = 0; i < wanted.size(); ++i) {
    changes.push_back(
        numerical_directional(f, inputs, wanted[i], directions[i], outputs, options.eps));
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    auto first = gradients(o), second = gradients(o);
    for (size_t i = 0; i < wanted.size(); ++i) {
      check_gradient(first[i], wanted[i], i);
      double numerical = dot(weights[o], changes[i][o]);
      double analytical = first[i].defined() ? dot(directions[i], first[i].to_vector()) : 0;
      double again = second[i].defined() ? dot(directions[i], second[i].to_vector()) : 0;
      double atol = options.atol * std::max(1.0, norm1(directions[i]) * norm1(weights[o]));
      bool agrees = analytical == numerical ||
                    std::abs(analytical - numerical) <= atol + options.rtol * std::abs(numerical);
      if (options.check_forward_ad) {
        std::vector<Tensor> tangents(inputs.size());
        tangents[numbers[i]] = shaped_like(wanted[i], directions[i]);
        double forward =
            dot(weights[o], detail::jvp(f, inputs, tangents, {}).second[o].to_vector());
        agrees = agrees && (forward == numerical || std::abs(forward - numerical) <=
                                                        atol + options.rtol * std::abs(numerical));
      }
      bool repeats = analytical == again ||
                     std::abs(analytical - again) <= options.nondet_tol * norm1(directions[i]);
      if (agrees && repeats) continue;
      check_jacobians(f, inputs, outputs, options);  // says which entry is wrong
      fail<GradcheckError>(kName,
                           "expected a random projection of the Jacobian of output {} with respect "
                           "to differentiable input "
                           "{} to agree, got numerical {:.9g}, analytical {:.9g} and {:.9g}; each "
                           "entry of the Jacobians "
                           "agrees within the tolerances",
                           o, i, numerical, analytical, again);
    }
  }
}

/// Zero gradients of the outputs give zeros.
void check_zero_gradients(const TensorFunction& f, const std::vector<Tensor>& inputs) {
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
void check_undefined_gradients(const TensorFunction& f, const std::vector<Tensor>& inputs) {
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

bool gradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options) {
  EnableGrad guard;
  check_inputs(inputs);
  try {
    (options.fast_mode ? check_projections : check_jacobians)(f, inputs, f(inputs), options);
    check_zero_gradients(f, inputs);
    if (options.check_undefined_grad) check_undefined_gradients(f, inputs);
  } catch (const GradcheckError&) {
    if (options.raise_exception) throw;
    return false;
  }
  return true;
}

bool gradgradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs,
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
