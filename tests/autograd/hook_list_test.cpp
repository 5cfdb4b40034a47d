#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <farro/autograd/hook_list.hpp>

using farro::HookList;
using farro::RemovableHandle;

namespace {

using Hook = std::function<void()>;
using List = HookList<Hook>;

void run(const List& list) {
  list.for_each([](const Hook& hook) { hook(); });
}

}  // namespace

TEST_CASE("hooks run in order and what one changes counts from the next run on", "[hooks]") {
  List list;
  std::string log;
  list.add([&] { log += 'b'; });
  list.add([&] { log += 'a'; }, true);
  RemovableHandle last;
  RemovableHandle once = list.add([&] {
    log += '1';
    once.remove();
    last.remove();
    list.add([&] { log += 'n'; });
  });
  last = list.add([&] { log += 'z'; });
  CHECK(list.size() == 4);
  run(list);
  CHECK(log == "ab1z");
  log.clear();
  run(list);
  CHECK(log == "abn");
  CHECK(list.size() == 3);
}

TEST_CASE("a hook may run its own list again and end it", "[hooks]") {
  std::optional<List> list(std::in_place);
  std::string log;
  bool nested = false;
  auto alive = std::make_shared<int>(0);
  RemovableHandle first = list->add([&, alive] {
    log += 'x';
    if (nested) return;
    nested = true;
    run(*list);
    list.reset();
  });
  list->add([&] { log += 'y'; });
  run(*list);
  CHECK(log == "xxyy");
  CHECK(alive.use_count() == 1);  // the handle does not keep what it stands for
  first.remove();
  first.remove();
}

TEST_CASE("hooks go with their list, though handles stay", "[hooks]") {
  auto alive = std::make_shared<int>(0);
  RemovableHandle handle;
  {
    List list;
    handle = list.add([alive] {});
    CHECK(alive.use_count() == 2);
  }
  CHECK(alive.use_count() == 1);
  RemovableHandle copy = handle;
  handle.remove();
  copy.remove();
}

TEST_CASE("a removed hook's destructor may use the list", "[hooks]") {
  List list;
  size_t seen = 99;
  struct Guard {
    List* list;
    size_t* seen;
    ~Guard() { *seen = list->size(); }
  };
  auto guard = std::make_shared<Guard>(&list, &seen);
  RemovableHandle handle = list.add([guard] {});
  guard.reset();
  handle.remove();
  CHECK(seen == 0);
}

TEST_CASE("a clone has the same hooks and goes its own way", "[hooks]") {
  List list;
  int calls = 0;
  RemovableHandle handle = list.add([&] { ++calls; });
  List copy = list.clone();
  CHECK(copy.entries()[0].first == handle.id());
  handle.remove();
  CHECK(list.empty());
  run(copy);
  CHECK(calls == 1);
}
