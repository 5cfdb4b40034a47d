#pragma once

/// Tensors in files, in the safetensors format (8 bytes of length, a header in JSON, the elements
/// one after the other).
///
///     io::save_safetensors(net.state_dict(), "net.safetensors", {{"made_by", "me"}});
///     io::TensorMap state = io::load("net.safetensors");
///
/// Files may come from anywhere: whatever is wrong with one is a FileError that names it, thrown
/// before memory beyond the file's own size is asked for.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <ranges>
#include <span>

#include <farro/io/safetensors_header.hpp>
#include <farro/io/tensor_map.hpp>

namespace farro::io {

namespace detail {
void save_safetensors(std::span<const TensorMap::Entry> entries, const std::filesystem::path& path,
                      const Metadata& metadata);
}

/// Anything that gives pairs of a name and a tensor: a TensorMap, a vector of pairs, a std::map, a
/// state dictionary.
template <class R>
concept NamedTensors = std::ranges::input_range<R> &&
    requires(std::ranges::range_reference_t<R> entry) {
  { entry.first } -> std::convertible_to<std::string>;
  { entry.second } -> std::convertible_to<Tensor>;
};

/// Writes the tensors in their order, atomically: the file appears, or replaces an older one, when
/// it is complete. Tensors of any layout and device are written row by row. Throws ValueError for
/// an undefined tensor, a name twice or not in UTF-8; FileError, saying what to do, when the file
/// can't be written. What a state dictionary knows of its classes' versions goes along as metadata.
template <NamedTensors R>
void save_safetensors(const R& tensors, const std::filesystem::path& path, Metadata metadata = {}) {
  std::vector<TensorMap::Entry> entries;
  if constexpr (requires { metadata.merge(tensors.metadata()); })
    metadata.merge(tensors.metadata());
  for (const auto& [name, tensor] : tensors) entries.emplace_back(name, tensor);
  detail::save_safetensors(entries, path, metadata);
}
/// With the map's own metadata.
inline void save_safetensors(const TensorMap& tensors, const std::filesystem::path& path) {
  detail::save_safetensors(tensors.entries(), path, tensors.metadata);
}

/// An open file of which only the header was read; tensors are read when asked for.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;

  const Metadata& metadata() const { return header_.metadata; }
  const std::vector<SafetensorsEntry>& entries() const { return header_.entries; }
  /// Reads one tensor. KeyError if there is none of this name.
  Tensor load(std::string_view name, Device device = {}) const;
  /// Reads every tensor, in the order of the header.
  TensorMap load_all(Device device = {}) const;

 private:
  struct Source;
  std::unique_ptr<Source> source_;
  SafetensorsHeader header_;
};

TensorMap load_safetensors(const std::filesystem::path& path, Device device = {});
/// From a file's bytes in memory; the tensors are copies.
TensorMap load_safetensors(std::span<const std::byte> bytes, Device device = {});
/// Reads named tensors from a file of a format that Farro knows: safetensors.
TensorMap load(const std::filesystem::path& path, Device device = {});

}  // namespace farro::io
