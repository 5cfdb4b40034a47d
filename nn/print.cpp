#include <farro/nn/print.hpp>

#include <algorithm>
#include <ostream>

#include <farro/nn/module.hpp>

namespace farro::nn {
namespace detail {
namespace {

thread_local std::vector<const Module*> in_print;

void append_indented(std::string& text, std::string_view block) {
  text += "\n  ";
  for (char c : block) {
    text += c;
    if (c == '\n') text += "  ";
  }
}

}  // namespace

Printing::Printing(const Module* module) : again_(std::ranges::count(in_print, module) > 0) {
  in_print.push_back(module);
}

Printing::~Printing() { in_print.pop_back(); }

std::string repr_again(std::string_view name) { return std::string(name) + "(...)"; }

std::string repr_block(std::string_view name, std::string_view extra,
                       const std::vector<std::string>& entries) {
  std::string text = std::string(name) + "(";
  if (entries.empty() && extra.find('\n') == extra.npos) return text + std::string(extra) + ")";
  if (!extra.empty()) append_indented(text, extra);
  for (const std::string& entry : entries) append_indented(text, entry);
  return text + "\n)";
}

}  // namespace detail

std::string Module::repr() const {
  detail::Printing printing(this);
  if (printing.again()) return detail::repr_again(class_name());
  std::vector<std::string> children;
  const_cast<Module*>(this)->visit_members([&](const Member& member) {
    if (member.kind != Member::Kind::Child) return;
    Module* child = member.child();
    children.push_back(fmt::format("({}): {}", member.name, child ? child->repr() : "None"));
  });
  return detail::repr_block(class_name(), extra_repr(), children);
}

std::ostream& operator<<(std::ostream& out, const Module& module) { return out << module.repr(); }

}  // namespace farro::nn
