#pragma once

#include <functional>
#include <memory>

#include <farro/examples/train_fashion_mnist/history.hpp>
#include <farro/examples/train_fashion_mnist/network.hpp>
#include <farro/examples/train_fashion_mnist/options.hpp>
#include <farro/io/data_loader.hpp>
#include <farro/io/fashion_mnist.hpp>
#include <farro/io/safetensors.hpp>
#include <farro/optim/adam.hpp>

namespace example {

/// The training: network, optimizer, data and what was measured.
class Trainer {
 public:
  /// Reads the data and, where the options name one, the checkpoint. Throws farro::Error when
  /// either can't be used.
  explicit Trainer(const Options& options);

  Network& network() { return *network_; }
  const Options& options() const { return options_; }
  const History& history() const { return history_; }
  Device device() const { return device_; }
  DType dtype() const { return dtype_; }
  int64_t train_size() const { return train_->data().size(); }
  const io::ImageDataset& test_data() const { return test_->data(); }
  int64_t steps_per_epoch() const { return train_->size(); }
  /// Epochs that are complete.
  int64_t epochs_done() const { return static_cast<int64_t>(history_.epochs.size()); }

  /// Told of each step: the images done in this epoch, those of a whole epoch, and the loss;
  /// returns false to stop.
  using StepReport = std::function<bool(int64_t done, int64_t total, double loss)>;
  /// Trains the rest of the current epoch; false if `report` stopped it.
  bool train_epoch(const StepReport& report);
  /// Tests the network and closes the epoch's account.
  EpochResult close_epoch();
  Evaluation evaluate();

  /// Everything from which a run continues bit for bit.
  io::TensorMap checkpoint();
  /// Finds out whether a checkpoint can be written to this file, without touching an older one.
  /// FileError that says what to do if not.
  void check_room(const std::filesystem::path& file);

 private:
  void adopt_settings(const io::TensorMap& checkpoint);
  void restore(const io::TensorMap& checkpoint);
  void restore_history(const io::TensorMap& checkpoint);

  Options options_;
  Device device_;
  DType dtype_ = kFloat32;
  std::unique_ptr<Network> network_;
  std::unique_ptr<optim::Adam> adam_;
  std::unique_ptr<io::DataLoader> train_, test_;
  History history_;
  double seconds_ = 0;  // spent on images_ in this epoch
  int64_t images_ = 0;
};

/// The name of a checkpoint of this program in a folder.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder);

}  // namespace example
