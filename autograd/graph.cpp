#include <farro/autograd/graph.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <farro/autograd/accumulate.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/record.hpp>

namespace farro {
namespace {

using autograd::Edge;
using autograd::Node;

/// Every node that a backward from the outputs reaches, in its order, with its number.
struct Tape {
  std::vector<Edge> ends;  // keep the nodes alive
  std::vector<Node*> nodes;
  std::unordered_map<const Node*, size_t> numbers;
};

Tape tape_of(std::span<const Tensor> outputs) {
  Tape tape;
  for (const Tensor& output : outputs) {
    if (Edge edge = autograd::gradient_edge(output)) tape.ends.push_back(std::move(edge));
  }
  tape.nodes = autograd::reachable(tape.ends);
  std::ranges::reverse(tape.nodes);
  for (size_t i = 0; i < tape.nodes.size(); ++i) tape.numbers[tape.nodes[i]] = i;
  return tape;
}

/// Counts what nodes keep, memory that several keep once.
class SavedCounter {
 public:
  void add(const Node& node) {
    node.visit_saved([&](const Tensor& saved) {
      if (!saved.defined()) return;
      ++tensors;
      if (seen_.insert(saved.storage().get()).second)
        bytes += static_cast<int64_t>(saved.storage()->bytes());
    });
  }
  int64_t tensors = 0;
  int64_t bytes = 0;

 private:
  std::unordered_set<const Storage*> seen_;
};

std::string leaf_text(const Node& node) {
  const Tensor& leaf = static_cast<const autograd::AccumulateGrad&>(node).variable();
  return fmt::format("leaf {} {}", to_string(leaf.sizes()), name_of(leaf.dtype()));
}

}  // namespace

TapeStats tape_stats(std::span<const Tensor> outputs) {
  Tape tape = tape_of(outputs);
  TapeStats stats;
  SavedCounter saved;
  for (const auto& node : tape.nodes) {
    ++stats.nodes;
    if (node->is_accumulate()) ++stats.leaves;
    for (const Edge& edge : node->next_edges()) stats.edges += edge ? 1 : 0;
    saved.add(*node);
  }
  stats.saved_tensors = saved.tensors;
  stats.saved_bytes = saved.bytes;
  return stats;
}

std::string tape_text(std::span<const Tensor> outputs) {
  Tape tape = tape_of(outputs);
  std::string text;
  for (size_t i = 0; i < tape.nodes.size(); ++i) {
    const Node& node = *tape.nodes[i];
    text += fmt::format("{} {}", i, node.name());
    if (node.is_accumulate()) text += fmt::format(" ({})", leaf_text(node));
    SavedCounter saved;
    saved.add(node);
    if (saved.tensors > 0) text += fmt::format(" [{} saved, {} bytes]", saved.tensors, saved.bytes);
    if (!node.next_edges().empty()) text += " ->";
    for (const Edge& edge : node.next_edges()) {
      text += edge ? fmt::format(" {}", tape.numbers[edge.node.get()]) : " -";
    }
    text += '\n';
  }
  return text;
}

std::string tape_dot(std::span<const Tensor> outputs) {
  Tape tape = tape_of(outputs);
  std::string text = "digraph tape {\n  node [shape=box, fontname=\"Helvetica\"];\n";
  auto quoted = [](const std::string& label) {
    std::string result;
    for (char c : label) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  };
  for (size_t i = 0; i < tape.nodes.size(); ++i) {
    const Node& node = *tape.nodes[i];
    SavedCounter saved;
    saved.add(node);
    std::string label = quoted(node.name());
    if (node.is_accumulate()) label += "\\n" + leaf_text(node);
    if (saved.tensors > 0)
      label += fmt::format("\\n{} saved, {} bytes", saved.tensors, saved.bytes);
    text += fmt::format("  n{} [label=\"{}\"{}];\n", i, label,
                        node.is_accumulate() ? ", style=filled, fillcolor=lightblue" : "");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    Edge edge = autograd::gradient_edge(output);
    if (!edge) continue;
    text += fmt::format("  o{} [label=\"output {} {}\", shape=ellipse];\n  o{} -> n{};\n", i,
                        to_string(output.sizes()), name_of(output.dtype()), i,
                        tape.numbers[edge.node.get()]);
  }
  for (size_t i = 0; i < tape.nodes.size(); ++i) {
    for (const Edge& edge : tape.nodes[i]->next_edges()) {
      if (edge) text += fmt::format("  n{} -> n{};\n", i, tape.numbers[edge.node.get()]);
    }
  }
  return text + "}\n";
}

std::string tape_json(std::span<const Tensor> outputs) {
  Tape tape = tape_of(outputs);
  using Json = nlohmann::ordered_json;
  auto place = [&](const Edge& edge) {
    return edge ? Json(tape.numbers[edge.node.get()]) : Json(nullptr);
  };
  Json json{{"outputs", Json::array()}, {"nodes", Json::array()}};
  for (const Tensor& output : outputs)
    json["outputs"].push_back(place(autograd::gradient_edge(output)));
  for (const auto& node : tape.nodes) {
    SavedCounter saved;
    saved.add(*node);
    Json entry{{"name", node->name()},
               {"saved_tensors", saved.tensors},
               {"saved_bytes", saved.bytes},
               {"edges", Json::array()}};
    for (const Edge& edge : node->next_edges()) entry["edges"].push_back(place(edge));
    if (node->is_accumulate()) {
      const Tensor& leaf = static_cast<const autograd::AccumulateGrad&>(*node).variable();
      entry["shape"] = std::vector<int64_t>(leaf.sizes().begin(), leaf.sizes().end());
      entry["dtype"] = name_of(leaf.dtype());
    }
    json["nodes"].push_back(std::move(entry));
  }
  return json.dump();
}

}  // namespace farro
