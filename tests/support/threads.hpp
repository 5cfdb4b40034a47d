#pragma once

#include <cstddef>
#include <functional>

namespace farro::test {

/// Runs f on a thread of its own with a stack of that many bytes, waits, and rethrows what f
/// throws. Assertions of Catch2 belong on the calling thread.
void on_thread_with_stack(size_t bytes, const std::function<void()>& f);

/// Runs f(0) … f(count - 1) on as many threads at once; rethrows one of the exceptions.
void on_threads(int count, const std::function<void(int)>& f);

}  // namespace farro::test
