#pragma once

#include <cstdint>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro::autograd {

/// A node that waits for its turn, with the gradients that arrived for it.
struct ReadyNode {
  IntrusivePtr<Node> node;
  Grads grads;
};

/// The nodes that gradients have reached and that have not run: a heap by falling sequence number beside a hash table by
/// node. Keeps its memory from one backward to the next.
class ReadyQueue {
 public:
  bool empty() const { return heap_.empty(); }
  /// The entry of a node, added with undefined gradients if it was not waiting.
  ReadyNode& find_or_add(const Edge& edge);
  /// Takes out the node with the highest sequence number.
  ReadyNode pop();
  void clear();

 private:
  struct HeapItem {
    uint64_t sequence;
    uint32_t slot;
    bool operator<(const HeapItem& other) const { return sequence < other.sequence; }
  };
  size_t home(const Node* node) const { return (reinterpret_cast<uintptr_t>(node) >> 6) * 0x9E3779B97F4A7C15u >> shift_; }
  void grow();
  void erase(const Node* node);

  std::vector<HeapItem> heap_;
  std::vector<ReadyNode> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> table_;  // slot + 1, or 0; linear probing
  int shift_ = 64;
};

}  // namespace farro::autograd
