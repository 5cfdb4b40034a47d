#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

#include <farro/backends/warning.hpp>

TEST_CASE("a handler sees every warning until another takes its place") {
  std::vector<std::string> texts;
  auto previous =
      farro::set_warning_handler([&](const std::string& text) { texts.push_back(text); });
  for (int i = 0; i < 2; ++i) farro::warn("careful");
  CHECK(farro::set_warning_handler(previous));
  CHECK(texts == std::vector<std::string>{"careful", "careful"});
}
