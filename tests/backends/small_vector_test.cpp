#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <string>
#include <vector>

#include <farro/backends/small_vector.hpp>

using farro::SmallVector;

namespace {

using Strings = SmallVector<std::string, 2>;

std::vector<std::string> list(const Strings& v) { return {v.begin(), v.end()}; }

}  // namespace

TEST_CASE("a small vector grows beyond its place and back", "[backends]") {
  Strings v;
  for (const char* s : {"a", "b", "c", "d", "e"}) v.push_back(s);
  CHECK(list(v) == std::vector<std::string>{"a", "b", "c", "d", "e"});
  v.pop_back();
  v.resize(2);
  CHECK(list(v) == std::vector<std::string>{"a", "b"});
  v.grow_to(4);
  CHECK(list(v) == std::vector<std::string>{"a", "b", "", ""});
  v.grow_to(1);
  CHECK(v.size() == 4);
  v.clear();
  CHECK(v.empty());
}

TEST_CASE("a small vector appends its own element", "[backends]") {
  Strings v{"long enough to live on the heap", "b"};
  v.emplace_back(v[0]);
  CHECK(v[2] == "long enough to live on the heap");
  CHECK(v[0] == v[2]);
}

TEST_CASE("small vectors copy and move in place and on the heap", "[backends]") {
  for (size_t n : {0, 1, 2, 3, 7}) {
    Strings v;
    for (size_t i = 0; i < n; ++i) v.push_back(std::to_string(i));
    std::vector<std::string> expected = list(v);
    Strings copy = v, other{"x", "y", "z"};
    CHECK(list(copy) == expected);
    other = v;
    CHECK(list(other) == expected);
    Strings moved = std::move(v);
    CHECK(list(moved) == expected);
    CHECK(v.empty());
    other = std::move(moved);
    CHECK(list(other) == expected);
    Strings& same = other;
    other = same;
    CHECK(list(other) == expected);
  }
}

TEST_CASE("a small vector destroys each element once", "[backends]") {
  auto owner = std::make_shared<int>(1);
  {
    SmallVector<std::shared_ptr<int>, 2> v;
    for (int i = 0; i < 5; ++i) v.push_back(owner);
    CHECK(owner.use_count() == 6);
    auto copy = v;
    CHECK(owner.use_count() == 11);
    v = std::move(copy);
    CHECK(owner.use_count() == 6);
    v.resize(1);
    CHECK(owner.use_count() == 2);
  }
  CHECK(owner.use_count() == 1);
}

TEST_CASE("a small vector has no element whose constructor threw", "[backends]") {
  struct Picky {
    explicit Picky(int number) {
      if (number < 0) throw number;
      owner = std::make_shared<int>(number);
    }
    std::shared_ptr<int> owner;
  };
  for (size_t size : {0, 1, 2, 4}) {  // in place, and where it would grow
    SmallVector<Picky, 2> v;
    for (size_t i = 0; i < size; ++i) v.emplace_back(1);
    CHECK_THROWS_AS(v.emplace_back(-1), int);
    CHECK(v.size() == size);
    v.emplace_back(7);
    CHECK(v.size() == size + 1);
    CHECK(*v.back().owner == 7);
  }
}

TEST_CASE("a small vector whose copy throws leaves nothing behind", "[backends]") {
  struct Copied {
    Copied(std::shared_ptr<int> o, int* n) : owner(std::move(o)), copies_left(n) {}
    Copied(Copied&&) noexcept = default;
    Copied(const Copied& other) : owner(other.owner), copies_left(other.copies_left) {
      if (--*copies_left < 0) throw 1;
    }
    std::shared_ptr<int> owner;
    int* copies_left;
  };
  auto owner = std::make_shared<int>(1);
  int copies_left = 0;
  SmallVector<Copied, 2> v;
  for (int i = 0; i < 4; ++i) v.emplace_back(owner, &copies_left);
  copies_left = 2;
  CHECK_THROWS_AS((SmallVector<Copied, 2>(v)), int);
  CHECK(owner.use_count() == 5);
}
