#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace farro::nn {

/// Over what a container has under its names, in order, as Reference; `At` is an iterator over
/// pairs of a name and a value.
template <class At, class Reference>
class EntryIterator {
 public:
  using value_type = std::remove_cvref_t<Reference>;
  using difference_type = std::ptrdiff_t;
  using reference = Reference;
  using iterator_category = std::input_iterator_tag;

  EntryIterator() = default;
  explicit EntryIterator(At at) : at_(at) {}
  Reference operator*() const { return static_cast<Reference>(at_->second); }
  EntryIterator& operator++() {
    ++at_;
    return *this;
  }
  EntryIterator operator++(int) {
    EntryIterator before = *this;
    ++at_;
    return before;
  }
  friend bool operator==(const EntryIterator& a, const EntryIterator& b) { return a.at_ == b.at_; }

 private:
  At at_;
};

}  // namespace farro::nn
