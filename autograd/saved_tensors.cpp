#include <farro/autograd/saved_tensors.hpp>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/record.hpp>
#include <farro/autograd/tape_meter.hpp>

namespace farro {
namespace autograd {

FARRO_FAST_TLS constinit thread_local bool packs_saved_tensors = false;

namespace {

thread_local std::shared_ptr<const SavedTensorHooks> innermost;

/// No hooks and no recording while hooks run.
class Quiet {
 public:
  Quiet() : packs_(std::exchange(packs_saved_tensors, false)) {}
  ~Quiet() { packs_saved_tensors = packs_; }

 private:
  NoGrad no_grad_;
  bool packs_;
};

}  // namespace

/// What hooks made of a tensor; without hooks, what a TapeMeter notes of one that is kept as it is.
struct PackedTensor {
  std::shared_ptr<const SavedTensorHooks> hooks;
  std::any value;
  Dims sizes;
  DType dtype;
  Device device;
  MeteredTensor meter;
};

void DeletePackedTensor::operator()(PackedTensor* packed) const { delete packed; }

namespace {

/// The tensor in what a pack function returned, if it is one, with or without a word of how to
/// unpack it.
Tensor tensor_in(const std::any& value) {
  if (const auto* tensor = std::any_cast<Tensor>(&value)) return *tensor;
  if (const auto* pair = std::any_cast<std::pair<Tensor, DType>>(&value)) return pair->first;
  if (const auto* pair = std::any_cast<std::pair<Tensor, Device>>(&value)) return pair->first;
  return {};
}

}  // namespace

void SavedTensor::pack(const Tensor& tensor) {
  auto hooks = innermost;
  if (!hooks) {
    packed_.reset(
        new PackedTensor{{}, {}, {}, tensor.dtype(), tensor.device(), MeteredTensor(tensor)});
    data_ = tensor;
    version_ = tensor.version();
    return;
  }
  Quiet guard;
  std::any value = hooks->pack(tensor);
  MeteredTensor meter(tensor_in(value));
  packed_.reset(new PackedTensor{hooks, std::move(value), tensor.sizes(), tensor.dtype(),
                                 tensor.device(), std::move(meter)});
}

Tensor SavedTensor::unpack_absent(const Node& node) const {
  if (!packed_) {
    if (freed_) throw_freed(node);
    return {};
  }
  Tensor tensor;
  {
    Quiet guard;
    tensor = packed_->hooks->unpack(packed_->value);
  }
  bool fits = tensor.defined() && tensor.sizes() == packed_->sizes &&
              tensor.dtype() == packed_->dtype && tensor.device() == packed_->device;
  if (!fits) {
    fail<GradError>(node.name(),
                    "expected unpacking to give a tensor of shape {}, {} on {}, got {}",
                    to_string(packed_->sizes), name_of(packed_->dtype), packed_->device.str(),
                    tensor.defined() ? fmt::format("{}, {} on {}", to_string(tensor.sizes()),
                                                   name_of(tensor.dtype()), tensor.device().str())
                                     : std::string("none"));
  }
  return grad_mode_enabled() ? with_history(node, tensor) : tensor;
}

}  // namespace autograd

void SavedTensors::enter(autograd::SavedTensorHooks hooks) {
  outer_ = std::exchange(autograd::innermost,
                         std::make_shared<const autograd::SavedTensorHooks>(std::move(hooks)));
  active_outside_ = std::exchange(autograd::packs_saved_tensors, true);
}

SavedTensors::~SavedTensors() {
  autograd::innermost = std::move(outer_);
  autograd::packs_saved_tensors = active_outside_;
}

SavedTensorsAs::SavedTensorsAs(DType dtype)
    : SavedTensors(
          [dtype](const Tensor& t) {
            return std::pair(
                t.is_floating_point() && size_of(t.dtype()) > size_of(dtype) ? t.to(dtype) : t,
                t.dtype());
          },
          [](const std::pair<Tensor, DType>& kept) {
            return kept.first.dtype() == kept.second ? kept.first : kept.first.to(kept.second);
          }) {
  if (!farro::is_floating_point(dtype)) {
    fail<TypeError>("SavedTensorsAs", "expected a floating-point dtype, got {}", name_of(dtype));
  }
}

SavedTensorsOn::SavedTensorsOn(Device device)
    : SavedTensors(
          [device](const Tensor& t) {
            return std::pair(t.device() == device ? t : t.to(device), t.device());
          },
          [](const std::pair<Tensor, Device>& kept) {
            return kept.first.device() == kept.second ? kept.first : kept.first.to(kept.second);
          }) {}

}  // namespace farro
