#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

TEST_CASE("a list of several kinds keeps each in its order and runs them as one", "[hooks]") {
  using Number = std::function<int()>;
  farro::HookLists<Hook, Number> lists;
  std::string log;
  CHECK_FALSE(lists.touched());
  lists.add([&] { log += 'b'; });
  lists.add<Number>([] { return 2; });
  lists.add([&] { log += 'a'; }, true);
  RemovableHandle one = lists.add<Number>([] { return 1; }, true);
  lists.add<Number>([] { return 3; });
  auto numbers = [](const auto& run) {
    std::string digits;
    run.template each<Number>([&](const Number& hook) { digits += std::to_string(hook()); });
    return digits;
  };
  {
    decltype(lists)::Run run(lists);
    run.each([](const Hook& hook) { hook(); });
    one.remove();
    CHECK(numbers(run) == "123");
    run.renew();
    CHECK(numbers(run) == "23");
  }
  CHECK(log == "ab");
  CHECK(lists.size() == 2);
  CHECK(lists.size<Number>() == 2);
  CHECK(lists.touched());
}

TEST_CASE("hooks may be removed in any order", "[hooks]") {
  for (size_t first = 0; first < 4; ++first) {
    List list;
    std::string log;
    std::vector<RemovableHandle> handles;
    for (char c : std::string("abcd")) handles.push_back(list.add([&log, c] { log += c; }));
    std::string left = "abcd";
    for (size_t i = 0; i < 4; ++i) {
      size_t at = (first + 3 * i) % 4;
      handles[at].remove();
      left.erase(left.find("abcd"[at]), 1);
      log.clear();
      run(list);
      CHECK(log == left);
    }
    list.add([&] { log = "again"; });
    run(list);
    CHECK(log == "again");
  }
}

TEST_CASE("a run outlives its list", "[hooks]") {
  auto alive = std::make_shared<int>(0);
  std::optional<List> list(std::in_place);
  list->add([alive] {});
  List::Run run(*list);
  list->add([alive] {});  // into a copy, to which the run may go on
  CHECK(alive.use_count() == 4);
  list.reset();
  CHECK(alive.use_count() == 2);
  CHECK(run.size() == 1);
  run.renew();
  CHECK(run.size() == 0);
  CHECK(alive.use_count() == 1);
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
