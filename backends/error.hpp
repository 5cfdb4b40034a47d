#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include <farro/backends/config.hpp>

namespace farro {

/// Base of everything that Farro throws. A message reads `[operation] expected …, got …`; it is
/// thrown before any work starts and leaves every argument as it was.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct KeyError : Error {
  using Error::Error;
};
struct TypeError : Error {
  using Error::Error;
};
struct ValueError : Error {
  using Error::Error;
};
struct AttributeError : Error {
  using Error::Error;
};
struct IndexError : Error {
  using Error::Error;
};
struct ShapeError : Error {
  using Error::Error;
};
/// A misuse of the tape: changed saved tensors, a second backward, a wrong gradient.
struct GradError : Error {
  using Error::Error;
};
/// A device that was not built or is not present.
struct BackendError : Error {
  using Error::Error;
};
/// Analytical and numerical gradients differ.
struct GradcheckError : GradError {
  using GradError::GradError;
};
/// A file that is missing, truncated, malformed or can't be written.
struct FileError : Error {
  using Error::Error;
};
/// An allocation that the system refused.
struct MemoryError : Error {
  using Error::Error;
};

namespace detail {

template <class E>
[[noreturn]] FARRO_COLD void throw_error(std::string_view operation, std::string_view text) {
  throw E(fmt::format("[{}] {}", operation, text));
}

}  // namespace detail

/// Throws E with the message `[operation] text`, where text is a fmt format string with its
/// arguments.
template <class E, class... Args>
[[noreturn]] FARRO_COLD void fail(std::string_view operation, fmt::format_string<Args...> text,
                                  Args&&... args) {
  detail::throw_error<E>(operation, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace farro
