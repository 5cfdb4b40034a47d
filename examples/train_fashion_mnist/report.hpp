#pragma once

#include <string>

#include <farro/examples/train_fashion_mnist/trainer.hpp>

namespace example {

/// Device, threads, data and settings, in a few lines.
std::string describe(const Trainer& trainer);
/// "epoch 1  loss 0.4321  test accuracy 86.54 %  3456 images/s  parameters 0123456789abcdef".
std::string describe(int64_t epoch, const EpochResult& result);
/// Rows are what the images show, columns what the network takes them for.
std::string confusion_table(const Evaluation& evaluation);
/// All results as one JSON object.
std::string to_json(const Trainer& trainer, const Evaluation& evaluation,
                    const std::filesystem::path& folder, bool interrupted);

}  // namespace example
