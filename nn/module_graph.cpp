#include <farro/nn/module_graph.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <farro/autograd/accumulate.hpp>

namespace farro::nn {
namespace {

ModuleGraph::Node node_of(Module& module, const std::string& path) {
  ModuleGraph::Node node{
      .title = std::string(module.class_name()), .path = path, .detail = module.extra_repr()};
  std::ranges::replace(node.detail, '\n', ' ');
  for (const Tensor& parameter : module.parameters(false)) {
    if (!is_uninitialized(parameter)) node.parameters += parameter.numel();
  }
  return node;
}

/// Follows tensors through one call of a module. Where a tensor comes from is found on the tape:
/// from the node that made it backwards, until nodes that made outputs of calls, or inputs, are
/// met.
class Flow {
 public:
  explicit Flow(Module& root) : root_(root) { graph.name = root.class_name(); }

  void run(const Args& example_inputs) {
    std::vector<ScopedHandle> handles;
    for (const auto& [path, module] : root_.named_modules()) {
      if (!module->children().empty()) continue;
      handles.emplace_back(module->register_forward_pre_hook(
          [this, path = path](Module& m, const Args& args) { enter(m, path, args); }));
      handles.emplace_back(module->register_forward_hook(
          [this](Module& m, const Args&, const Value& output) { leave(m, output); }));
    }
    struct Restore {
      std::vector<std::pair<Module*, bool>> modes;
      ~Restore() {
        for (auto [module, mode] : modes) module->train(mode);
      }
    } restore;
    // Parents before children, so that each has its own mode at the end.
    for (Module* module : root_.modules()) restore.modes.emplace_back(module, module->training());
    root_.eval();
    EnableGrad recorded;
    Value output = root_.call(inputs(example_inputs));
    outputs(output);
  }

  ModuleGraph graph;

 private:
  Args inputs(const Args& examples) {
    Args args;
    for (size_t i = 0; i < examples.size(); ++i) {
      Value value = examples[i];
      bool any = false;
      size_t node = graph.nodes.size();
      hooks::for_each_tensor(value, [&](Tensor& tensor) {
        tensor = tensor.detach();
        if (tensor.is_floating_point()) tensor.requires_grad_();
        from_.emplace(tensor.impl(), node);
        kept_.push_back(tensor);
        any = true;
      });
      if (any)
        graph.nodes.push_back(
            {"input", examples.size() > 1 ? std::to_string(i) : "", "", 0, false});
      args.push_back(std::move(value));
    }
    return args;
  }

  void outputs(Value& output) {
    size_t count = 0, number = 0;
    hooks::for_each_tensor(output, [&](Tensor&) { ++count; });
    hooks::for_each_tensor(output, [&](Tensor& tensor) {
      size_t node = graph.nodes.size();
      graph.nodes.push_back({"output", count > 1 ? std::to_string(number++) : "", "", 0, false});
      connect(tensor, node);
    });
  }

  void enter(Module& module, const std::string& path, const Args& args) {
    size_t node = graph.nodes.size();
    graph.nodes.push_back(node_of(module, path));
    running_.emplace_back(&module, node);
    for (Value value : args) {
      hooks::for_each_tensor(value, [&](Tensor& tensor) { connect(tensor, node); });
    }
  }

  void leave(Module& module, Value output) {
    while (!running_.empty() && running_.back().first != &module) running_.pop_back();
    if (running_.empty()) return;
    size_t node = running_.back().second;
    running_.pop_back();
    hooks::for_each_tensor(output, [&](Tensor& tensor) {
      kept_.push_back(tensor);  // so that no other tensor or node takes its address
      from_[tensor.impl()] = node;
      if (tensor.grad_fn()) made_[tensor.grad_fn().get()] = node;
    });
  }

  void connect(const Tensor& tensor, size_t to) {
    std::vector<size_t> sources;
    if (auto it = from_.find(tensor.impl()); it != from_.end()) {
      sources.push_back(it->second);
    } else if (tensor.grad_fn()) {
      search(tensor.grad_fn().get(), sources);
    }
    std::ranges::sort(sources);
    for (size_t from : sources) {
      bool known = std::ranges::any_of(graph.edges,
                                       [&](const auto& e) { return e.from == from && e.to == to; });
      if (!known) graph.edges.push_back({from, to, to_string(tensor.sizes())});
    }
  }

  void search(autograd::Node* start, std::vector<size_t>& sources) {
    std::unordered_set<autograd::Node*> seen;
    std::vector<autograd::Node*> open{start};
    auto found = [&](size_t source) {
      if (std::ranges::count(sources, source) == 0) sources.push_back(source);
    };
    while (!open.empty()) {
      autograd::Node* node = open.back();
      open.pop_back();
      if (!seen.insert(node).second) continue;
      if (auto it = made_.find(node); it != made_.end()) {
        found(it->second);
      } else if (node->is_accumulate()) {
        auto leaf = from_.find(static_cast<autograd::AccumulateGrad*>(node)->variable().impl());
        if (leaf != from_.end()) found(leaf->second);
      } else {
        for (const autograd::Edge& edge : node->next_edges()) {
          if (edge) open.push_back(edge.node.get());
        }
      }
    }
  }

  Module& root_;
  std::vector<std::pair<Module*, size_t>> running_;
  std::vector<Tensor> kept_;
  std::unordered_map<TensorImpl*, size_t> from_;
  std::unordered_map<autograd::Node*, size_t> made_;
};

}  // namespace

ModuleGraph module_graph(Module& module) {
  ModuleGraph graph{.name = std::string(module.class_name()), .nodes = {}, .edges = {}};
  std::unordered_map<Module*, size_t> number;
  for (const auto& [path, submodule] : module.named_modules()) {
    number.emplace(submodule, graph.nodes.size());
    graph.nodes.push_back(node_of(*submodule, path));
  }
  for (Module* parent : module.modules()) {
    parent->visit_members([&](const Member& member) {
      if (member.kind != Member::Kind::Child || !member.child()) return;
      graph.edges.push_back(
          {number.at(parent), number.at(member.child()), std::string(member.name)});
    });
  }
  return graph;
}

ModuleGraph module_graph(Module& module, const Args& example_inputs) {
  Flow flow(module);
  flow.run(example_inputs);
  return std::move(flow.graph);
}

namespace {

/// Between quotes in DOT.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

std::string ModuleGraph::dot() const {
  std::string text = "digraph " + quoted(name) +
                     " {\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n" +
                     "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    std::string label = node.path.empty() ? node.title : node.path + ": " + node.title;
    if (!node.detail.empty()) label += "\n" + node.detail;
    if (node.parameters > 0) label += fmt::format("\n{} parameters", node.parameters);
    text += fmt::format("  n{} [label={}{}];\n", i, quoted(label),
                        node.is_module ? "" : ", shape=plaintext");
  }
  for (const Edge& edge : edges) {
    text += fmt::format("  n{} -> n{}", edge.from, edge.to);
    if (!edge.label.empty()) text += " [label=" + quoted(edge.label) + "]";
    text += ";\n";
  }
  return text + "}\n";
}

}  // namespace farro::nn
