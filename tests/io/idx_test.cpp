#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <zlib.h>

#include <cstdlib>
#include <fstream>

#include <support/temporary_folder.hpp>
#include <farro/backends/random.hpp>
#include <farro/io/atomic_file.hpp>
#include <farro/io/fashion_mnist.hpp>
#include <farro/io/idx.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;

namespace {

using Bytes = std::string;

Bytes idx(unsigned char type, const std::vector<uint32_t>& sizes, const Bytes& data) {
  Bytes bytes{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  return bytes + data;
}

Bytes gzip(const Bytes& plain) {
  test::TemporaryFolder folder;
  gzFile file = gzopen((folder / "x").c_str(), "wb");
  gzwrite(file, plain.data(), static_cast<unsigned>(plain.size()));
  gzclose(file);
  std::ifstream in(folder / "x", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct IdxFile {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder / "data";
  explicit IdxFile(const Bytes& bytes) { io::write_file(path, bytes); }
};

std::string refusal(const Bytes& bytes) {
  IdxFile file(bytes);
  try {
    io::read_idx(file.path);
    return "none";
  } catch (const FileError& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("idx: every type is read, plain and compressed") {
  for (bool compressed : {false, true}) {
    auto read = [&](const Bytes& bytes) {
      IdxFile file(compressed ? gzip(bytes) : bytes);
      return io::read_idx(file.path);
    };
    Tensor bytes = read(idx(0x08, {2, 3}, {'\0', '\1', '\2', '\3', '\4', '\xff'}));
    CHECK(bytes.dtype() == kUInt8);
    CHECK(bytes.sizes() == Dims{2, 3});
    CHECK(bytes.to_vector() == std::vector<double>{0, 1, 2, 3, 4, 255});
    CHECK(read(idx(0x09, {1}, "\xff")).to_vector() == std::vector<double>{-1});
    CHECK(read(idx(0x0B, {2}, Bytes("\x01\x02\xff\xfe", 4))).to_vector() ==
          std::vector<double>{258, -2});
    CHECK(read(idx(0x0C, {1}, Bytes("\0\1\0\2", 4))).to_vector() == std::vector<double>{65538});
    CHECK(read(idx(0x0D, {1}, Bytes("\x3f\xc0\0\0", 4))).to_vector() == std::vector<double>{1.5});
    CHECK(read(idx(0x0E, {1}, Bytes("\xbf\xf8\0\0\0\0\0\0", 8))).to_vector() ==
          std::vector<double>{-1.5});
    CHECK(read(idx(0x08, {0, 5}, "")).sizes() == Dims{0, 5});
  }
}

TEST_CASE("idx: bad files are FileErrors that say what is wrong") {
  CHECK_THAT(refusal(""), ContainsSubstring("expected at least 4 bytes, got 0"));
  CHECK_THAT(refusal("abcd"), ContainsSubstring("expected an IDX file"));
  CHECK_THAT(refusal(idx(0x0A, {1}, "x")), ContainsSubstring("expected an IDX file"));
  CHECK_THAT(refusal(idx(0x08, {}, "")), ContainsSubstring("expected an IDX file"));
  CHECK_THAT(refusal(idx(0x08, {2, 2}, "").substr(0, 10)),
             ContainsSubstring("expected 2 sizes, got 1"));
  CHECK_THAT(refusal(idx(0x08, {4}, "abc")),
             ContainsSubstring("expected 4 bytes of shape [4], got 3"));
  CHECK_THAT(refusal(idx(0x08, {4}, "abcde")), ContainsSubstring("got more"));
  CHECK_THAT(refusal(idx(0x08, {~0u, ~0u}, "abc")), ContainsSubstring("2^63"));
  CHECK_THAT(refusal(idx(0x08, {~0u, ~0u, ~0u, ~0u, 0}, "")), ContainsSubstring("2^63"));
  CHECK_THAT(refusal(idx(0x08, {~0u}, "abc")), ContainsSubstring("can't hold more"));
  CHECK_THAT(refusal(gzip(idx(0x08, {~0u}, "abc"))), ContainsSubstring("can't hold more"));
  CHECK_THAT(refusal(gzip(idx(0x08, {4}, "abcde"))), ContainsSubstring("got more"));
  CHECK_THROWS_AS(io::read_idx("/nowhere"), FileError);
  CHECK_THROWS_AS(io::read_idx("/dev"), FileError);
}

TEST_CASE("idx: damaged compressed files never crash") {
  Bytes noise;
  Philox random{7, 7};
  for (uint64_t i = 0; i < 1000; ++i) noise += static_cast<char>(random(i).v[0]);
  Bytes good = gzip(idx(0x08, {1000}, noise));
  CHECK_THAT(refusal(good.substr(0, good.size() / 2)), ContainsSubstring("truncated"));
  CHECK_THAT(refusal(good.substr(0, good.size() - 4)), ContainsSubstring("truncated"));
  int refused = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Bytes bytes = good;
    bytes[random(1000 + seed).v[0] % bytes.size()] ^=
        static_cast<char>(1 + random(seed).v[1] % 255);
    refused += refusal(bytes) != "none";
  }
  CHECK(refused > 900);
}

TEST_CASE("fashion-mnist: images and labels must agree, and missing files say how to get them") {
  test::TemporaryFolder folder;
  auto load = [&] { return io::FashionMnist::load(io::FashionMnist::Part::Test, folder.path()); };
  CHECK_THROWS_WITH(
      load(), ContainsSubstring("dataset-fashion-mnist") && ContainsSubstring("FARRO_DATA_DIR"));
  io::write_file(folder / "t10k-images-idx3-ubyte.gz",
                 gzip(idx(0x08, {2, 28, 28}, Bytes(2 * 784, 'x'))));
  CHECK_THROWS_WITH(load(), ContainsSubstring("t10k-labels"));
  io::write_file(folder / "t10k-labels-idx1-ubyte", idx(0x08, {2}, Bytes("\x3\x9")));
  io::ImageDataset data = load();
  CHECK(data.size() == 2);
  CHECK(data.labels.to_vector() == std::vector<double>{3, 9});
  io::write_file(folder / "t10k-labels-idx1-ubyte", idx(0x08, {2}, Bytes("\x3\xa")));
  CHECK_THROWS_WITH(load(), ContainsSubstring("expected labels below 10, got 10"));
  io::write_file(folder / "t10k-labels-idx1-ubyte", idx(0x08, {3}, Bytes("\x3\x1\x1")));
  CHECK_THROWS_WITH(load(), ContainsSubstring("expected uint8 of shape [2]"));
  io::write_file(folder / "t10k-images-idx3-ubyte.gz",
                 idx(0x08, {2, 27, 28}, Bytes(2 * 27 * 28, 'x')));
  CHECK_THROWS_WITH(load(), ContainsSubstring("[n, 28, 28]"));
}

TEST_CASE("fashion-mnist: the folder is taken from the environment") {
  const char* old = std::getenv("FARRO_DATA_DIR");
  std::string saved = old ? old : "";
  ::setenv("FARRO_DATA_DIR", "/some/where", 1);
  CHECK(io::FashionMnist::default_folder() == "/some/where");
  old ? ::setenv("FARRO_DATA_DIR", saved.c_str(), 1) : ::unsetenv("FARRO_DATA_DIR");
}
