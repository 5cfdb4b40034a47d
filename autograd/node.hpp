#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <farro/autograd/hook_list.hpp>
#include <farro/backends/dims.hpp>
#include <farro/backends/intrusive_ptr.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/small_vector.hpp>

namespace farro {

class Tensor;

namespace autograd {

class Node;
class Grads;

/// Where a gradient goes: input `input_nr` of `node`, i.e. the gradient of output `input_nr` of the
/// recorded operation.
struct Edge {
  IntrusivePtr<Node> node;
  uint32_t input_nr = 0;
  explicit operator bool() const { return node != nullptr; }
};

/// Sees the gradient of a tensor; returns an undefined tensor to keep it, another to replace it.
using TensorHook = std::function<Tensor(const Tensor&)>;
/// Sees the gradients of a node's outputs before its backward, and may change them.
using NodePreHook = std::function<void(Grads& grad_outputs)>;
/// Sees the gradients that a node's backward gave for its inputs and may change them.
using NodePostHook = std::function<void(Grads& grad_inputs, const Grads& grad_outputs)>;
/// Those that a node has, in one block.
using NodeHooks = HookLists<NodePreHook, NodePostHook>;

/// Anomaly mode of a thread; see anomaly.hpp.
struct Anomaly {
  bool enabled = false;
  bool check_nan = true;
};
FARRO_FAST_TLS extern constinit thread_local Anomaly anomaly_mode;
/// Notes the calls that led here as the place where the node was made.
void note_place(Node& node);

/// What fewer nodes have: what belongs to one of their outputs, and the place where they were made.
struct NodeExtras;
struct DeleteNodeExtras {
  void operator()(NodeExtras* extras) const;
};

/// One recorded operation: the vertex of the tape. Its edges lead to the nodes of its inputs, whose
/// sequence numbers are always lower, so that going through nodes by falling number visits each
/// after all of its users. Reference counted; destroyed without recursion.
class Node : public RefCounted, public farro::detail::PoolAllocated {
 public:
  /// `outputs` is the number of tensors that the operation made.
  explicit Node(uint32_t outputs = 1) : output_count_(outputs) {}
  virtual ~Node() = default;

  /// "MulBackward".
  virtual std::string name() const = 0;
  /// Takes one gradient per output (undefined where none arrived) and gives one per edge (undefined
  /// for none). Takes grad_outputs' tensors away only where it may.
  virtual void apply(Grads& grad_outputs, Grads& grad_inputs) = 0;
  /// Not where post-hooks are to see them afterwards.
  bool may_take_gradients() const { return !hooks_.touched(); }
  /// Frees saved tensors. Called after apply unless the graph is retained.
  virtual void release_saved() {}
  /// Visits saved tensors, for printing and statistics.
  virtual void visit_saved(const std::function<void(const Tensor&)>&) const {}
  /// True for the node that accumulates into a leaf.
  bool is_accumulate() const { return accumulates_; }

  uint64_t sequence() const { return sequence_; }
  uint32_t output_count() const { return output_count_; }
  const auto& next_edges() const { return edges_; }
  /// Appends the edge of an input; an empty one keeps the input's place.
  void add_edge(Edge edge) {
    if (edge.node && edge.node->sequence_ >= sequence_) sequence_ = edge.node->sequence_ + 1;
    edges_.emplace_back(std::move(edge));
  }
  bool needs_input_grad(size_t i) const { return static_cast<bool>(edges_[i]); }
  /// Takes the next number of this thread, above those of all edges. Called once, after the edges
  /// are added.
  void number() {
    if (sequence_ < next_sequence) sequence_ = next_sequence;
    next_sequence = sequence_ + 1;
    if (FARRO_UNLIKELY(anomaly_mode.enabled)) note_place(*this);
  }

  RemovableHandle register_prehook(NodePreHook hook);
  RemovableHandle register_hook(NodePostHook hook);
  const NodeHooks& hooks() const { return hooks_; }
  NodeExtras* extras() const { return extras_.get(); }
  NodeExtras& make_extras();

  static void destroy(Node* node);

 protected:
  uint64_t sequence_ = 0;
  uint32_t output_count_;
  bool accumulates_ = false;
  SmallVector<Edge, 2> edges_;
  NodeHooks hooks_;
  std::unique_ptr<NodeExtras, DeleteNodeExtras> extras_;

 private:
  FARRO_FAST_TLS static constinit thread_local uint64_t next_sequence;
  Node* next_dead_ = nullptr;
};

}  // namespace autograd
}  // namespace farro
