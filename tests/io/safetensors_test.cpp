#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstring>
#include <fstream>
#include <map>

#include <support/compare.hpp>
#include <support/golden.hpp>
#include <support/temporary_folder.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/backends/random.hpp>
#include <farro/io/safetensors.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A file of a header and data, as bytes.
std::vector<std::byte> file_of(const std::string& header, size_t data_bytes) {
  uint64_t length = header.size();
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

const DType kAllTypes[] = {kFloat32, kFloat64, kBFloat16, kFloat16, kInt64,
                           kInt32,   kInt16,   kInt8,     kUInt8,   kBool};

/// A small file with several dtypes, an empty tensor, a 0-d one and metadata.
io::TensorMap sample() {
  io::TensorMap map;
  map.append("b.weight", test::random({2, 3}, {.dtype = kFloat32}, 1));
  map.append("a", test::random({5}, {.dtype = kFloat64}, 2));
  map.append("flag", tensor({true, false, true}));
  map.append("empty", empty({0, 4}, kInt16, "cpu"));
  map.append("steps", tensor(7));
  map.append("half", test::random({3}, {.dtype = kFloat16}, 3));
  map.metadata = {{"epoch", "3"}, {"text", "ä \"quoted\"\n"}};
  return map;
}

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

std::string refusal(std::span<const std::byte> bytes) {
  try {
    io::load_safetensors(bytes);
    return "none";
  } catch (const FileError& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("safetensors: every dtype and shape comes back bit for bit") {
  test::TemporaryFolder folder;
  DType dtype = GENERATE(from_range(std::begin(kAllTypes), std::end(kAllTypes)));
  io::TensorMap map;
  for (Dims sizes :
       {Dims{}, Dims{0}, Dims{3}, Dims{2, 0, 3}, Dims{4, 5}, Dims{1, 2, 1, 3, 1, 2, 1, 2}}) {
    map.append(to_string(sizes), test::random(sizes, {}, 5, -100, 100).to(dtype));
  }

  io::save_safetensors(map, folder / "x.safetensors");
  io::TensorMap loaded = io::load(folder / "x.safetensors");

  REQUIRE(loaded.size() == map.size());
  for (size_t i = 0; i < map.size(); ++i) {
    CHECK(loaded.entries()[i].first == map.entries()[i].first);
    CHECK(test::bitwise_equal(loaded.entries()[i].second, map.entries()[i].second));
  }
}

TEST_CASE("safetensors: order and metadata survive, and elements are aligned") {
  test::TemporaryFolder folder;
  io::TensorMap map = sample();

  io::save_safetensors(map, folder / "x.safetensors");
  io::SafetensorsFile file(folder / "x.safetensors");

  REQUIRE(file.metadata() == map.metadata);
  REQUIRE(file.entries().size() == map.size());
  for (size_t i = 0; i < map.size(); ++i) {
    CHECK(file.entries()[i].name == map.entries()[i].first);
    CHECK(file.entries()[i].begin % size_of(file.entries()[i].dtype) == 0);
  }
  CHECK(test::bitwise_equal(file.load("a"), map.at("a")));
  CHECK_THROWS_AS(file.load("c"), KeyError);
  std::vector<std::byte> bytes = read_bytes(folder / "x.safetensors");
  io::TensorMap from_memory = io::load_safetensors(bytes);
  CHECK(from_memory.metadata == map.metadata);
  for (const auto& [name, tensor] : map) CHECK(test::bitwise_equal(from_memory.at(name), tensor));
}

TEST_CASE("safetensors: views, expanded tensors and tensors of the tape are written row by row") {
  test::TemporaryFolder folder;
  Tensor base = test::random({3, 4}, {.dtype = kFloat32, .requires_grad = true});
  Tensor transposed = test::with_strides(base.detach(), {1, 3});
  Tensor shared = test::with_strides(test::random({1, 4}), {0, 1});
  std::map<std::string, Tensor> tensors = {
      {"base", base}, {"shared", shared}, {"transposed", transposed}};

  io::save_safetensors(tensors, folder / "x.safetensors");
  io::TensorMap loaded = io::load(folder / "x.safetensors");

  for (const auto& [name, tensor] : tensors) CHECK(test::bitwise_equal(loaded.at(name), tensor));
  CHECK_FALSE(loaded.at("base").requires_grad());
}

TEST_CASE("safetensors: what can't be written is refused before anything is written") {
  test::TemporaryFolder folder;
  using Pairs = std::vector<std::pair<std::string, Tensor>>;
  Tensor t = tensor({1., 2.});
  auto save = [&](const Pairs& pairs) { io::save_safetensors(pairs, folder / "x.safetensors"); };

  CHECK_THROWS_AS(save(Pairs{{"a", t}, {"b", t}, {"a", t}}), ValueError);
  CHECK_THROWS_AS(save(Pairs{{"a", Tensor()}}), ValueError);
  CHECK_THROWS_AS(save(Pairs{{"__metadata__", t}}), ValueError);
  CHECK_THROWS_AS(save(Pairs{{"\xff\xfe", t}}), ValueError);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("safetensors: golden files load") {
  for (const std::string& name : test::golden_files("optim")) {
    if (!std::filesystem::exists(name + ".safetensors")) continue;
    io::TensorMap map = io::load(name + ".safetensors");
    CHECK(map.size() > 0);
    for (const auto& [key, tensor] : map) CHECK(tensor.dtype() == kFloat64);
  }
}

TEST_CASE("safetensors: each kind of bad file is a FileError that says what is wrong") {
  struct Case {
    const char* header;
    size_t data;
    const char* text;
  };
  const Case cases[] = {
      {"", 0, "begins with '{'"},
      {"[]", 0, "begins with '{'"},
      {" {}", 0, "begins with '{'"},
      {"{", 0, "malformed text"},
      {"{}x", 0, "malformed text"},
      {"{\"a\":}", 0, "malformed text"},
      {"{\"\xff\":{}}", 0, "malformed text"},
      {"{}", 1, "expected 0 bytes of data, got 1"},
      {R"({"a":1})", 0, "expected an object for 'a', got 1"},
      {R"({"a":null})", 0, "got null"},
      {R"({"a":[[[[[[]]]]]]})", 0, "got an array"},
      {R"({"a":{}})", 0, "got no dtype"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4, "got no data_offsets"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "got no shape"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4, "got 'x'"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "dtype twice"},
      {R"({"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})", 4, "got 'F8_E4M3'"},
      {R"({"a":{"dtype":3,"shape":[1],"data_offsets":[0,4]}})", 4, "a string as dtype"},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, "an array as shape"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "got -1"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "got '1.0'"},
      {R"({"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})", 4, "got '1'"},
      {R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4, "got an array"},
      {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4,
       "at most 8 dimensions"},
      {R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}})", 4,
       "got 9223372036854775808"},
      {R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,4]}})", 4,
       "got '99999999999999999999'"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", 4,
       "below 2^63 bytes"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "below 2^63 bytes"},
      {R"({"a":{"dtype":"F32","shape":[0,9223372036854775807,8],"data_offsets":[0,0]}})", 0,
       "below 2^63 bytes"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "expected 8 bytes for 'a'"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "two integers"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4, "two integers"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "within the 4 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 4, "within the 4 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]}})",
       4, "within"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "without gaps"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4, "without overlaps"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8, "'a' twice"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5,
       "expected 4 bytes of data, got 5"},
      {R"({"__metadata__":{"a":1}})", 0, "a string for 'a' in __metadata__"},
      {R"({"__metadata__":{"a":{}}})", 0, "got an object"},
      {R"({"__metadata__":{"a":"x","a":"x"}})", 0, "'a' twice in __metadata__"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "__metadata__ twice"},
  };
  for (const Case& c : cases) {
    INFO(c.header);
    CHECK_THAT(
        refusal(file_of(c.header, c.data)),
        ContainsSubstring("[load_safetensors] memory: expected") && ContainsSubstring(c.text));
  }
  std::string deep = "{\"a\":";
  for (int i = 0; i < 1'000'000; ++i) deep += '[';
  CHECK_THAT(refusal(file_of(deep, 0)), ContainsSubstring("got an array"));
}

