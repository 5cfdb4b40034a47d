#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <farro/nn/entry_iterator.hpp>
#include <farro/nn/module.hpp>

namespace farro::nn {

/// What Sequential and ModuleList share: children in order, under their numbers. Positions may be
/// negative, counting from the end; IndexError outside.
class ModuleSequence : public Module {
 public:
  using Iterator = EntryIterator<Children::const_iterator, Ref<Module>>;

  size_t size() { return registered_children().size(); }
  bool empty() { return size() == 0; }
  Iterator begin() { return Iterator(registered_children().begin()); }
  Iterator end() { return Iterator(registered_children().end()); }

  Ref<Module> operator[](int64_t position);
  Ref<Module> operator[](int position) { return (*this)[int64_t{position}]; }
  /// The module as what it is: net.get<nn::Linear>(0). TypeError if it is of another class.
  template <std::derived_from<Module> M>
  Ref<M> get(int64_t position) {
    Ref<Module> module = (*this)[position];
    Ref<M> typed = module.as<M>();
    if (module && !typed) wrong_class(position, *module);
    return typed;
  }
  /// Puts another module there, under the same name.
  void set(int64_t position, Ref<Module> module);
  /// Takes one out; those behind are renumbered.
  Ref<Module> pop(int64_t position = -1);
  /// Takes out start:stop:step; those behind are renumbered.
  void erase(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step = 1);
  void erase(int64_t position) { pop(position); }
  /// Calls f(Ref<Module>) for each in order.
  template <class F>
  void for_each(F&& f) {
    for (auto& entry : registered_children()) f(Ref<Module>(entry.second));
  }

 protected:
  /// Under the lowest number, at or above size(), that is no name yet.
  void append_last(const Ref<Module>& module);
  void append_all(std::vector<Ref<Module>> modules);
  void insert_at(int64_t position, const Ref<Module>& module);
  std::vector<Ref<Module>> all() { return {begin(), end()}; }

 private:
  void renumber();
  [[noreturn]] void wrong_class(int64_t position, const Module& module) const;
};

}  // namespace farro::nn
