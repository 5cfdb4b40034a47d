#pragma once

/// How an operation gets onto the tape. Operations compute their result into fresh tensors first,
/// and then:
///
///     Tensor y = …;                                        // run the kernel
///     return record("ExpBackward", y, {x}, {y}, [](const BackwardContext& c) -> Grads {
///       return {c.grad() * c.saved(0)};                    // one gradient per input; {} for none
///     });
///
/// The lambda may capture numbers and shapes, but no tensors: those go through the list of saved
/// ones, which checks that nobody changed them meanwhile and frees them after use. It runs with
/// grad mode on only under create_graph; what it computes by recorded operations is then
/// differentiable itself.

#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>

#include <farro/autograd/tensor.hpp>

namespace farro::autograd {

/// True within a SavedTensors scope of this thread.
FARRO_FAST_TLS extern constinit thread_local bool packs_saved_tensors;

struct PackedTensor;
struct DeletePackedTensor {
  void operator()(PackedTensor* packed) const;
};

/// A tensor kept for backward, with the version it had, or as what a SavedTensors scope made of it.
class SavedTensor {
 public:
  SavedTensor() = default;
  /// Input `input_nr` of the recording node (whose edge is its history), or output `output_nr` of
  /// it (kept without history, so that no cycle arises); -1 for neither.
  SavedTensor(const Tensor& tensor, int input_nr, int output_nr);

  /// False if nothing was kept, or not as a tensor.
  bool defined() const { return data_.defined(); }
  /// As SavedTensor(input, input_nr, -1), of a defined tensor.
  FARRO_INLINE SavedTensor(const Tensor& input, int input_nr)
      : data_(input), version_(input.version()), place_(static_cast<int16_t>(input_nr + 1)) {
    if (FARRO_UNLIKELY(packs_saved_tensors || input.impl()->inference))
      *this = SavedTensor(input, input_nr, -1);
  }
  /// The tensor itself; null where unpack has to make it. Throws as unpack does.
  const TensorImpl* kept(const Node& node) const {
    if (FARRO_UNLIKELY(!data_.defined())) {
      if (freed_) throw_freed(node);
      return nullptr;
    }
    if (FARRO_UNLIKELY(data_.version() != version_)) throw_changed(node);
    return data_.impl();
  }
  /// The tensor with its history. GradError if it was changed in place since, or freed.
  Tensor unpack(const Node& node) const {
    if (FARRO_UNLIKELY(!data_.defined())) return unpack_absent(node);
    kept(node);
    return FARRO_LIKELY(!grad_mode_enabled()) ? data_ : with_history(node, data_);
  }
  void reset() {
    if (!data_.defined() && !packed_) return;
    freed_ = true;
    data_ = {};
    packed_.reset();
  }
  const Tensor& peek() const { return data_; }

 private:
  Tensor with_history(const Node& node, const Tensor& tensor) const;
  void pack(const Tensor& tensor);
  Tensor unpack_absent(const Node& node) const;
  [[noreturn]] FARRO_COLD static void throw_inference();
  [[noreturn]] FARRO_COLD void throw_freed(const Node& node) const;
  [[noreturn]] FARRO_COLD void throw_changed(const Node& node) const;

  Tensor data_;
  std::unique_ptr<PackedTensor, DeletePackedTensor> packed_;
  uint32_t version_ = 0;
  int16_t place_ = 0;  // 1 + the input's number, or -1 - the output's, or 0
  bool freed_ = false;
};

using SavedList = SmallVector<SavedTensor, 2>;

/// What a backward lambda sees.
class BackwardContext {
 public:
  BackwardContext(const Node& node, const Grads& grads, const SavedList& saved)
      : node_(node), grads_(grads), saved_(saved) {}
  /// The gradient of output i. Defined for single-output nodes.
  const Tensor& grad(size_t i = 0) const { return grads_[i]; }
  size_t grad_count() const { return grads_.size(); }
  /// False if nobody wants the gradient of input i.
  bool needs(size_t i) const { return node_.needs_input_grad(i); }
  Tensor saved(size_t i) const { return saved_[i].unpack(node_); }

