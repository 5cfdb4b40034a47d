#include <farro/autograd/multi_grad_hook.hpp>

#include <map>
#include <mutex>
#include <thread>

#include <farro/autograd/engine.hpp>

namespace farro {
namespace {

/// The hooks of a list of tensors, and the backwards that are under way: one for each thread.
struct Group : std::enable_shared_from_this<Group> {
  struct Pass {
    std::vector<Tensor> grads;
    size_t count = 0;
    bool called = false;
  };

  std::vector<RemovableHandle> handles;
  std::function<void(const std::vector<Tensor>&)> f;
  size_t wanted = 0;  ///< gradients after which f is called
  std::mutex mutex;
  std::map<std::thread::id, Pass> passes;

  void add(size_t place, const Tensor& grad) {
    std::vector<Tensor> complete;
    {
      std::lock_guard lock(mutex);
      std::thread::id thread = std::this_thread::get_id();
      if (!passes.contains(thread))
        autograd::after_backward([self = shared_from_this()] { self->finish(); });
      Pass& pass = passes[thread];
      pass.grads.resize(handles.size());
      pass.grads[place] = grad;
      if (++pass.count != wanted) return;
      pass.called = true;
      complete = pass.grads;
    }
    f(complete);
  }

  /// At the end of a backward.
  void finish() {
    Pass pass;
    {
      std::lock_guard lock(mutex);
      auto entry = passes.find(std::this_thread::get_id());
      if (entry == passes.end()) return;
      pass = std::move(entry->second);
      passes.erase(entry);
    }
    if (!pass.called) f(pass.grads);
  }
};

/// What a handle to all of a group's hooks knows.
struct GroupHandle final : detail::HookBlockBase {
  explicit GroupHandle(const std::shared_ptr<Group>& g) : group(g) {}
  void erase(uint64_t) override {
    if (auto alive = group.lock()) {
      for (RemovableHandle& handle : alive->handles) handle.remove();
    }
  }
  std::weak_ptr<Group> group;
};

RemovableHandle make_group(const char* operation, const std::vector<Tensor>& tensors, size_t wanted,
                           std::function<void(const std::vector<Tensor>&)> f) {
  if (tensors.empty()) fail<ValueError>(operation, "expected at least one tensor");
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].requires_grad())
      fail<GradError>(operation, "tensor {} doesn't require grad", i);
  }
  auto group = std::make_shared<Group>();
  group->f = std::move(f);
  group->wanted = wanted;
  group->handles.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    group->handles[i] =
        tensors[i].register_hook([group, i](const Tensor& grad) { group->add(i, grad); });
  }
  return RemovableHandle(IntrusivePtr<detail::HookBlockBase>(new GroupHandle(group)),
                         group->handles[0].id());
}

}  // namespace

RemovableHandle register_multi_grad_hook(const std::vector<Tensor>& tensors,
                                         std::function<void(const std::vector<Tensor>&)> f) {
  return make_group("register_multi_grad_hook", tensors, tensors.size(), std::move(f));
}

RemovableHandle register_any_grad_hook(const std::vector<Tensor>& tensors,
                                       std::function<void(const Tensor&)> f) {
  return make_group("register_any_grad_hook", tensors, 1,
                    [f = std::move(f)](const std::vector<Tensor>& grads) {
                      for (const Tensor& grad : grads) {
                        if (grad.defined()) return f(grad);
                      }
                    });
}

}  // namespace farro
