#pragma once

#include <farro/examples/train_fashion_mnist/trainer.hpp>

namespace example {

inline constexpr const char* kCurveName = "learning-curve.svg";
inline constexpr const char* kMisclassifiedName = "misclassified.png";

/// Loss of each step, smoothed too, and test accuracy of each epoch.
void write_learning_curve(const std::filesystem::path& file, const History& history,
                          int64_t steps_per_epoch);
/// The wrong guesses of which the network is most certain.
void write_misclassified(const std::filesystem::path& file, const Evaluation& evaluation,
                         const io::ImageDataset& data);

}  // namespace example
