#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include <farro/io/fashion_mnist.hpp>

namespace farro::io {

/// One batch, in the order of the epoch.
struct Batch {
  Tensor image;  ///< (batch, 1, height, width), (value / 255 - mean) / std
  Tensor label;  ///< (batch), int64
};

struct DataLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  ///< leaves out a last batch that is not full
  uint64_t seed = 0;       ///< of the orders in which epochs go through the data
  DType dtype = kFloat32;  ///< of the images
  Device device{};
  double mean = 0;
  double std = 1;
};

/// Goes through images and labels in batches, in an order that depends on the seed and the number
/// of the epoch alone:
///
///     io::DataLoader loader(data, {.batch_size = 64, .shuffle = true, .seed = 1});
///     for (auto [image, label] : loader) …          // one epoch; the next loop is the next one
///
/// A loop that is left early ends its epoch. `state()` saved within a loop and given to `set_state`
/// of a loader over the same data makes the next loop continue with the batch that was to come.
class DataLoader {
 public:
  struct State {
    uint64_t seed = 0;
    int64_t epoch = 0;  ///< from 0
    int64_t batch = 0;  ///< the next one
    friend bool operator==(const State&, const State&) = default;
  };

  /// ValueError for a batch size below 1, no images, a std of 0, or an integer dtype.
  DataLoader(ImageDataset data, DataLoaderOptions options);

  /// Batches of an epoch.
  int64_t size() const;
  /// Images of an epoch.
  int64_t image_count() const;
  const ImageDataset& data() const { return data_; }
  const DataLoaderOptions& options() const { return options_; }
  const State& state() const { return state_; }
  /// ValueError if no epoch of this loader has such a batch.
  void set_state(const State& state);

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(DataLoader* loader) : loader_(loader) {}
    Batch operator*() const { return loader_->take(); }
    Iterator& operator++() { return *this; }
    void operator++(int) {}
    bool operator==(std::default_sentinel_t) const { return loader_->epoch_ended(); }

   private:
    DataLoader* loader_;
  };
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  /// The image numbers of an epoch in its order.
  std::vector<int64_t> order(int64_t epoch) const;

 private:
  Batch take();
  bool epoch_ended();
  Batch gather(int64_t first, int64_t count) const;

  ImageDataset data_;
  DataLoaderOptions options_;
  State state_;
  bool placed_ = true;  // the next loop begins where state_ says
  int64_t order_epoch_ = -1;
  std::vector<int64_t> order_;  // of order_epoch_
};

}  // namespace farro::io
