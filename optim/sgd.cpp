#include <farro/optim/sgd.hpp>

#include <farro/backends/kernels/optim.hpp>
#include <farro/optim/optimizer_of.hpp>

namespace farro::optim {

void check(const SGDOptions& o) {
  for (auto [name, value] :
       {std::pair("lr", o.lr), {"momentum", o.momentum}, {"weight_decay", o.weight_decay}}) {
    if (!(value >= 0)) fail<ValueError>("SGD", "expected {} of at least 0, got {}", name, value);
  }
  if (o.nesterov && (o.momentum == 0 || o.dampening != 0)) {
    fail<ValueError>(
        "SGD", "expected momentum and no dampening with nesterov, got momentum {} and dampening {}",
        o.momentum, o.dampening);
  }
}

void SGD::update(Entry& entry, const SGDOptions& o) {
  bool first = !entry.state.slots[0].defined();
  SGDStep step{.lr = o.lr,
               .momentum = o.momentum,
               .one_minus_dampening = 1 - o.dampening,
               .l2 = o.weight_decay,
               .nesterov = o.nesterov,
               .maximize = o.maximize,
               .first = first};
  const ArrayView* buffer = o.momentum != 0 ? &slot(entry, 0) : nullptr;
  sgd_step(entry.contiguous_param.array(), entry.grad.array(), buffer, step);
}

template class OptimizerOf<SGDOptions>;

}  // namespace farro::optim