TEST_CASE("safetensors: wrong lengths, wrong bools, folders and missing files are FileErrors") {
  test::TemporaryFolder folder;
  std::vector<std::byte> bytes = file_of("{}", 0);
  CHECK_THAT(refusal({}), ContainsSubstring("expected at least 8 bytes, got 0"));
  CHECK_THAT(refusal(std::span(bytes).first(7)), ContainsSubstring("got 7"));
  for (uint64_t length : {uint64_t{3}, uint64_t{100'000'001}, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    std::memcpy(bytes.data(), &length, 8);
    CHECK_THAT(refusal(bytes), ContainsSubstring("expected a header of at most 2 bytes"));
  }
  std::vector<std::byte> flag =
      file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  CHECK(refusal(flag) == "none");
  flag.back() = std::byte{2};
  CHECK_THAT(refusal(flag), ContainsSubstring("expected 0 or 1 in 'a', got 2"));

  CHECK_THROWS_AS(io::load(folder / "missing"), FileError);
  CHECK_THROWS_AS(io::load(folder.path()), FileError);
  CHECK_THROWS_AS(io::load("/dev/zero"), FileError);
  std::ofstream(folder / "name.safetensors") << "nonsense";
  CHECK_THROWS_WITH(io::load(folder / "name.safetensors"),
                    ContainsSubstring("name.safetensors: expected"));
}

TEST_CASE("safetensors: names in messages are short and harmless to a terminal") {
  std::string name = "\\u001b[31m" + std::string(1000, 'x');
  std::string text = refusal(file_of("{\"" + name + "\":1}", 0));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.size() < 200);
}

