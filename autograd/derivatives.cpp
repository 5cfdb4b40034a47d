/// Forward mode goes over the tape from the inputs to the outputs. A node knows its operation's
/// transposed derivative, g ↦ Jᵀ g, which is linear in g; the derivative of ⟨Jᵀ g, v⟩ with respect
/// to g is J v. Pointwise operations, where J is diagonal, apply their formula to the tangents
/// themselves.

#include <farro/autograd/derivatives.hpp>

#include <algorithm>
#include <unordered_map>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/forward_tape.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>

namespace farro {
namespace autograd {

FARRO_FAST_TLS constinit thread_local ForwardTape* ForwardTape::innermost = nullptr;

void ForwardTape::add(const Node& node, uint32_t output_nr, const TensorImpl& output) {
  auto& forms = forms_[&node];
  forms.resize(std::max<size_t>(node.output_count(), output_nr + 1));
  forms[output_nr] = {output.array.sizes, output.array.dtype, output.array.device};
}

const std::vector<OutputForm>* ForwardTape::find(const Node& node) const {
  auto entry = forms_.find(&node);
  return entry == forms_.end() ? nullptr : &entry->second;
}

namespace {

/// Forward through any node by its backward.
Grads transpose(Node& node, const Grads& tangents, std::span<const OutputForm> outputs) {
  bool create_graph = grad_mode_enabled();
  EnableGrad guard;
  Grads dummies, transposed;
  std::vector<Tensor> variables, results, directions;
  for (const OutputForm& form : outputs) {
    dummies.push_back(zeros(form.sizes, {.dtype = form.dtype,
                                         .device = form.device,
                                         .requires_grad = is_floating_point(form.dtype)}));
    variables.push_back(dummies.back());
  }
  node.apply(dummies, transposed);
  for (size_t i = 0; i < transposed.size() && i < tangents.size(); ++i) {
    if (!tangents[i].defined() || !transposed[i].defined() || !transposed[i].requires_grad())
      continue;
    results.push_back(transposed[i]);
    directions.push_back(tangents[i]);
  }
  if (results.empty()) return Grads(outputs.size());
  std::vector<size_t> floats;
  std::vector<Tensor> wanted;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!variables[i].requires_grad()) continue;
    floats.push_back(i);
    wanted.push_back(variables[i]);
  }
  auto found =
      grad(results, wanted,
           {.retain_graph = true, .create_graph = create_graph, .allow_unused = true}, directions);
  Grads forward_grads(outputs.size());
  for (size_t k = 0; k < floats.size(); ++k) forward_grads[floats[k]] = found[k];
  return forward_grads;
}

/// Tangents of the outputs of nodes.
class Sweep {
 public:
  void seed(const Edge& edge, const Tensor& tangent) {
    seeds_.push_back(edge.node);
    Grads& tangents = tangents_[edge.node.get()];
    tangents.resize(std::max<size_t>(tangents.size(), edge.input_nr + 1));
    tangents[edge.input_nr] = tangent;
  }

  /// Goes from the seeds to what the edges lead to.
  void run(const std::vector<Edge>& ends, const ForwardTape& tape) {
    for (Node* node : reachable(ends)) {
      if (tangents_.contains(node) || node->is_accumulate()) continue;
      Grads incoming;
      bool any = false;
      for (const Edge& edge : node->next_edges()) {
        incoming.push_back(edge ? at(edge) : Tensor());
        any = any || incoming.back().defined();
      }
      const std::vector<OutputForm>* forms = any ? tape.find(*node) : nullptr;
      if (!forms) continue;
      auto* formula = dynamic_cast<ForwardFormula*>(node);
      tangents_[node] =
          formula ? formula->forward(incoming, *forms) : transpose(*node, incoming, *forms);
    }
  }

  Tensor at(const Edge& edge) const {
    auto entry = tangents_.find(edge.node.get());
    return entry != tangents_.end() && edge.input_nr < entry->second.size()
               ? entry->second[edge.input_nr]
               : Tensor();
  }

