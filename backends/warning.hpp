#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <string_view>

namespace farro {

/// Tells the user of something that is allowed but likely not meant: a line on standard error, once
/// for each place in the source that warns.
void warn(std::string_view text, std::source_location place = std::source_location::current());

/// What is done with warnings instead; sees all of them.
using WarningHandler = std::function<void(const std::string& text)>;
/// Sets a handler for every thread and returns the one before. An empty one stands for the line on
/// standard error.
WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace farro
