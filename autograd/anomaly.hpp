#pragma once

/// Anomaly mode: where a NaN in a gradient comes from.

#include <string>

#include <farro/autograd/node.hpp>

namespace farro {

namespace autograd {

/// The noted calls, one a line, or that none were noted.
std::string place_of(const Node& node);
/// Throws GradError if one of a node's gradients holds a NaN.
void check_anomaly(const Node& node, const Grads& grads);

}  // namespace autograd

/// While one lives on a thread, each node remembers the calls that made it, and a backward that
/// gives a NaN throws a GradError that names the node and lists them; with check_nan false it only
/// remembers. For debugging: a recorded operation takes microseconds. Names and lines need debug
/// information and binutils' addr2line.
class AnomalyMode {
 public:
  explicit AnomalyMode(bool check_nan = true) : previous_(autograd::anomaly_mode) {
    autograd::anomaly_mode = {true, check_nan};
  }
  ~AnomalyMode() { autograd::anomaly_mode = previous_; }
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  autograd::Anomaly previous_;
};

}  // namespace farro