 private:
  std::unordered_map<const Node*, Grads> tangents_;
  std::vector<IntrusivePtr<Node>> seeds_;  // nothing else need hold a leaf's node
};

/// The inputs as what f is to see: they have a history of their own, and keep the one they had if
/// that is wanted.
std::vector<Tensor> fresh(const std::vector<Tensor>& inputs, bool keep_history) {
  std::vector<Tensor> result;
  for (const Tensor& x : inputs) {
    if (!x.is_floating_point())
      result.push_back(x);
    else if (keep_history && x.requires_grad())
      result.push_back(x.view(x.sizes()));
    else
      result.push_back(x.detach().requires_grad_());
  }
  return result;
}

void check_like(const char* operation, const char* what, size_t number, const Tensor& given,
                const Tensor& like) {
  if (!given.defined() || (given.sizes() == like.sizes() && given.device() == like.device()))
    return;
  fail<ShapeError>(operation, "expected {} {} of shape {} on {}, got {} on {}", what, number,
                   to_string(like.sizes()), like.device().str(), to_string(given.sizes()),
                   given.device().str());
}

/// The gradient of each input; zeros where it has none. Outputs without history count for nothing.
std::vector<Tensor> gradients_of(const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& inputs, GradOptions options,
                                 const std::vector<Tensor>& grad_outputs = {}) {
  std::vector<Tensor> ends, grads, wanted;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    ends.push_back(outputs[i]);
    grads.push_back(grad_outputs.empty() ? Tensor() : grad_outputs[i]);
  }
  std::ranges::copy_if(inputs, std::back_inserter(wanted),
                       [](const Tensor& t) { return t.requires_grad(); });
  options.allow_unused = true;
  std::vector<Tensor> found(wanted.size());
  if (!ends.empty() && !wanted.empty()) found = grad(ends, wanted, options, grads);
  std::vector<Tensor> result;
  auto next = found.begin();
  for (const Tensor& input : inputs) {
    Tensor g = input.requires_grad() ? *next++ : Tensor();
    result.push_back(g.defined() ? g : zeros_like(input).detach());
  }
  return result;
}

Tensor finished(const Tensor& t, bool create_graph) { return create_graph ? t : t.detach(); }

}  // namespace
}  // namespace autograd

namespace detail {

using namespace autograd;

TensorLists jvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                const std::vector<Tensor>& tangents, DerivativeOptions options) {
  if (inputs.size() != tangents.size()) {
    fail<ValueError>("jvp", "expected a tangent for each of {} inputs, got {}", inputs.size(),
                     tangents.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    check_like("jvp", "tangent", i, tangents[i], inputs[i]);
  EnableGrad guard;
  ForwardTape tape;
  std::vector<Tensor> x = fresh(inputs, options.create_graph), y = f(x);
  Sweep sweep;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!tangents[i].defined() || !x[i].is_floating_point()) continue;
    Tensor tangent =
        tangents[i].dtype() == x[i].dtype() ? tangents[i] : tangents[i].to(x[i].dtype());
    sweep.seed(gradient_edge(x[i]), tangent);
  }
  std::vector<Edge> ends;
  for (const Tensor& output : y) {
    if (output.requires_grad()) ends.push_back(gradient_edge(output));
  }
  TensorLists result;
  SetGradEnabled mode(options.create_graph);
  sweep.run(ends, tape);
  for (const Tensor& output : y) {
    Tensor tangent = output.requires_grad() ? sweep.at(gradient_edge(output)) : Tensor();
    if (!tangent.defined()) tangent = zeros_like(output);
    result.first.push_back(finished(output, options.create_graph));
    result.second.push_back(finished(tangent, options.create_graph));
  }
  return result;
}

TensorLists vjp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                const std::vector<Tensor>& grad_outputs, DerivativeOptions options) {
  EnableGrad guard;
  std::vector<Tensor> x = fresh(inputs, options.create_graph), y = f(x);
  if (!grad_outputs.empty() && grad_outputs.size() != y.size()) {
    fail<ValueError>("vjp", "expected a gradient for each of {} outputs, got {}", y.size(),
                     grad_outputs.size());
  }
  for (size_t i = 0; i < grad_outputs.size(); ++i)
    check_like("vjp", "gradient", i, grad_outputs[i], y[i]);
  TensorLists result;
  result.second = gradients_of(y, x, {.create_graph = options.create_graph}, grad_outputs);
  for (const Tensor& output : y) result.first.push_back(finished(output, options.create_graph));
  return result;
}

}  // namespace detail

