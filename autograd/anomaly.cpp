#define BOOST_STACKTRACE_USE_ADDR2LINE
#include <boost/stacktrace.hpp>
#include <fmt/format.h>

#include <farro/autograd/anomaly.hpp>

#include <cstring>

#include <farro/autograd/accumulate.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/pointwise/logic.hpp>
#include <farro/autograd/ops/reduce.hpp>

namespace farro::autograd {

FARRO_FAST_TLS constinit thread_local Anomaly anomaly_mode;

// The addresses are kept as they are: finding names and lines for them is slow, and seldom needed.
void note_place(Node& node) {
  constexpr size_t kOwnCalls = 1, kCalls = 48;
  std::string& place = node.make_extras().place;
  place.clear();
  for (const auto& frame : boost::stacktrace::stacktrace(kOwnCalls, kCalls)) {
    const void* address = frame.address();
    place.append(reinterpret_cast<const char*>(&address), sizeof address);
  }
}

std::string place_of(const Node& node) {
  if (!node.extras() || node.extras()->place.empty())
    return "unknown, since AnomalyMode was off there";
  const std::string& place = node.extras()->place;
  std::string text;
  for (size_t i = 0; i + sizeof(const void*) <= place.size(); i += sizeof(const void*)) {
    const void* address = nullptr;
    std::memcpy(&address, place.data() + i, sizeof address);
    boost::stacktrace::frame frame(address);
    text += "\n  " + frame.name();
    std::string file = frame.source_file();  // asks a program, as each of these does
    if (!file.empty()) text += fmt::format(" at {}:{}", file, frame.source_line());
  }
  return text;
}

void check_anomaly(const Node& node, const Grads& grads) {
  if (!anomaly_mode.check_nan) return;
  NoGrad guard;
  for (size_t i = 0; i < grads.size(); ++i) {
    const Tensor& g = grads[i];
    if (!g.defined() || !g.is_floating_point() || g.numel() == 0) continue;
    if (isnan(g.detach()).to(kFloat32).max().item() == 0) continue;
    fail<GradError>(
        node.name(),
        "the gradient of input {}, of shape {}, holds a NaN; the forward was called at: {}", i,
        to_string(g.sizes()), place_of(node));
  }
}

}  // namespace farro::autograd
