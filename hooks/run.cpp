#include <farro/hooks/run.hpp>

#include <exception>
#include <vector>

#include <farro/backends/warning.hpp>
#include <farro/hooks/bracket.hpp>

namespace farro::hooks {
namespace {

template <class Hook>
std::vector<Hook> joined(const HookList<Hook>& global, const HookList<Hook>* own) {
  std::vector<Hook> hooks = global.snapshot();
  if (own) {
    for (Hook& hook : own->snapshot()) hooks.push_back(std::move(hook));
  }
  return hooks;
}

/// Lets legacy backward hooks see the gradients of the operation that made the first tensor of the
/// output.
void add_legacy_hooks(const HookedModule& module, Value& output) {
  if (!module.own || module.own->backward.empty()) return;
  Tensor first;
  for_each_tensor(output, [&](Tensor& tensor) {
    if (!first.defined()) first = tensor;
  });
  if (!first.defined() || !first.grad_fn()) return;
  for (BackwardHook& hook : module.own->backward.snapshot()) {
    first.grad_fn()->register_hook([alive = module.alive, hook = std::move(hook)](
                                       autograd::Grads& inputs, const autograd::Grads& outputs) {
      if (!*alive) return;
      auto result =
          hook(**alive, Grads(inputs.begin(), inputs.end()), Grads(outputs.begin(), outputs.end()));
      if (!result) return;
      Grads list = result->is_list() ? result->list() : Grads{*result};
      if (list.size() != inputs.size()) {
        fail<GradError>("backward hook", "got {} gradients, but expected {}", list.size(),
                        inputs.size());
      }
      for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = list.tensor(i);
    });
  }
}

class Call {
 public:
  Call(const HookedModule& module, Args args, Kwargs kwargs)
      : module_(module),
        args_(std::move(args)),
        kwargs_(std::move(kwargs)),
        pre_(joined(global_hooks().forward_pre, module.own ? &module.own->forward_pre : nullptr)),
        post_(joined(global_hooks().forward, module.own ? &module.own->forward : nullptr)),
        bracket_(module) {}

  Value run(const std::function<Value(const Args&, const Kwargs&)>& forward) {
    try {
      for (const ForwardPreHook& hook : pre_) apply(hook);
      if (bracket_.needed()) bracket_.enter(args_);
      result_ = forward(args_, kwargs_);
      while (next_ < post_.size()) {
        const ForwardHook& hook =
            post_[next_++];  // counted before it runs: one that throws is not tried again
        if (auto replaced = hook.call(module_.module, args_, kwargs_, result_))
          result_ = std::move(*replaced);
      }
      if (bracket_.needed()) bracket_.leave(result_);
      add_legacy_hooks(module_, result_);
      return std::move(result_);
    } catch (...) {
      run_always_called();
      throw;
    }
  }

 private:
  void apply(const ForwardPreHook& hook) {
    PreHookResult result = hook.call(module_.module, args_, kwargs_);
    if (result.args) args_ = result.args->is_list() ? result.args->list() : Args{*result.args};
    if (result.kwargs) kwargs_ = std::move(*result.kwargs);
  }

  void run_always_called() {
    for (; next_ < post_.size(); ++next_) {
      const ForwardHook& hook = post_[next_];
      if (!hook.always_call) continue;
      try {
        if (auto replaced = hook.call(module_.module, args_, kwargs_, result_))
          result_ = std::move(*replaced);
      } catch (const std::exception& error) {
        warn(
            fmt::format("[{}] an always_call hook threw while another exception was on its way: {}",
                        module_.name, error.what()));
      } catch (...) {
        warn(fmt::format("[{}] an always_call hook threw while another exception was on its way",
                         module_.name));
      }
    }
  }

  const HookedModule& module_;
  Args args_;
  Kwargs kwargs_;
  std::vector<ForwardPreHook> pre_;
  std::vector<ForwardHook> post_;
  Bracket bracket_;
  Value result_;
  size_t next_ = 0;  // of post_: those before it were started
};

}  // namespace

Value run_hooked(const HookedModule& module, Args args, Kwargs kwargs,
                 const std::function<Value(const Args&, const Kwargs&)>& forward) {
  return Call(module, std::move(args), std::move(kwargs)).run(forward);
}

}  // namespace farro::hooks
