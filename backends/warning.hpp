#pragma once

#include <functional>
#include <source_location>
#include <string_view>

namespace farro {

/// What is done with warnings.
using WarningHandler =
    std::function<void(std::string_view text, const std::source_location& place)>;

/// Tells the user of something that is allowed but likely not meant: a line on standard error, once
/// for each place in the source that warns.
void warn(std::string_view text, std::source_location place = std::source_location::current());

/// Replaces what warn does, for every thread, and returns what it did before. An empty handler
/// stands for the usual line on standard error.
WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace farro
