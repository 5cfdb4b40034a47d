#include <farro/nn/utils/capture.hpp>

#include <algorithm>

#include <farro/autograd/ops/copy.hpp>

namespace farro::nn::utils {

struct Capture::State {
  CaptureOptions options;
  std::vector<std::string> names;
  std::vector<std::vector<CapturedCall>> calls;  // of each name
  std::vector<ScopedHandle> module_hooks;
  std::vector<ScopedHandle> tensor_hooks;
};

bool matches(std::string_view name, std::string_view pattern) {
  // Where it fails after a "*", that one takes one character more.
  size_t n = 0, p = 0, star = pattern.npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == name[n] && pattern[p] != '*'))) {
      ++n;
      ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

Capture::Capture(Module& module, std::string_view pattern, const CaptureOptions& options)
    : state_(std::make_shared<State>()) {
  state_->options = options;
  std::string all;
  std::vector<Module*> found;
  for (const auto& [path, submodule] : module.named_modules()) {
    if (path.empty()) continue;
    all += (all.empty() ? "" : ", ") + path;
    if (!matches(path, pattern)) continue;
    state_->names.push_back(path);
    found.push_back(submodule);
  }
  if (found.empty()) {
    fail<ValueError>("capture", "no submodule of {} has a name like \"{}\"; there are: {}",
                     module.class_name(), pattern, all.empty() ? "none" : all);
  }
  state_->calls.resize(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    // The hooks know the state weakly: nothing that a module or a graph holds keeps it alive.
    auto hook = [weak = std::weak_ptr<State>(state_), i](Module&, const Args&,
                                                         const Value& output) {
      auto state = weak.lock();
      if (!state) return;
      size_t call = state->calls[i].size();
      CapturedCall& captured = state->calls[i].emplace_back();
      Value tensors = output;
      hooks::for_each_tensor(tensors, [&](Tensor& tensor) {
        Tensor plain = tensor.detach();
        if (state->options.copy) plain = plain.clone();
        size_t k = captured.outputs.size();
        captured.outputs.push_back(std::move(plain));
        captured.gradients.emplace_back();
        if (!state->options.gradients || !grad_mode_enabled() || !tensor.requires_grad()) return;
        state->tensor_hooks.emplace_back(
            tensor.register_hook([weak, i, call, k](const Tensor& gradient) {
              auto still = weak.lock();
              if (still && call < still->calls[i].size())
                still->calls[i][call].gradients[k] = gradient.detach();
            }));
      });
    };
    state_->module_hooks.emplace_back(found[i]->register_forward_hook(std::move(hook)));
  }
}

Capture::Capture(Capture&& other) noexcept = default;
Capture& Capture::operator=(Capture&& other) noexcept = default;
Capture::~Capture() = default;

const std::vector<std::string>& Capture::names() const { return state_->names; }

const std::vector<CapturedCall>& Capture::calls(std::string_view name) const {
  auto it = std::ranges::find(state_->names, name);
  if (it == state_->names.end()) fail<KeyError>("capture", "no submodule \"{}\" is captured", name);
  return state_->calls[static_cast<size_t>(it - state_->names.begin())];
}

const CapturedCall& Capture::last_call(std::string_view name) const {
  const auto& all = calls(name);
  if (all.empty()) fail<ValueError>("capture", "\"{}\" was not called yet", name);
  if (all.back().outputs.empty()) fail<ValueError>("capture", "\"{}\" returned no tensor", name);
  return all.back();
}

Tensor Capture::activation(std::string_view name) const { return last_call(name).outputs[0]; }

Tensor Capture::gradient(std::string_view name) const { return last_call(name).gradients[0]; }

void Capture::clear() {
  state_->tensor_hooks.clear();
  for (auto& calls : state_->calls) calls.clear();
}

void Capture::remove() {
  state_->module_hooks.clear();
  state_->tensor_hooks.clear();
}

}  // namespace farro::nn::utils
