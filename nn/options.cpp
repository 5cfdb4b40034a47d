#include <farro/nn/options.hpp>

#include <cmath>

namespace farro::nn {

std::string python(bool value) { return value ? "True" : "False"; }

std::string python(int64_t value) { return fmt::format("{}", value); }

std::string python(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // Both write the fewest digits that give the number back; Python marks a float.
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string python(const Scalar& value) {
  if (value.is_floating_point()) return python(value.to_double());
  return value.is_bool() ? python(value.to_int() != 0) : python(value.to_int());
}

std::string python(IntList values) {
  std::string text;
  for (int64_t value : values) text += (text.empty() ? "" : ", ") + fmt::format("{}", value);
  return values.size() == 1 ? "(" + text + ",)" : "(" + text + ")";
}

}  // namespace farro::nn
