#include <farro/autograd/node.hpp>

#include <farro/autograd/accumulate.hpp>
#include <farro/autograd/anomaly.hpp>
#include <farro/autograd/tensor.hpp>

namespace farro::autograd {
namespace {

/// Nodes of this thread whose last reference went while another was being destroyed: a chain of a
/// million nodes must not recurse a million deep.
struct Graveyard {
  bool busy = false;
  Node* first = nullptr;
};
FARRO_FAST_TLS constinit thread_local Graveyard graveyard;

}  // namespace

void DeleteNodeExtras::operator()(NodeExtras* extras) const { delete extras; }

FARRO_FAST_TLS constinit thread_local uint64_t Node::next_sequence = 1;

NodeExtras& Node::make_extras() {
  if (!extras_) extras_.reset(new NodeExtras);
  return *extras_;
}

RemovableHandle Node::register_prehook(NodePreHook hook) {
  return hooks_.add<NodePreHook>(std::move(hook));
}
RemovableHandle Node::register_hook(NodePostHook hook) {
  return hooks_.add<NodePostHook>(std::move(hook));
}

void Node::destroy(Node* node) {
  if (node->accumulates_ && !AccumulateGrad::let_go(static_cast<AccumulateGrad*>(node))) return;
  if (graveyard.busy) {
    node->next_dead_ = graveyard.first;
    graveyard.first = node;
    return;
  }
  graveyard.busy = true;
  delete node;
  while (Node* next = graveyard.first) {
    graveyard.first = next->next_dead_;
    delete next;
  }
  graveyard.busy = false;
}

}  // namespace farro::autograd
