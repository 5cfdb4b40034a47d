#include <farro/autograd/ready_queue.hpp>

#include <algorithm>
#include <bit>

namespace farro::autograd {

ReadyNode& ReadyQueue::find_or_add(const Edge& edge) {
  if (FARRO_UNLIKELY(2 * heap_.size() >= table_.size())) grow();
  const Node* node = edge.node.get();
  size_t mask = table_.size() - 1, i = home(node);
  while (table_[i] != 0) {
    ReadyNode& slot = slots_[table_[i] - 1];
    if (slot.node.get() == node) return slot;
    i = (i + 1) & mask;
  }
  uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  table_[i] = slot + 1;
  slots_[slot].node = edge.node;
  slots_[slot].grads.resize(node->output_count());
  heap_.push_back({node->sequence(), slot});
  std::push_heap(heap_.begin(), heap_.end());
  return slots_[slot];
}

ReadyNode ReadyQueue::pop() {
  uint32_t slot = heap_.front().slot;
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  erase(slots_[slot].node.get());
  free_slots_.push_back(slot);
  ReadyNode taken = std::move(slots_[slot]);
  slots_[slot].grads.clear();
  return taken;
}

void ReadyQueue::clear() {
  heap_.clear();
  slots_.clear();
  free_slots_.clear();
  std::ranges::fill(table_, 0u);
}

void ReadyQueue::grow() {
  size_t size = std::max<size_t>(16, 2 * table_.size());
  table_.assign(size, 0);
  shift_ = 64 - std::countr_zero(size);
  for (const HeapItem& item : heap_) {
    size_t i = home(slots_[item.slot].node.get());
    while (table_[i] != 0) i = (i + 1) & (size - 1);
    table_[i] = item.slot + 1;
  }
}

void ReadyQueue::erase(const Node* node) {
  size_t mask = table_.size() - 1, hole = home(node);
  while (slots_[table_[hole] - 1].node.get() != node) hole = (hole + 1) & mask;
  table_[hole] = 0;
  // Moves later entries of the run up, so that no probe sequence is cut (Knuth, TAOCP 6.4, algorithm R).
  for (size_t i = (hole + 1) & mask; table_[i] != 0; i = (i + 1) & mask) {
    size_t wanted = home(slots_[table_[i] - 1].node.get());
    if (((i - wanted) & mask) >= ((i - hole) & mask)) {
      table_[hole] = table_[i];
      table_[i] = 0;
      hole = i;
    }
  }
}

}  // namespace farro::autograd
