#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <farro/nn/module.hpp>

namespace farro::nn {

/// Modules as a graph, to be drawn:
///
///     std::ofstream("net.svg") << nn::module_graph(net, {x}).svg();
///     std::ofstream("net.dot") << nn::module_graph(net).dot();    // dot -Tpdf net.dot
struct ModuleGraph {
  struct Node {
    std::string title;       ///< the module's class, or "input", "output"
    std::string path;        ///< its name, or a position where there are several inputs or outputs
    std::string detail;      ///< what is printed between its parentheses
    int64_t parameters = 0;  ///< elements of its own parameters
    bool is_module = true;
  };
  struct Edge {
    size_t from, to;
    std::string label;  ///< a child's name, or the shape of what flows
  };
  std::string name;
  std::vector<Node> nodes;
  std::vector<Edge> edges;

  /// In the language of Graphviz.
  std::string dot() const;
  /// Drawn in layers, without Graphviz; follows the reader's choice of a light or dark display.
  std::string svg() const;
};

/// Who contains whom: an edge from each module to its children. A module that stands in several
/// places is one node.
ModuleGraph module_graph(Module& module);
/// What flows where: each call of a module without children is a node, an edge goes from the call,
/// or input, that a tensor comes from, by whatever functions, to the one that takes it. Calls the
/// module once, in eval mode; modes, gradients and requires_grad are restored. What passes no
/// differentiable function leaves no edge.
ModuleGraph module_graph(Module& module, const Args& example_inputs);

template <class M>
ModuleGraph module_graph(const Ref<M>& module) {
  return module_graph(static_cast<Module&>(*module));
}
template <class M>
ModuleGraph module_graph(const Ref<M>& module, const Args& example_inputs) {
  return module_graph(static_cast<Module&>(*module), example_inputs);
}

/// module_graph(…).dot()
inline std::string to_dot(Module& module) { return module_graph(module).dot(); }
inline std::string to_dot(Module& module, const Args& example_inputs) {
  return module_graph(module, example_inputs).dot();
}
/// module_graph(…).svg()
inline std::string to_svg(Module& module) { return module_graph(module).svg(); }
inline std::string to_svg(Module& module, const Args& example_inputs) {
  return module_graph(module, example_inputs).svg();
}

}  // namespace farro::nn
