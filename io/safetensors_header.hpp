#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farro/io/tensor_map.hpp>

namespace farro::io {

/// What the header of a safetensors file says of one tensor. Offsets are in bytes from the start of
/// the data.
struct SafetensorsEntry {
  std::string name;
  DType dtype = kFloat32;
  Dims sizes;
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in the order of the header
  Metadata metadata;
};

/// The longest header that is read, as in the format's reference implementation.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

/// Reads the JSON of a header and checks everything that it claims: types, no name twice, products
/// of sizes without overflow, and offsets that cover the data area of `data_bytes` bytes without
/// gap, overlap or rest. Throws FileError that names `source`.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes,
                                           const std::string& source);

/// The JSON of a header, padded with spaces to a multiple of 8 bytes. ValueError if a name can't be
/// written.
std::string format_safetensors_header(const SafetensorsHeader& header);

/// A name as it may be shown: short, in quotes, without control characters.
std::string shown_name(std::string_view name);

}  // namespace farro::io
