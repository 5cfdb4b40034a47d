#include <farro/nn/sequential.hpp>

#include <algorithm>

#include <farro/nn/positions.hpp>

namespace farro::nn {

Sequential::Sequential(std::initializer_list<NamedModule> modules) {
  for (const auto& [name, module] : modules) register_module(name, module);
}

Module& Sequential::at(size_t position) {
  auto& [name, module] = registered_children()[position];
  if (FARRO_UNLIKELY(!module)) fail<ValueError>("Sequential", "module \"{}\" is null", name);
  return *module;
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (size_t i = 0; i < size(); ++i) {  // a hook may take modules out
    Module& module = at(i);
    if (FARRO_UNLIKELY(!module.forward_traits().maps_tensor)) return from(i, y).tensor();
    y = module.call_tensor(y);
  }
  return y;
}

Value Sequential::forward_values(const Args& args, const Kwargs& kwargs) {
  if (empty()) {
    if (args.size() != 1 || !kwargs.empty()) {
      detail::wrong_arguments(class_name(), args.size(), kwargs.size());
    }
    return args[0];
  }
  return from(1, at(0).call(args, kwargs));
}

Value Sequential::from(size_t position, Value value) {
  for (; position < size(); ++position) {
    Module& module = at(position);
    ForwardTraits traits = module.forward_traits();
    if (value.is_tensor() && traits.maps_tensor) {
      value = module.call_tensor(value.tensor());
    } else if (value.is_list() && traits.positional != 1) {
      value = module.call(Args(value.list()));
    } else {
      value = module.call(Args{value});
    }
  }
  return value;
}

ForwardTraits Sequential::current_forward_traits() {
  ForwardTraits traits{.positional = 1, .maps_tensor = true};
  for (size_t i = 0; i < size(); ++i) {
    const auto& module = registered_children()[i].second;
    if (!module) continue;
    ForwardTraits of_module = module->forward_traits();
    if (i == 0) traits.positional = of_module.positional;
    traits.maps_tensor = traits.maps_tensor && of_module.maps_tensor;
  }
  return traits;
}

Sequential Sequential::slice(std::optional<int64_t> start, std::optional<int64_t> stop,
                             int64_t step) {
  Sequential result;
  for (size_t i : detail::sliced_positions(start, stop, step, size())) {
    const auto& [name, module] = registered_children()[i];
    result.append_child(name, module);
  }
  return result;
}

Sequential& Sequential::append(Ref<Module> module) {
  append_last(module);
  return *this;
}

Sequential& Sequential::extend(ModuleSequence& other) {
  return extend({other.begin(), other.end()});
}

Sequential& Sequential::extend(std::vector<Ref<Module>> modules) {
  append_all(std::move(modules));
  return *this;
}

Sequential& Sequential::insert(int64_t position, Ref<Module> module) {
  insert_at(position, module);
  return *this;
}

Sequential& Sequential::operator*=(int64_t times) {
  if (times < 1)
    fail<ValueError>("Sequential", "expected to be repeated at least once, got {}", times);
  std::vector<Ref<Module>> once = all();
  for (int64_t i = 1; i < times; ++i) append_all(once);
  return *this;
}

Sequential operator+(Sequential& a, Sequential& b) {
  Sequential result;
  result.extend(a);
  result.extend(b);
  return result;
}

Sequential operator*(Sequential& net, int64_t times) {
  Sequential result;
  result.extend(net);
  result *= times;
  return result;
}

}  // namespace farro::nn
