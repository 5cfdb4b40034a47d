/// The engine. A backward starts with gradients at the nodes of the outputs and ends when no node
/// waits.
///
/// Nodes run in falling order of their sequence numbers. A node's edges lead to lower numbers only
/// (Node::add_edge), so when a node's turn comes, every node that could send it a gradient has run:
/// no counting of dependencies, no recursion, one pass. The order is the reverse of recording. Each
/// turn goes: tensor hooks of the outputs in registration order, capture of retained gradients and
/// of those that grad() asked for, pre-hooks, backward, post-hooks, release of saved tensors, and
/// the gradients go along the edges, where those that meet are added in order of arrival. At a
/// leaf: tensor hooks, accumulation, post-accumulate hooks.
///
/// All state lives in the call, so that hooks may start further backwards. There are no worker
/// threads; threads may run backwards at once, and meet only in AccumulateGrad. Start reading at
/// run_backward.

#include <farro/autograd/engine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include <farro/autograd/accumulate.hpp>
#include <farro/autograd/anomaly.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ready_queue.hpp>
#include <farro/autograd/record.hpp>
#include <farro/autograd/spare.hpp>
#include <farro/backends/warning.hpp>

namespace farro {
namespace autograd {
namespace {

/// What a backward that was given inputs knows of a node: which of its outputs' gradients are asked
/// for, and whether it must run because an input lies behind it.
struct Plan {
  std::vector<std::pair<uint32_t, size_t>> captures;  // output number, index of the input
  bool runs = false;
};
using Plans = std::unordered_map<const Node*, Plan>;

struct Task {
  bool keep_graph = false;
  const Plans* plans = nullptr;  // null: every node runs, nothing is captured
  std::vector<Tensor>* captured = nullptr;
  ReadyQueue& queue;
};

/// Lends each backward on this thread a queue that keeps its memory; a nested backward gets the
/// next one.
class QueueLoan {
 public:
  QueueLoan() {
    if (pool().empty()) pool().push_back(std::make_unique<ReadyQueue>());
    queue_ = std::move(pool().back());
    pool().pop_back();
  }
  ~QueueLoan() {
    if (!queue_->idle()) queue_->clear();
    pool().push_back(std::move(queue_));
  }
  ReadyQueue& operator*() { return *queue_; }

