#include <farro/autograd/ready_queue.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace farro::autograd {

FARRO_RARE void ReadyQueue::allocate() { first_free_ = &nodes_.emplace_back(); }

ReadyNode& ReadyQueue::add(const Edge& edge) {
  if (FARRO_UNLIKELY(!first_free_)) allocate();
  ReadyNode* ready = std::exchange(first_free_, first_free_->next_free);
  ++taken_;
  ready->node = edge.node;
  if (FARRO_UNLIKELY(ready->grads.size() != edge.node->output_count()))
    ready->grads.resize(edge.node->output_count());
  if (FARRO_LIKELY(!front_ && heap_.empty())) {
    front_ = ready;
  } else {
    add_to_others(ready);
  }
  return *ready;
}

FARRO_RARE void ReadyQueue::add_to_others(ReadyNode* ready) {
  uint64_t sequence = ready->node->sequence();
  if (front_ ? sequence > front_->node->sequence() : sequence > heap_.front().sequence) {
    if (front_) push(front_);
    front_ = ready;
  } else {
    push(ready);
  }
}

ReadyNode& ReadyQueue::pop_heap() {
  ReadyNode* ready = heap_.front().ready;
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  erase(ready->node.get());
  return *ready;
}

void ReadyQueue::clear() {
  front_ = nullptr;
  heap_.clear();
  std::ranges::fill(table_, nullptr);
  first_free_ = nullptr;
  taken_ = 0;
  nodes_.clear();
}

ReadyNode* ReadyQueue::find(const Node* node) const {
  size_t mask = table_.size() - 1;
  for (size_t i = home(node); table_[i]; i = (i + 1) & mask) {
    if (table_[i]->node.get() == node) return table_[i];
  }
  return nullptr;
}

void ReadyQueue::push(ReadyNode* ready) {
  heap_.push_back({ready->node->sequence(), ready});
  std::push_heap(heap_.begin(), heap_.end());
  if (FARRO_UNLIKELY(2 * heap_.size() > table_.size())) {
    grow();
  } else {
    insert(ready);
  }
}

void ReadyQueue::insert(ReadyNode* ready) {
  size_t mask = table_.size() - 1, i = home(ready->node.get());
  while (table_[i]) i = (i + 1) & mask;
  table_[i] = ready;
}

void ReadyQueue::grow() {
  size_t size = std::max<size_t>(16, 2 * table_.size());
  table_.assign(size, nullptr);
  shift_ = 64 - std::countr_zero(size);
  for (const HeapItem& item : heap_) insert(item.ready);
}

void ReadyQueue::erase(const Node* node) {
  size_t mask = table_.size() - 1, hole = home(node);
  while (table_[hole]->node.get() != node) hole = (hole + 1) & mask;
  table_[hole] = nullptr;
  // Moves later entries of the run up, so that no probe sequence is cut (Knuth, TAOCP 6.4,
  // algorithm R).
  for (size_t i = (hole + 1) & mask; table_[i]; i = (i + 1) & mask) {
    size_t wanted = home(table_[i]->node.get());
    if (((i - wanted) & mask) >= ((i - hole) & mask)) {
      table_[hole] = table_[i];
      table_[i] = nullptr;
      hole = i;
    }
  }
}

}  // namespace farro::autograd
