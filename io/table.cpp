#include <farro/io/table.hpp>

#include <algorithm>

#include <farro/backends/error.hpp>

namespace farro::io {

size_t display_width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void Table::add_row(std::vector<std::string> cells) {
  size_t columns = rows_.front().size();
  if (cells.size() > columns)
    fail<ValueError>("Table", "expected at most {} cells, got {}", columns, cells.size());
  cells.resize(columns);
  rows_.push_back(std::move(cells));
}

std::string Table::str() const {
  std::vector<size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_width(row[c]));
  }
  std::string rule;
  for (size_t w : widths) rule += (rule.empty() ? "" : "  ") + std::string(w, '-');
  std::string out;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < rows_[r].size(); ++c) {
      std::string padding(widths[c] - display_width(rows_[r][c]), ' ');
      bool left = std::find(left_.begin(), left_.end(), c) != left_.end();
      line += (c ? "  " : "") + (left ? rows_[r][c] + padding : padding + rows_[r][c]);
    }
    if (rows_[r].empty()) line = rule;
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (r == 0) out += rule + "\n";
  }
  return out;
}

}  // namespace farro::io
