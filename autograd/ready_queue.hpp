#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro::autograd {

/// A node that waits for its turn, with the gradients that arrived for it.
struct ReadyNode {
  IntrusivePtr<Node> node;
  Grads grads;
  ReadyNode* next_free = nullptr;
};

/// The nodes that gradients have reached and that have not run. The one with the highest sequence
/// number stands apart, since in a chain no other waits; the rest is a heap by falling number
/// beside a hash table by node. Keeps its memory from one backward to the next.
class ReadyQueue {
 public:
  bool empty() const { return !front_ && heap_.empty(); }
  /// True if no node waits, and none that pop() gave out has yet to come back.
  bool idle() const { return taken_ == 0; }
  /// The entry of a node, added with undefined gradients if it was not waiting.
  ReadyNode& find_or_add(const Edge& edge) {
    if (front_ && front_->node == edge.node) return *front_;
    if (!heap_.empty()) {
      if (ReadyNode* found = find(edge.node.get())) return *found;
    }
    return add(edge);
  }
  /// Takes out the node with the highest sequence number. It stays where it is until done().
  ReadyNode& pop() { return FARRO_LIKELY(front_) ? *std::exchange(front_, nullptr) : pop_heap(); }
  /// Lets go of the node and its gradients.
  void done(ReadyNode& ready) {
    ready.node.reset();
    for (Tensor& grad : ready.grads) {  // the next node will most often have as many
      if (FARRO_UNLIKELY(grad.defined())) grad = {};
    }
    ready.next_free = std::exchange(first_free_, &ready);
    --taken_;
  }
  void clear();

 private:
  struct HeapItem {
    uint64_t sequence;
    ReadyNode* ready;
    bool operator<(const HeapItem& other) const { return sequence < other.sequence; }
  };
  size_t home(const Node* node) const {
    return (reinterpret_cast<uintptr_t>(node) >> 6) * 0x9E3779B97F4A7C15u >> shift_;
  }
  ReadyNode* find(const Node* node) const;
  ReadyNode& add(const Edge& edge);
  void allocate();
  void add_to_others(ReadyNode* ready);
  ReadyNode& pop_heap();
  void push(ReadyNode* ready);
  void insert(ReadyNode* ready);
  void erase(const Node* node);
  void grow();

  ReadyNode* front_ = nullptr;  // null, or of a higher number than all in the heap
  std::vector<HeapItem> heap_;
  std::vector<ReadyNode*> table_;  // what the heap holds, by node; linear probing
  int shift_ = 64;
  std::deque<ReadyNode> nodes_;  // never move
  ReadyNode* first_free_ = nullptr;
  size_t taken_ = 0;  // of nodes_
};

}  // namespace farro::autograd
