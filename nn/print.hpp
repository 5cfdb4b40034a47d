#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farro::nn {

class Module;

namespace detail {

/// A module whose text is being made, on this thread, until the end of the scope: one that stands
/// in itself ends there.
class Printing {
 public:
  explicit Printing(const Module* module);
  ~Printing();
  Printing(const Printing&) = delete;
  Printing& operator=(const Printing&) = delete;
  /// It is being printed already.
  bool again() const { return again_; }

 private:
  bool again_;
};

std::string repr_again(std::string_view name);
/// Name(extra), or a block with a line for each entry and what else it holds indented below it.
std::string repr_block(std::string_view name, std::string_view extra,
                       const std::vector<std::string>& entries);

}  // namespace detail
}  // namespace farro::nn
