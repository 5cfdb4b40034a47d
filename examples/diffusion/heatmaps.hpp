#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace example {

/// A field of (rows, columns) to be drawn; colours go from `lowest` to `highest`.
struct Heatmap {
  std::string title;  ///< letters are drawn as capitals
  farro::Tensor field;
  double lowest = 0, highest = 1;
};

/// Draws fields of one shape side by side as a PNG file, each with a scale below it. FileError.
void write_heatmaps(const std::filesystem::path& file, const std::vector<Heatmap>& maps);

}  // namespace example
