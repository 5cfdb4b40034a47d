#include <farro/nn/parameter_list.hpp>

#include <farro/nn/positions.hpp>

namespace farro::nn {
namespace detail {
namespace {

std::string with_crosses(const Dims& sizes) {
  std::string text;
  for (int64_t size : sizes.vec()) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

}  // namespace

Parameter as_parameter(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  return tensor.impl()->is_parameter ? Parameter::of(tensor) : Parameter(tensor.detach());
}

std::string repr_parameters(const Named<Parameter>& parameters) {
  std::string text;
  for (const auto& [name, parameter] : parameters) {
    if (!text.empty()) text += '\n';
    if (!parameter.defined()) {
      text += fmt::format("  ({}): None", name);
    } else if (parameter.is_uninitialized()) {
      text += fmt::format("  ({}): UninitializedParameter", name);
    } else {
      text +=
          fmt::format("  ({}): Parameter containing: [{} of size {}{}]", name,
                      name_of(parameter.dtype()), with_crosses(parameter.sizes()),
                      parameter.device().is_host() ? "" : " (" + parameter.device().str() + ")");
    }
  }
  return text;
}

}  // namespace detail

const Parameter& ParameterList::operator[](int64_t position) {
  return registered_parameters()[detail::wrap_position("operator[]", position, size())].second;
}

void ParameterList::set(int64_t position, const Tensor& tensor) {
  size_t at = detail::wrap_position("set", position, size());
  register_parameter(std::to_string(at), detail::as_parameter(tensor));
}

ParameterList& ParameterList::append(const Tensor& tensor) {
  register_parameter(std::to_string(size()), detail::as_parameter(tensor));
  return *this;
}

ParameterList& ParameterList::extend(const std::vector<Tensor>& tensors) {
  std::vector<Parameter> parameters;
  for (const Tensor& tensor : tensors) parameters.push_back(detail::as_parameter(tensor));
  for (const Parameter& parameter : parameters) append(parameter);
  return *this;
}

ParameterList ParameterList::slice(std::optional<int64_t> start, std::optional<int64_t> stop,
                                   int64_t step) {
  ParameterList result;
  for (size_t i : detail::sliced_positions(start, stop, step, size())) {
    result.append(registered_parameters()[i].second);
  }
  return result;
}

std::string ParameterList::extra_repr() const {
  return detail::repr_parameters(const_cast<ParameterList&>(*this).registered_parameters());
}

}  // namespace farro::nn