 private:
  const Node& node_;
  const Grads& grads_;
  const SavedList& saved_;
};

/// The edge of a tensor without a node: to the accumulator of a leaf that requires grad, or none.
Edge leaf_edge(const Tensor& tensor);
/// The edge along which a tensor's gradient flows: to its node, to the accumulator of a leaf that
/// requires grad, or none.
inline Edge gradient_edge(const Tensor& tensor) {
  const TensorImpl* impl = tensor.impl();
  return FARRO_LIKELY(impl && impl->grad_fn) ? Edge{impl->grad_fn, impl->output_nr}
                                             : leaf_edge(tensor);
}

/// True if an operation on these inputs is to be recorded.
template <class... Ts>
bool any_requires_grad(const Ts&... tensors) {
  return grad_mode_enabled() && ((tensors.defined() && tensors.requires_grad()) || ...);
}
bool any_requires_grad(std::initializer_list<Tensor> tensors);

namespace detail {

/// Adds the inputs' edges, numbers the node and makes it the outputs' grad_fn (of those with
/// floating-point dtype). An output that is also an input was changed in place: its history is
/// rewritten, and with it that of its base and of the other views of that.
void attach(const IntrusivePtr<Node>& node, std::span<const Tensor> inputs,
            std::span<const Tensor> outputs);
SavedList save(std::span<const Tensor> inputs, std::span<const Tensor> saved,
               std::span<const Tensor> outputs);
/// Throws GradError unless backward gave no more gradients than there are edges; pads with
/// undefined ones.
void check_grad_count(const Node& node, Grads& grads);

template <class F>
class RecordedNode final : public Node {
 public:
  RecordedNode(const char* name, uint32_t outputs, F backward)
      : Node(outputs), name_(name), backward_(std::move(backward)) {}

  std::string name() const override { return name_; }
  void apply(Grads& grad_outputs, Grads& grad_inputs) override {
    grad_inputs = backward_(BackwardContext(*this, grad_outputs, saved_));
    check_grad_count(*this, grad_inputs);
  }
  void release_saved() override {
    for (SavedTensor& s : saved_) s.reset();
  }
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override {
    for (const SavedTensor& s : saved_) visit(s.peek());
  }

  SavedList saved_;

 private:
  const char* name_;
  F backward_;
};

}  // namespace detail

/// Records an operation with several outputs; see the top of this file. Undefined tensors may stand
/// among inputs and saved. In backward, outputs that got no gradient have an undefined one.
template <class F>
void record(const char* name, std::span<const Tensor> outputs, std::initializer_list<Tensor> inputs,
            std::initializer_list<Tensor> saved, F backward) {
  if (!any_requires_grad(inputs)) return;
  auto node = IntrusivePtr<detail::RecordedNode<F>>::fresh(new detail::RecordedNode<F>(
      name, static_cast<uint32_t>(outputs.size()), std::move(backward)));
  std::span<const Tensor> from(inputs.begin(), inputs.size());
  detail::attach(node, from, outputs);
  node->saved_ = detail::save(from, {saved.begin(), saved.size()}, outputs);
}

/// Records an operation with one output and returns that.
template <class F>
Tensor record(const char* name, Tensor output, std::initializer_list<Tensor> inputs,
              std::initializer_list<Tensor> saved, F backward) {
  record(name, std::span<const Tensor>(&output, 1), inputs, saved, std::move(backward));
  return output;
}

/// Notes that `view` shares base's memory. `of_several`: it is one of several outputs of its
/// operation.
void mark_view(const Tensor& view, const Tensor& base, bool of_several = false);

/// As record, for an output that is a view of `base`'s memory: in-place changes of either are seen
/// by the tape of both.
template <class F>
Tensor record_view(const char* name, const Tensor& base, Tensor output, F backward) {
  mark_view(output, base);
  return record(name, std::move(output), {base}, {}, std::move(backward));
}

/// Before an in-place operation on `self`: GradError where the rules forbid it (a leaf that
/// requires grad or a view of one, memory that overlaps itself, an inference tensor; where the
/// operation is to be recorded, a view that was made without recording or with others at once).
/// Shapes and dtypes are the caller's to check first. `others_require_grad`: whether another input
/// does.
void check_inplace(const Tensor& self, const char* operation, bool others_require_grad = false);
/// After an in-place change that is none of the tape's.
inline void bump_version(const Tensor& self) { self.storage()->bump_version(); }

/// Made when an operation has changed tensors in place: raises their versions. If an exception ends
/// its scope, in which the change is recorded, their history may not tell of it: then it is lost,
/// and a backward that comes through one of them, its base or the base's views is a GradError.
class InplaceChange {
 public:
  explicit InplaceChange(std::span<const Tensor> changed, bool others_require_grad = false)
      : changed_(changed), recorded_(others_require_grad) {
    for (const Tensor& tensor : changed) {
      bump_version(tensor);
      recorded_ = recorded_ || tensor.requires_grad();
    }
    recorded_ = recorded_ && grad_mode_enabled();
  }
  explicit InplaceChange(const Tensor& changed, bool others_require_grad = false)
      : InplaceChange(std::span(&changed, 1), others_require_grad) {}
  InplaceChange(const InplaceChange&) = delete;
  InplaceChange& operator=(const InplaceChange&) = delete;
  ~InplaceChange() {
    if (FARRO_UNLIKELY(std::uncaught_exceptions() != exceptions_) && recorded_) lose_histories();
  }

 private:
  void lose_histories() const noexcept;

  std::span<const Tensor> changed_;
  bool recorded_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace farro::autograd
