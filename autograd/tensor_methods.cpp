/// Methods that are another spelling of a free function.

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/tensor.hpp>

namespace farro {

Tensor Tensor::to(DType dtype) const { return farro::to(*this, dtype); }
Tensor Tensor::to(Device device) const { return farro::to(*this, device); }
Tensor Tensor::to(Device device, DType dtype) const { return farro::to(*this, device, dtype); }
Tensor Tensor::contiguous() const { return farro::contiguous(*this); }
Tensor Tensor::clone() const { return farro::clone(*this); }
const Tensor& Tensor::copy_(const Tensor& source) const { return farro::copy_(*this, source); }
const Tensor& Tensor::fill_(const Tensor& value) const { return farro::fill_(*this, value); }
const Tensor& Tensor::zero_() const { return farro::zero_(*this); }

Tensor Tensor::view(IntList sizes) const { return farro::view(*this, sizes); }
Tensor Tensor::reshape(IntList sizes) const { return farro::reshape(*this, sizes); }
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim) const {
  return farro::flatten(*this, start_dim, end_dim);
}
Tensor Tensor::unflatten(int64_t dim, IntList sizes) const {
  return farro::unflatten(*this, dim, sizes);
}
Tensor Tensor::permute(IntList dims) const { return farro::permute(*this, dims); }
Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  return farro::transpose(*this, dim0, dim1);
}
Tensor Tensor::t() const { return farro::t(*this); }
Tensor Tensor::expand(IntList sizes) const { return farro::expand(*this, sizes); }
Tensor Tensor::expand_as(const Tensor& other) const { return farro::expand_as(*this, other); }
Tensor Tensor::squeeze() const { return farro::squeeze(*this); }
Tensor Tensor::squeeze(int64_t dim) const { return farro::squeeze(*this, dim); }
Tensor Tensor::unsqueeze(int64_t dim) const { return farro::unsqueeze(*this, dim); }
Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> stop,
                     int64_t step) const {
  return farro::slice(*this, dim, start, stop, step);
}
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  return farro::narrow(*this, dim, start, length);
}
Tensor Tensor::select(int64_t dim, int64_t index) const { return farro::select(*this, dim, index); }
std::vector<Tensor> Tensor::split(int64_t size, int64_t dim) const {
  return farro::split(*this, size, dim);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const {
  return farro::chunk(*this, chunks, dim);
}
std::vector<Tensor> Tensor::unbind(int64_t dim) const { return farro::unbind(*this, dim); }
Tensor Tensor::as_strided(IntList sizes, IntList strides, int64_t storage_offset) const {
  return farro::as_strided(*this, sizes, strides, storage_offset);
}
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  return farro::diagonal(*this, offset, dim1, dim2);
}

Tensor Tensor::operator[](std::initializer_list<Index> indices) const {
  return index(*this, std::span<const Index>(indices.begin(), indices.size()));
}
Tensor Tensor::operator[](const Tensor& index) const { return (*this)[{Index(index)}]; }
Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  return farro::index_select(*this, dim, index);
}
Tensor Tensor::gather(int64_t dim, const Tensor& index) const {
  return farro::gather(*this, dim, index);
}
Tensor Tensor::masked_select(const Tensor& mask) const { return farro::masked_select(*this, mask); }
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value) const {
  return farro::masked_fill(*this, mask, value);
}
void Tensor::index_put_(std::initializer_list<Index> indices, const Tensor& value) const {
  farro::index_put_(*this, std::span<const Index>(indices.begin(), indices.size()), value);
}

}  // namespace farro
