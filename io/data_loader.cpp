#include <farro/io/data_loader.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <farro/backends/dispatch_dtype.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/random.hpp>

namespace farro::io {
namespace {

/// Orders of epochs draw from other numbers than the operations of a generator with the same seed.
constexpr uint64_t kOrderStream = uint64_t{1} << 63;

template <class T>
using Table = std::array<T, 256>;

/// What each grey value becomes.
template <class T>
Table<T> normalised(double mean, double std) {
  Table<T> table;
  for (int i = 0; i < 256; ++i) {
    double value = (i / 255.0 - mean) / std;
    if constexpr (std::is_same_v<T, double>) {
      table[static_cast<size_t>(i)] = value;
    } else {
      table[static_cast<size_t>(i)] = T(static_cast<float>(value));
    }
  }
  return table;
}

template <class T>
void gather_images(Device device, const Tensor& images, const int64_t* numbers,
                   const Table<T>& table, const Tensor& to) {
  int64_t pixels = images.size(1) * images.size(2);
  const uint8_t* from = images.data<uint8_t>();
  T* out = to.data<T>();
  parallel_blocks(device, "farro::gather_images", {to.size(0), 8, static_cast<double>(pixels)},
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      const uint8_t* image = from + numbers[i] * pixels;
                      for (int64_t p = 0; p < pixels; ++p) out[i * pixels + p] = table[image[p]];
                    }
                  });
}

}  // namespace

DataLoader::DataLoader(ImageDataset data, DataLoaderOptions options)
    : data_(std::move(data)), options_(options), state_{options.seed, 0, 0} {
  if (options.batch_size < 1) {
    fail<ValueError>("DataLoader", "expected a batch size of at least 1, got {}",
                     options.batch_size);
  }
  if (data_.size() == 0) fail<ValueError>("DataLoader", "expected images, got none");
  if (options.std == 0) fail<ValueError>("DataLoader", "expected a std other than 0, got 0");
  if (!is_floating_point(options.dtype)) {
    fail<ValueError>("DataLoader", "expected a floating-point dtype, got {}",
                     name_of(options.dtype));
  }
}

int64_t DataLoader::size() const {
  int64_t n = data_.size(), b = options_.batch_size;
  return options_.drop_last ? n / b : n / b + (n % b != 0);
}

int64_t DataLoader::image_count() const {
  return options_.drop_last ? size() * options_.batch_size : data_.size();
}

void DataLoader::set_state(const State& state) {
  if (state.epoch < 0 || state.batch < 0 || state.batch > size()) {
    fail<ValueError>("DataLoader",
                     "expected an epoch of 0 or more and a batch from 0 to {}, got {} and {}",
                     size(), state.epoch, state.batch);
  }
  state_ = state;
  options_.seed = state.seed;
  if (state_.batch == size()) state_ = {state.seed, state.epoch + 1, 0};
  placed_ = true;
  order_epoch_ = -1;
}

std::vector<int64_t> DataLoader::order(int64_t epoch) const {
  std::vector<int64_t> order(static_cast<size_t>(data_.size()));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (!options_.shuffle) return order;
  // Fisher and Yates' shuffle; two words for each number, so that none below 2^32 is favoured
  // noticeably.
  Philox random{state_.seed, kOrderStream | static_cast<uint64_t>(epoch)};
  for (size_t i = order.size(); i > 1; --i) {
    Philox::Words words = random(i);
    uint64_t wide = uint64_t{words.v[0]} << 32 | words.v[1];
    auto j = static_cast<size_t>((static_cast<unsigned __int128>(wide) * i) >> 64);
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

DataLoader::Iterator DataLoader::begin() {
  if (!placed_ && state_.batch != 0) state_ = {state_.seed, state_.epoch + 1, 0};
  placed_ = false;
  if (order_epoch_ != state_.epoch) {
    order_ = order(state_.epoch);
    order_epoch_ = state_.epoch;
  }
  return Iterator(this);
}

bool DataLoader::epoch_ended() {
  if (order_epoch_ == state_.epoch && state_.batch < size()) return false;
  if (order_epoch_ == state_.epoch) state_ = {state_.seed, state_.epoch + 1, 0};
  return true;
}

Batch DataLoader::take() {
  int64_t first = state_.batch * options_.batch_size;
  Batch batch = gather(first, std::min(options_.batch_size, data_.size() - first));
  ++state_.batch;
  return batch;
}

Batch DataLoader::gather(int64_t first, int64_t count) const {
  Device host = options_.device.is_host() ? options_.device : Device();
  const int64_t* numbers = order_.data() + first;
  Tensor image =
      empty({count, 1, data_.images.size(1), data_.images.size(2)}, options_.dtype, host);
  dispatch_dtype("DataLoader", options_.dtype,
                 boost::hana::tuple_t<float, double, BFloat16, Float16>, [&]<class T>() {
                   gather_images<T>(host, data_.images, numbers,
                                    normalised<T>(options_.mean, options_.std), image);
                 });
  Tensor label = empty({count}, kInt64, host);
  const uint8_t* labels = data_.labels.data<uint8_t>();
  for (int64_t i = 0; i < count; ++i) label.data<int64_t>()[i] = labels[numbers[i]];
  if (!options_.device.is_host()) return {image.to(options_.device), label.to(options_.device)};
  return {image, label};
}

}  // namespace farro::io