TEST_CASE("safetensors: no mutation of a file crashes; it loads or is a FileError") {
  test::TemporaryFolder folder;
  io::save_safetensors(sample(), folder / "x.safetensors");
  const std::vector<std::byte> original = read_bytes(folder / "x.safetensors");
  const std::string alphabet = "{}[]\",:0123456789-eE.truefalsn \\u\xff\x80";
  int refused = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    Philox random{seed, 1};
    uint64_t drawn = 0;
    auto draw = [&](uint64_t n) { return random(drawn++).v[0] % n; };
    std::vector<std::byte> bytes = original;
    for (uint64_t edits = 1 + draw(3); edits > 0; --edits) {
      // Most edits go where they hurt: into the length and the header.
      size_t at = draw(4) == 0 ? draw(bytes.size()) : draw(std::min<size_t>(bytes.size(), 500));
      switch (draw(5)) {
        case 0:
          bytes[at] = static_cast<std::byte>(draw(256));
          break;
        case 1:
          bytes[at] = static_cast<std::byte>(alphabet[draw(alphabet.size())]);
          break;
        case 2:
          bytes[at] ^= static_cast<std::byte>(1u << draw(8));
          break;
        case 3:
          bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 4:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes[draw(bytes.size())]);
          break;
      }
      if (bytes.empty()) break;
    }
    if (draw(20) == 0) bytes.resize(draw(bytes.size() + 1));
    try {
      io::TensorMap map = io::load_safetensors(bytes);
      int64_t held = 0;
      for (const auto& [name, tensor] : map)
        held += tensor.numel() * static_cast<int64_t>(size_of(tensor.dtype()));
      REQUIRE(held <= static_cast<int64_t>(bytes.size()));
    } catch (const FileError&) {
      ++refused;
    }
  }
  CHECK(refused > 10'000);
}
