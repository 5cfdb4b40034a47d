#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace farro::io {

/// A line of a chart; points that are not finite interrupt it.
struct Series {
  std::string name;
  std::vector<double> x, y;
  bool markers = false;  ///< a dot at each point
};

/// A chart of lines with axes, round ticks, a grid and a legend.
struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  std::vector<double> x_covers{};  ///< values that the horizontal axis covers besides the points
};

/// Charts below each other as an SVG drawing that follows the reader's choice of a light or dark
/// display.
std::string line_charts(const std::vector<Chart>& charts, int width = 720,
                        int height_of_each = 300);
/// Writes the drawing, atomically. FileError, saying what to do, when that fails.
void write_line_charts(const std::filesystem::path& path, const std::vector<Chart>& charts);

/// Round numbers that cover [lo, hi], about `wanted` of them.
std::vector<double> round_ticks(double lo, double hi, int wanted);

}  // namespace farro::io