namespace {

Dims joined(const Dims& a, const Dims& b) {
  Dims result(a.size() + b.size(), 0);
  for (int d = 0; d < a.size(); ++d) result[d] = a[d];
  for (int d = 0; d < b.size(); ++d) result[a.size() + d] = b[d];
  return result;
}

Tensor one_hot(const Tensor& like, int64_t place) {
  Tensor flat = zeros({like.numel()}, {.dtype = like.dtype(), .device = like.device()});
  flat.slice(0, place, place + 1).fill_(1.0);
  return flat.view(like.sizes());
}

/// Rows of one output with respect to all inputs, or columns of one input in all outputs, side by
/// side.
Tensor stacked(const std::vector<Tensor>& parts, int dim, const Dims& sizes, const Tensor& like) {
  if (parts.empty()) return zeros(sizes, {.dtype = like.dtype(), .device = like.device()});
  return stack(parts, dim).reshape(sizes);
}

std::vector<std::vector<Tensor>> jacobian_by_columns(const TensorFunction& f,
                                                     const std::vector<Tensor>& inputs,
                                                     bool create_graph) {
  std::vector<Tensor> outputs;
  {
    NoGrad guard;
    outputs = f(inputs);
  }
  std::vector<std::vector<Tensor>> result(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<std::vector<Tensor>> columns(outputs.size());
    for (int64_t k = 0; k < inputs[i].numel(); ++k) {
      std::vector<Tensor> tangents(inputs.size());
      tangents[i] = one_hot(inputs[i], k);
      auto change = detail::jvp(f, inputs, tangents, {.create_graph = create_graph}).second;
      for (size_t o = 0; o < outputs.size(); ++o)
        columns[o].push_back(change[o].reshape({outputs[o].numel()}));
    }
    for (size_t o = 0; o < outputs.size(); ++o) {
      result[o].push_back(
          stacked(columns[o], 1, joined(outputs[o].sizes(), inputs[i].sizes()), outputs[o]));
    }
  }
  return result;
}

std::vector<std::vector<Tensor>> jacobian_by_rows(const TensorFunction& f,
                                                  const std::vector<Tensor>& inputs,
                                                  bool create_graph) {
  EnableGrad guard;
  std::vector<Tensor> x = autograd::fresh(inputs, create_graph), y = f(x), wanted;
  std::ranges::copy_if(x, std::back_inserter(wanted),
                       [](const Tensor& t) { return t.requires_grad(); });
  std::vector<std::vector<Tensor>> result;
  for (const Tensor& output : y) {
    std::vector<std::vector<Tensor>> rows(x.size());
    for (int64_t k = 0; k < output.numel(); ++k) {
      auto row = autograd::gradients_of(
          {output}, x, {.retain_graph = true, .create_graph = create_graph}, {one_hot(output, k)});
      for (size_t i = 0; i < x.size(); ++i) rows[i].push_back(row[i].reshape({x[i].numel()}));
    }
    result.emplace_back();
    for (size_t i = 0; i < x.size(); ++i) {
      result.back().push_back(stacked(rows[i], 0, joined(output.sizes(), x[i].sizes()), output));
    }
  }
  return result;
}

/// The gradients of a function of one element, as a function.
TensorFunction gradient_of(const char* operation, const TensorFunction& f) {
  return [operation, f](const std::vector<Tensor>& x) {
    std::vector<Tensor> y = f(x);
    if (y.size() != 1 || y[0].numel() != 1) {
      fail<ValueError>(
          operation,
          "expected a function that returns one element, got {} tensors, the first of shape {}",
          y.size(), y.empty() ? "()" : to_string(y[0].sizes()));
    }
    return autograd::gradients_of(y, x, {.create_graph = true});
  };
}

}  // namespace

std::vector<std::vector<Tensor>> jacobian(const TensorFunction& f,
                                          const std::vector<Tensor>& inputs,
                                          JacobianOptions options) {
  return options.forward_mode ? jacobian_by_columns(f, inputs, options.create_graph)
                              : jacobian_by_rows(f, inputs, options.create_graph);
}

Tensor jacobian(const TensorFunction& f, const Tensor& input, JacobianOptions options) {
  auto result = jacobian(f, std::vector<Tensor>{input}, options);
  if (result.size() != 1)
    fail<ValueError>("jacobian", "expected a function that returns one tensor, got {}",
                     result.size());
  return result[0][0];
}

std::vector<std::vector<Tensor>> hessian(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                         DerivativeOptions options) {
  return jacobian_by_columns(gradient_of("hessian", f), inputs, options.create_graph);
}

Tensor hessian(const TensorFunction& f, const Tensor& input, DerivativeOptions options) {
  return hessian(f, std::vector<Tensor>{input}, options)[0][0];
}

std::pair<Tensor, std::vector<Tensor>> hvp(const TensorFunction& f,
                                           const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& v,
                                           DerivativeOptions options) {
  Tensor value;
  auto with_value = [&](const std::vector<Tensor>& x) {
    return gradient_of("hvp", [&](const std::vector<Tensor>& in) {
      auto y = f(in);
      if (!y.empty()) value = y[0];
      return y;
    })(x);
  };
  auto products = detail::jvp(with_value, inputs, v, options).second;
  return {autograd::finished(value, options.create_graph), products};
}

}  // namespace farro
