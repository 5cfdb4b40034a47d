#include <farro/io/fashion_mnist.hpp>

#include <algorithm>
#include <cstdlib>
#include <span>

#include <farro/io/idx.hpp>

namespace farro::io {
namespace {

constexpr const char* kOperation = "fashion_mnist";

std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name) {
  std::error_code ignored;
  for (const char* suffix : {".gz", ""}) {
    std::filesystem::path path = folder / (name + suffix);
    if (std::filesystem::exists(path, ignored)) return path;
  }
  fail<FileError>(kOperation,
                  "{}: no such file; install the data (on Debian: apt-get install "
                  "dataset-fashion-mnist) or name the "
                  "folder that holds it with FARRO_DATA_DIR",
                  (folder / (name + ".gz")).string());
}

}  // namespace

std::filesystem::path FashionMnist::default_folder() {
  const char* folder = std::getenv("FARRO_DATA_DIR");
  return folder && *folder ? folder : "/usr/share/datasets/fashion-mnist";
}

ImageDataset FashionMnist::load(Part part, const std::filesystem::path& folder) {
  std::string prefix = part == Part::Train ? "train" : "t10k";
  std::filesystem::path image_file = find_file(folder, prefix + "-images-idx3-ubyte");
  std::filesystem::path label_file = find_file(folder, prefix + "-labels-idx1-ubyte");
  ImageDataset data{read_idx(image_file), read_idx(label_file)};
  const Dims& sizes = data.images.sizes();
  if (data.images.dtype() != kUInt8 || sizes.size() != 3 || sizes[1] != 28 || sizes[2] != 28) {
    fail<FileError>(kOperation, "{}: expected uint8 of shape [n, 28, 28], got {} of {}",
                    image_file.string(), name_of(data.images.dtype()), to_string(sizes));
  }
  if (data.labels.dtype() != kUInt8 || data.labels.dim() != 1 || data.labels.numel() != sizes[0]) {
    fail<FileError>(kOperation, "{}: expected uint8 of shape [{}], got {} of {}",
                    label_file.string(), sizes[0], name_of(data.labels.dtype()),
                    to_string(data.labels.sizes()));
  }
  std::span labels(data.labels.data<uint8_t>(), static_cast<size_t>(data.size()));
  auto wrong = std::find_if(labels.begin(), labels.end(),
                            [](uint8_t label) { return label >= classes.size(); });
  if (wrong != labels.end()) {
    fail<FileError>(kOperation, "{}: expected labels below {}, got {}", label_file.string(),
                    classes.size(), *wrong);
  }
  return data;
}

}  // namespace farro::io
