#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace example {

struct EpochResult {
  double loss = 0;      ///< mean over the epoch's steps
  double accuracy = 0;  ///< of the test images, from 0 to 1
  uint64_t hash = 0;    ///< of the parameters' bits
  double images_per_second = 0;
};

/// What a training run has measured so far.
struct History {
  std::vector<double> losses;  ///< of each step
  std::vector<EpochResult> epochs;
};

/// What the network makes of the test images.
struct Evaluation {
  std::vector<int> truth, guess;
  std::vector<double> confidence;  ///< the probability that the network gives to its guess
  double accuracy() const;
  /// counts[truth][guess].
  std::vector<std::vector<int64_t>> confusion(size_t classes) const;
};

}  // namespace example