 private:
  static std::vector<std::unique_ptr<ReadyQueue>>& pool() {
    static thread_local std::vector<std::unique_ptr<ReadyQueue>> queues;
    return queues;
  }
  std::unique_ptr<ReadyQueue> queue_;
};

/// Takes the gradient by value: the caller forgets where it stood without destroying it.
FARRO_NOINLINE void add_into(Tensor& slot, Tensor grad) {
  if (grad_mode_enabled()) {
    slot = slot + grad;
  } else if (is_exclusive(slot)) {
    slot.add_(grad);
  } else if (is_exclusive(grad)) {
    grad.add_(slot);
    slot = std::move(grad);
  } else {
    slot = slot + grad;
  }
}

FARRO_INLINE void send(Task& task, const Edge& edge, Tensor&& grad) {
  if (!grad.defined()) return;  // a node that no gradient reaches does not run
  Tensor& slot = task.queue.find_or_add(edge).grads[edge.input_nr];
  if (FARRO_UNLIKELY(slot.defined())) return add_into(slot, std::move(grad));
  slot = std::move(grad);
}

void check_hook_result(const Node& node, const Tensor& before, const Tensor& after) {
  if (after.sizes() != before.sizes() || after.dtype() != before.dtype() ||
      after.device() != before.device()) {
    fail<GradError>(node.name(),
                    "expected a hook to return a gradient of shape {}, {} on {}, got {}, {} on {}",
                    to_string(before.sizes()), name_of(before.dtype()), before.device().str(),
                    to_string(after.sizes()), name_of(after.dtype()), after.device().str());
  }
}

void run_tensor_hook(const Node& node, const TensorHook& hook, Tensor& grad) {
  if (!grad.defined()) return;
  Tensor result = hook(grad);
  if (!result.defined()) return;
  check_hook_result(node, grad, result);
  grad = std::move(result);
}

FARRO_NOINLINE void run_output_hooks(Node& node, Grads& grads) {
  NodeExtras& extras = *node.extras();
  extras.tensor_hooks.for_each(
      [&](const auto& h) { run_tensor_hook(node, h.hook, grads[h.output_nr]); });
  for (const auto& r : extras.retained) {
    const Tensor& grad = grads[r.output_nr];
    if (grad.defined()) accumulate_into(Tensor(IntrusivePtr<TensorImpl>(r.tensor)), grad);
  }
}

void run_leaf(AccumulateGrad& node, Grads& grads, const Plan* plan, Task& task) {
  const Tensor variable = node.variable();
  AutogradMeta& meta = *variable.impl()->meta;
  if (FARRO_UNLIKELY(!meta.hooks.empty())) {
    meta.hooks.for_each([&](const auto& hook) { run_tensor_hook(node, hook, grads[0]); });
  }
  if (plan) {
    for (auto [output, index] : plan->captures) (*task.captured)[index] = grads[0];
    if (!plan->runs) return;
  }
  bool hooked = node.hooks().touched();
  if (FARRO_UNLIKELY(hooked)) {
    node.hooks().for_each<NodePreHook>([&](const auto& hook) { hook(grads); });
  }
  Grads none;
  bool accumulated = grads[0].defined();
  node.apply(grads, none);
  if (FARRO_UNLIKELY(hooked)) {
    node.hooks().for_each<NodePostHook>([&](const auto& hook) { hook(none, grads); });
  }
  if (FARRO_UNLIKELY(accumulated && !meta.post_accumulate_hooks.empty())) {
    meta.post_accumulate_hooks.for_each([&](const auto& hook) { hook(variable); });
  }
}

[[noreturn]] FARRO_COLD void fail_count(const Node& node, const char* hook, size_t expected,
                                        const Grads& grads) {
  fail<GradError>(node.name(), "expected {} to leave {} gradients, got {}", hook, expected,
                  grads.size());
}

FARRO_NOINLINE void apply_with_hooks(Node& node, Grads& grads, Grads& results) {
  NodeHooks::Run run(node.hooks());
  run.each<NodePreHook>([&](const NodePreHook& hook) {
    hook(grads);
    if (FARRO_UNLIKELY(grads.size() != node.output_count()))
      fail_count(node, "a pre-hook", node.output_count(), grads);
  });
  if (std::ranges::any_of(grads, [](const Tensor& g) { return g.defined(); })) {
    node.apply(grads, results);
  } else {
    results.resize(node.next_edges().size());
  }
  run.renew();
  run.each<NodePostHook>([&](const NodePostHook& hook) {
    hook(results, grads);
    if (FARRO_UNLIKELY(results.size() != node.next_edges().size()))
      fail_count(node, "a post-hook", node.next_edges().size(), results);
  });
  for (Tensor& grad : grads) {
    if (grad.defined()) offer_spare(grad);
  }
}

void run_node(Task& task, ReadyNode& ready) {
  Node& node = *ready.node;
  const Plan* plan = nullptr;
  if (task.plans) {
    auto it = task.plans->find(&node);
    if (it == task.plans->end()) return;
    plan = &it->second;
  }
  if (node.is_accumulate())
    return run_leaf(static_cast<AccumulateGrad&>(node), ready.grads, plan, task);
  if (FARRO_UNLIKELY(node.extras())) run_output_hooks(node, ready.grads);
  if (plan) {
    for (auto [output, index] : plan->captures) (*task.captured)[index] = ready.grads[output];
    if (!plan->runs) return;
  }
  Grads results;
  if (FARRO_UNLIKELY(node.hooks().touched())) {
    apply_with_hooks(node, ready.grads, results);
  } else {
    node.apply(ready.grads, results);
  }
  if (FARRO_UNLIKELY(anomaly_mode.enabled)) check_anomaly(node, results);
  if (!task.keep_graph) node.release_saved();
  Tensor* result = results.begin();
  for (const Edge& edge : node.next_edges()) {
    if (edge) {
      send(task, edge, std::move(*result));
    } else if (FARRO_UNLIKELY(result->defined())) {
      *result = {};
    }
    ++result;
  }
  if (FARRO_LIKELY(result == results.end())) results.forget();
}

/// Which nodes lie between the outputs and the inputs. `accumulate` lets leaf inputs accumulate
/// instead of being captured.
Plans make_plans(const std::vector<Edge>& roots, const std::vector<Edge>& inputs, bool accumulate) {
  Plans plans;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    Plan& plan = plans[inputs[i].node.get()];
    plan.captures.emplace_back(inputs[i].input_nr, i);
    plan.runs = accumulate && inputs[i].node->is_accumulate();
  }
  for (Node* node : reachable(roots)) {
    bool leads = std::ranges::any_of(
        node->next_edges(), [&](const Edge& e) { return e && plans.contains(e.node.get()); });
    if (leads) plans[node].runs = true;
  }
  return plans;
}

struct Roots {
  std::vector<Edge> edges;
  std::vector<Tensor> grads;
};

Roots check_roots(const char* operation, const std::vector<Tensor>& outputs,
                  const std::vector<Tensor>& grads, bool create_graph) {
  if (!grads.empty() && grads.size() != outputs.size()) {
    fail<GradError>(operation, "expected {} gradients of the outputs, got {}", outputs.size(),
                    grads.size());
  }
  Roots roots;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    if (!output.requires_grad()) {
      fail<GradError>(operation, "output {} doesn't require grad and has no grad_fn", i);
    }
    Tensor grad = grads.empty() ? Tensor() : grads[i];
    if (!grad.defined()) {
      if (output.numel() != 1) {
        fail<GradError>(
            operation,
            "a gradient can be left out for outputs of one element only; output {} has shape {}", i,
            to_string(output.sizes()));
      }
      grad = ones_like(output);
    } else if (grad.sizes() != output.sizes() || grad.device() != output.device()) {
      fail<GradError>(operation,
                      "expected a gradient of shape {} on {} for output {}, got {} on {}",
                      to_string(output.sizes()), output.device().str(), i, to_string(grad.sizes()),
                      grad.device().str());
    }
    if (grad.dtype() != output.dtype()) grad = grad.to(output.dtype());
    roots.edges.push_back(gradient_edge(output));
    roots.grads.push_back(create_graph ? grad : grad.detach());
  }
  return roots;
}

/// What is to be called at the end of the innermost backward of this thread.
class EndOfBackward {
 public:
  EndOfBackward() : outer_(std::exchange(innermost, this)) {}
  ~EndOfBackward() {
    innermost = outer_;
    // Something was thrown: what is called now must not throw more.
    for (const auto& f : calls_) {
      try {
        f();
      } catch (const std::exception& error) {
        warn(fmt::format("[backward] at its end, after another error: {}", error.what()));
      }
    }
  }
  /// Calls all, in order; to be done before the end of the scope, so that what they throw reaches
  /// the caller.
  void finish() {
    while (!calls_.empty()) {
      std::function<void()> f = std::move(calls_.front());
      calls_.erase(calls_.begin());
      f();
    }
  }
  static constinit thread_local EndOfBackward* innermost;
  void add(std::function<void()> f) { calls_.push_back(std::move(f)); }

