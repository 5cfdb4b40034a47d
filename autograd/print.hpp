#pragma once

#include <cstdint>
#include <optional>

namespace farro {

/// How tensors are printed; PyTorch's names and defaults.
struct PrintOptions {
  int precision = 4;         ///< digits after the point
  int64_t threshold = 1000;  ///< more elements than this are summarised
  int64_t edgeitems = 3;     ///< entries at each end of a summarised dimension
  int linewidth = 80;
  std::optional<bool> sci_mode;  ///< scientific notation; absent lets the values decide
};

/// The options of the process. Change them before several threads print.
PrintOptions& print_options();

}  // namespace farro
