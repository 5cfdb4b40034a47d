#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

#include <farro/backends/warning.hpp>

#include <nn/no_leaks.hpp>
#include <nn/scenario_programs.hpp>
#include <support/golden.hpp>

/// Each program of golden/hooks/scenarios.json; the events must be PyTorch's.
namespace farro::test {
namespace {

/// PyTorch's text of an error is not ours.
Json without_texts(Json events) {
  for (Json& event : events) {
    bool raises = event.size() == 3 && event[0] == "raises";
    bool bare = event.size() == 2 && event[0] == "RuntimeError";
    if (raises || bare) event.erase(event.size() - 1);
  }
  return events;
}

}  // namespace

TEST_CASE("scenarios: every program gives PyTorch's events",
          "[M6][M9][M10][M11][M12][M13][M14][M15][M16][M18][M19][M21]"
          "[M22][M23][M24][M27]") {
  Json file = Json::parse(std::ifstream(golden_dir() + "/hooks/scenarios.json"));
  std::vector<Program> programs = module_programs();
  std::ranges::copy(tape_programs(), std::back_inserter(programs));
  REQUIRE(file["scenarios"].size() >= programs.size());
  auto silent = set_warning_handler([](const std::string&) {});
  for (const Json& scenario : file["scenarios"]) {
    std::string name = scenario["name"];
    auto program = std::ranges::find(programs, name, &Program::first);
    INFO("scenario " << name);
    REQUIRE(program != programs.end());
    for (Device device : devices()) {
      NoLeaks no_leaks;
      Json events = program->second(device);
      INFO("on " << device.str() << ": " << events.dump());
      CHECK(same(events, without_texts(scenario["events"])));
    }
  }
  set_warning_handler(std::move(silent));
}

}  // namespace farro::test
