#pragma once

/// Results that are written past the caches. A store to memory that no cache holds first reads its
/// line; for a result larger than the last cache, where nobody will find it later anyway, that is a
/// third of the traffic of a sum of two arrays. (McCalpin's STREAM notes say as much of its own
/// figures.)

#include <cstdint>

namespace farro::kernels {

/// From how many bytes on results are written so: the size of the last cache. To be changed while
/// nothing runs.
int64_t& stream_threshold();
/// True for a result of so many bytes, from this address on, that is not read by the kernel that
/// writes it.
bool streams(const void* to, int64_t bytes);
/// Copies past the caches. `to` is one that streams() approved, or a multiple of 64 bytes from it.
void stream_copy(void* to, const void* from, int64_t bytes);
/// To be called by each thread after its last stream_copy, before others may read.
void stream_done();

}  // namespace farro::kernels
