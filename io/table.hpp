#pragma once

#include <string>
#include <vector>

namespace farro::io {

/// Rows of text whose columns line up: the first to the left, the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}

  /// Missing cells are empty; ValueError for more cells than the head has.
  void add_row(std::vector<std::string> cells);
  /// A line across, between rows.
  void add_rule() { rows_.emplace_back(); }
  /// Columns that line up to the left although they are not the first.
  void align_left(size_t column) { left_.push_back(column); }
  std::string str() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // an empty one is a rule
  std::vector<size_t> left_{0};
};

/// The columns that text in UTF-8 takes on a terminal, at one for each character.
size_t display_width(const std::string& text);

}  // namespace farro::io
