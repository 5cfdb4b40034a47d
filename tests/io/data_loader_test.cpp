#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <support/compare.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/io/data_loader.hpp>

using namespace farro;

namespace {

/// n images of 2 x 3 pixels, all with the value of their number, whose labels are their numbers.
io::ImageDataset numbered(int64_t n) {
  Tensor images = empty({n, 2, 3}, kUInt8, "cpu"), labels = empty({n}, kUInt8, "cpu");
  for (int64_t i = 0; i < n; ++i) {
    labels.data<uint8_t>()[i] = static_cast<uint8_t>(i);
    for (int64_t p = 0; p < 6; ++p) images.data<uint8_t>()[i * 6 + p] = static_cast<uint8_t>(i);
  }
  return {images, labels};
}

std::vector<double> labels_of_epoch(io::DataLoader& loader) {
  std::vector<double> seen;
  for (auto [image, label] : loader) {
    for (double l : label.to_vector()) seen.push_back(l);
  }
  return seen;
}

}  // namespace

TEST_CASE("data loader: batches in order, with a last one that is not full or is left out") {
  io::DataLoader loader(numbered(10), {.batch_size = 4});
  std::vector<int64_t> sizes;
  for (auto [image, label] : loader) {
    CHECK(image.sizes() == Dims{label.size(0), 1, 2, 3});
    CHECK(image.dtype() == kFloat32);
    CHECK(label.dtype() == kInt64);
    sizes.push_back(label.size(0));
  }
  CHECK(sizes == std::vector<int64_t>{4, 4, 2});
  CHECK(loader.size() == 3);
  std::vector<double> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(labels_of_epoch(loader) == expected);

  io::DataLoader full(numbered(10), {.batch_size = 4, .drop_last = true});
  CHECK(full.size() == 2);
  CHECK(full.image_count() == 8);
  CHECK(labels_of_epoch(full).size() == 8);
}

TEST_CASE("data loader: images are scaled, shifted and converted") {
  for (DType dtype : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
    io::DataLoader loader(numbered(256),
                          {.batch_size = 256, .dtype = dtype, .mean = 0.25, .std = 0.5});
    for (auto [image, label] : loader) {
      REQUIRE(image.dtype() == dtype);
      double tolerance = dtype == kFloat32 ? 1e-6 : dtype == kFloat64 ? 1e-15 : 0.01;
      std::vector<double> values = image.to_vector();
      for (size_t i = 0; i < 256; ++i) {
        double expected = (static_cast<double>(i) / 255 - 0.25) / 0.5;
        REQUIRE(std::abs(values[i * 6] - expected) <= tolerance);
        REQUIRE(values[i * 6 + 5] == values[i * 6]);
      }
    }
  }
}

TEST_CASE("data loader: shuffled epochs are permutations that depend on seed and epoch alone") {
  io::DataLoader a(numbered(200), {.batch_size = 7, .shuffle = true, .seed = 5});
  io::DataLoader b(numbered(200), {.batch_size = 50, .shuffle = true, .seed = 5});
  io::DataLoader c(numbered(200), {.batch_size = 7, .shuffle = true, .seed = 6});
  std::vector<double> first = labels_of_epoch(a), second = labels_of_epoch(a);
  CHECK(first != second);
  CHECK(labels_of_epoch(b) == first);
  CHECK(labels_of_epoch(b) == second);
  CHECK(labels_of_epoch(c) != first);
  std::sort(first.begin(), first.end());
  CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
  CHECK(first.size() == 200);
  CHECK(a.state() == io::DataLoader::State{5, 2, 0});
}

TEST_CASE("data loader: the shuffle favours no place") {
  // Where image 0 comes to stand in 4,000 epochs of 8 images: 500 times each, give or take.
  io::DataLoader loader(numbered(8), {.batch_size = 8, .shuffle = true, .seed = 1});
  std::vector<int> counts(8);
  for (int64_t epoch = 0; epoch < 4000; ++epoch) {
    std::vector<int64_t> order = loader.order(epoch);
    ++counts[static_cast<size_t>(std::find(order.begin(), order.end(), 0) - order.begin())];
  }
  double chi2 = 0;
  for (int count : counts) chi2 += (count - 500.0) * (count - 500.0) / 500;
  CHECK(chi2 < 24.3);  // passes with probability 0.999, and always for this seed
}

TEST_CASE("data loader: a state taken within an epoch makes another loader continue there") {
  for (int64_t stop : {0, 1, 5, 9, 10}) {
    io::DataLoader whole(numbered(95), {.batch_size = 10, .shuffle = true, .seed = 3});
    labels_of_epoch(whole);
    std::vector<double> all = labels_of_epoch(whole), next = labels_of_epoch(whole);

    io::DataLoader first(numbered(95), {.batch_size = 10, .shuffle = true, .seed = 3});
    labels_of_epoch(first);
    std::vector<double> seen;
    io::DataLoader::State state = first.state();
    for (auto [image, label] : first) {
      if (first.state().batch > stop) break;
      for (double l : label.to_vector()) seen.push_back(l);
      state = first.state();
    }
    io::DataLoader second(numbered(95), {.batch_size = 10, .shuffle = true, .seed = 99});
    second.set_state(state);
    if (stop < 10) {
      for (double l : labels_of_epoch(second)) seen.push_back(l);
    }
    CHECK(seen == all);
    CHECK(labels_of_epoch(second) == next);
  }
}

TEST_CASE("data loader: a loop that is left early ends its epoch") {
  io::DataLoader loader(numbered(20), {.batch_size = 5, .shuffle = true, .seed = 3});
  for ([[maybe_unused]] auto batch : loader) break;
  CHECK(labels_of_epoch(loader).size() == 20);
  CHECK(loader.state().epoch == 2);
}

TEST_CASE("data loader: bad options and states are refused") {
  CHECK_THROWS_AS(io::DataLoader(numbered(3), {.batch_size = 0}), ValueError);
  CHECK_THROWS_AS(io::DataLoader(numbered(0), {}), ValueError);
  CHECK_THROWS_AS(io::DataLoader(numbered(3), {.dtype = kInt64}), ValueError);
  CHECK_THROWS_AS(io::DataLoader(numbered(3), {.std = 0}), ValueError);
  io::DataLoader loader(numbered(3), {});
  CHECK_THROWS_AS(loader.set_state({0, -1, 0}), ValueError);
  CHECK_THROWS_AS(loader.set_state({0, 0, 4}), ValueError);
}

TEST_CASE("data loader: the same bits on every device") {
  io::DataLoader reference(numbered(100),
                           {.batch_size = 100, .shuffle = true, .device = test::host_device()});
  Tensor expected = (*reference.begin()).image;
  test::for_each_device([&](Device device) {
    io::DataLoader loader(numbered(100), {.batch_size = 100, .shuffle = true, .device = device});
    Tensor image = (*loader.begin()).image;
    CHECK(image.device() == device);
    CHECK(test::bitwise_equal(image, expected));
  });
}
