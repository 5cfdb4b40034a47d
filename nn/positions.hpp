#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace farro::nn::detail {

/// A position among `count` entries; a negative one counts from the end. IndexError, in the name of
/// the operation, outside.
size_t wrap_position(const char* operation, int64_t position, size_t count);
/// Where to insert among `count` entries: `count` itself is behind the last.
size_t wrap_insertion(const char* operation, int64_t position, size_t count);
/// The positions of start:stop:step, as in Python; absent or far ends reach to the border.
/// ValueError for a step below 1.
std::vector<size_t> sliced_positions(std::optional<int64_t> start, std::optional<int64_t> stop,
                                     int64_t step, size_t count);

}  // namespace farro::nn::detail
