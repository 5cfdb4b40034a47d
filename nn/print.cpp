#include <algorithm>
#include <ostream>

#include <farro/nn/module.hpp>

namespace farro::nn {
namespace {

thread_local std::vector<const Module*> printing;  // those whose text is being made, to end on cycles

void append_indented(std::string& text, std::string_view block) {
  text += "\n  ";
  for (char c : block) {
    text += c;
    if (c == '\n') text += "  ";
  }
}

}  // namespace

std::string Module::repr() const {
  std::string name(class_name());
  if (std::ranges::count(printing, this) > 0) return name + "(...)";
  printing.push_back(this);
  struct Pop {
    ~Pop() { printing.pop_back(); }
  } pop;
  std::string extra = extra_repr();
  std::string children;
  const_cast<Module*>(this)->visit_members([&](const Member& member) {
    if (member.kind != Member::Kind::Child) return;
    Module* child = member.child();
    append_indented(children, fmt::format("({}): {}", member.name, child ? child->repr() : "None"));
  });
  if (children.empty() && extra.find('\n') == extra.npos) return name + "(" + extra + ")";
  std::string lines;
  if (!extra.empty()) append_indented(lines, extra);
  return name + "(" + lines + children + "\n)";
}

std::ostream& operator<<(std::ostream& out, const Module& module) { return out << module.repr(); }

}  // namespace farro::nn
