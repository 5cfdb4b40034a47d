#include <farro/nn/module_list.hpp>

#include <farro/nn/positions.hpp>
#include <farro/nn/print.hpp>

namespace farro::nn {

ModuleList& ModuleList::append(Ref<Module> module) {
  append_last(module);
  return *this;
}

ModuleList& ModuleList::extend(ModuleSequence& other) {
  return extend({other.begin(), other.end()});
}

ModuleList& ModuleList::extend(std::vector<Ref<Module>> modules) {
  append_all(std::move(modules));
  return *this;
}

ModuleList& ModuleList::insert(int64_t position, Ref<Module> module) {
  insert_at(position, module);
  return *this;
}

ModuleList ModuleList::slice(std::optional<int64_t> start, std::optional<int64_t> stop,
                             int64_t step) {
  ModuleList result;
  for (size_t i : detail::sliced_positions(start, stop, step, size())) {
    result.append((*this)[static_cast<int64_t>(i)]);
  }
  return result;
}

std::string ModuleList::repr() const {
  detail::Printing printing(this);
  if (printing.again()) return detail::repr_again(class_name());
  struct Run {
    size_t first, last;
    std::string text;
  };
  std::vector<Run> runs;
  size_t i = 0;
  for (Ref<Module> module : const_cast<ModuleList&>(*this)) {
    std::string text = module ? module->repr() : "None";
    if (!runs.empty() && runs.back().text == text) {
      runs.back().last = i;
    } else {
      runs.push_back({i, i, std::move(text)});
    }
    ++i;
  }
  std::vector<std::string> lines;
  for (const Run& run : runs) {
    lines.push_back(run.first == run.last ? fmt::format("({}): {}", run.first, run.text)
                                          : fmt::format("({}-{}): {} x {}", run.first, run.last,
                                                        run.last - run.first + 1, run.text));
  }
  return detail::repr_block(class_name(), extra_repr(), lines);
}

ModuleList operator+(ModuleList& a, ModuleList& b) {
  ModuleList result;
  result.extend(a);
  result.extend(b);
  return result;
}

}  // namespace farro::nn