 private:
  EndOfBackward* outer_;
  std::vector<std::function<void()>> calls_;
};
constinit thread_local EndOfBackward* EndOfBackward::innermost = nullptr;

void run_backward(const Roots& roots, bool keep_graph, bool create_graph, const Plans* plans,
                  std::vector<Tensor>* captured) {
  SetGradEnabled mode(create_graph);
  EndOfBackward end;
  SpareScope spare;
  QueueLoan queue;
  Task task{keep_graph, plans, captured, *queue};
  for (size_t i = 0; i < roots.edges.size(); ++i)
    send(task, roots.edges[i], Tensor(roots.grads[i]));
  while (!task.queue.empty()) {
    ReadyNode& ready = task.queue.pop();
    run_node(task, ready);
    task.queue.done(ready);
  }
  end.finish();
}

std::vector<Edge> input_edges(const char* operation, const std::vector<Tensor>& inputs) {
  std::vector<Edge> edges;
  for (size_t i = 0; i < inputs.size(); ++i) {
    edges.push_back(gradient_edge(inputs[i]));
    if (!edges.back()) fail<GradError>(operation, "input {} doesn't require grad", i);
  }
  return edges;
}

}  // namespace

std::vector<Node*> reachable(const std::vector<Edge>& edges) {
  std::unordered_map<const Node*, bool> seen;
  std::vector<Node*> nodes;
  for (const Edge& root : edges) {
    if (seen.emplace(root.node.get(), true).second) nodes.push_back(root.node.get());
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Edge& edge : nodes[i]->next_edges()) {
      if (edge && seen.emplace(edge.node.get(), true).second) nodes.push_back(edge.node.get());
    }
  }
  std::ranges::sort(nodes, {}, &Node::sequence);
  return nodes;
}

void after_backward(std::function<void()> f) {
  if (!EndOfBackward::innermost) return f();
  EndOfBackward::innermost->add(std::move(f));
}

}  // namespace autograd

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         GradOptions options, const std::vector<Tensor>& grad_outputs) {
  using namespace autograd;
  if (inputs.empty()) fail<ValueError>("grad", "expected at least one input");
  Roots roots = check_roots("grad", outputs, grad_outputs, options.create_graph);
  std::vector<Edge> edges = input_edges("grad", inputs);
  Plans plans = make_plans(roots.edges, edges, false);
  std::vector<Tensor> captured(inputs.size());
  run_backward(roots, options.retain_graph || options.create_graph, options.create_graph, &plans,
               &captured);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (captured[i].defined()) continue;
    if (options.materialize_grads) {
      captured[i] = zeros_like(inputs[i]);
    } else if (!options.allow_unused) {
      fail<GradError>(
          "grad",
          "input {} was not used to compute the outputs; pass allow_unused = true if that is meant",
          i);
    }
  }
  return captured;
}

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs,
              BackwardOptions options, const std::optional<std::vector<Tensor>>& inputs) {
  using namespace autograd;
  if (inputs && inputs->empty())
    fail<ValueError>("backward", "expected at least one input; leave the list out for all");
  Roots roots = check_roots("backward", outputs, grad_outputs, options.create_graph);
  bool keep = options.retain_graph || options.create_graph;
  if (!inputs) return run_backward(roots, keep, options.create_graph, nullptr, nullptr);
  std::vector<Edge> edges = input_edges("backward", *inputs);
  Plans plans = make_plans(roots.edges, edges, true);
  std::vector<Tensor> captured(inputs->size());
  run_backward(roots, keep, options.create_graph, &plans, &captured);
  for (size_t i = 0; i < inputs->size(); ++i) {
    if (!(*inputs)[i].is_leaf() && captured[i].defined()) {
      SetGradEnabled mode(options.create_graph);
      accumulate_into((*inputs)[i], captured[i]);
    }
  }
}

}  // namespace farro
