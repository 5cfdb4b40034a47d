#pragma once

#include <array>
#include <filesystem>
#include <string_view>

#include <farro/autograd/tensor.hpp>

namespace farro::io {

/// Images and what they show.
struct ImageDataset {
  Tensor images;  ///< (n, height, width), uint8, on the host
  Tensor labels;  ///< (n), uint8, on the host
  int64_t size() const { return labels.numel(); }
};

/// Fashion-MNIST (Xiao, Rasul, Vollgraf: Fashion-MNIST: a novel image dataset for benchmarking
/// machine learning algorithms, 2017): 28 x 28 grey images of ten kinds of clothes, 60,000 to train
/// on and 10,000 to test with.
struct FashionMnist {
  static constexpr std::array<std::string_view, 10> classes = {
      "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
      "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  enum class Part { Train, Test };

  /// The folder that the environment variable FARRO_DATA_DIR names, else the one in which Debian's
  /// package dataset-fashion-mnist puts the files.
  static std::filesystem::path default_folder();
  /// Reads the images and labels of a part, compressed (…-ubyte.gz) or not (…-ubyte). Throws
  /// FileError that says how to get the data when a file is missing, and what is wrong when one is
  /// damaged.
  static ImageDataset load(Part part, const std::filesystem::path& folder = default_folder());
};

}  // namespace farro::io
