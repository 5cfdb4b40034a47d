#include <farro/backends/warning.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

namespace farro {
namespace {

struct State {
  std::mutex mutex;
  WarningHandler handler;
  std::set<std::pair<std::string, uint32_t>> warned;
};

State& state() {
  static State& state = *new State;  // never destroyed: destructors of other statics may warn
  return state;
}

}  // namespace

void warn(std::string_view text, std::source_location place) {
  WarningHandler handler;
  {
    std::lock_guard lock(state().mutex);
    handler = state().handler;
    if (!handler && !state().warned.emplace(place.file_name(), place.line()).second) return;
  }
  if (handler) {
    handler(std::string(text));
  } else {
    fmt::print(stderr, "farro: warning: {}\n", text);
  }
}

WarningHandler set_warning_handler(WarningHandler handler) {
  std::lock_guard lock(state().mutex);
  return std::exchange(state().handler, std::move(handler));
}

}  // namespace farro
