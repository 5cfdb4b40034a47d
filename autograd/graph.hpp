#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro {

/// What the tape behind some tensors amounts to. (For what recording keeps at its peak, see
/// tape_meter.hpp.)
struct TapeStats {
  int64_t nodes = 0;          ///< recorded operations and leaves
  int64_t leaves = 0;         ///< nodes that accumulate into a leaf
  int64_t edges = 0;          ///< ways that gradients take
  int64_t saved_tensors = 0;  ///< kept for backward
  int64_t saved_bytes = 0;    ///< of the distinct memory that those keep alive
};

/// Counts the nodes that a backward from these tensors would reach. Tensors without history have
/// none.
TapeStats tape_stats(std::span<const Tensor> outputs);
inline TapeStats tape_stats(const Tensor& output) { return tape_stats(std::span(&output, 1)); }

/// The tape in the order in which backward goes through it, a node a line: its number, its name,
/// what it keeps, and the numbers of the nodes that it sends gradients to ("-" for an input that
/// needs none):
///
///     0 SumBackward -> 1
///     1 MulBackward [2 saved, 48 bytes] -> 2 2
///     2 AccumulateGrad (leaf [2, 3] float64)
std::string tape_text(std::span<const Tensor> outputs);
inline std::string tape_text(const Tensor& output) { return tape_text(std::span(&output, 1)); }

/// The tape as a graph in Graphviz' DOT: `dot -Tsvg`. Arrows point the way that gradients flow.
std::string tape_dot(std::span<const Tensor> outputs);
inline std::string tape_dot(const Tensor& output) { return tape_dot(std::span(&output, 1)); }

/// The tape as JSON, in the order in which backward goes through it:
///
///     {"outputs": [0],
///      "nodes": [{"name": "MulBackward", "saved_tensors": 2, "saved_bytes": 48,
///                 "edges": [1, null]}, …]}
///
/// Edges are places in the list of nodes, null for inputs that need no gradient, outputs likewise;
/// a leaf has its "shape" and "dtype".
std::string tape_json(std::span<const Tensor> outputs);
inline std::string tape_json(const Tensor& output) { return tape_json(std::span(&output, 1)); }

}  // namespace farro
