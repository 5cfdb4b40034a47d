#include <support/threads.hpp>

#include <pthread.h>

#include <barrier>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

namespace farro::test {
namespace {

struct Call {
  const std::function<void()>& f;
  std::exception_ptr error;
};

void* run(void* argument) {
  auto& call = *static_cast<Call*>(argument);
  try {
    call.f();
  } catch (...) {
    call.error = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void on_thread_with_stack(size_t bytes, const std::function<void()>& f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, bytes) != 0)
    throw std::runtime_error("no such stack size");
  Call call{f, nullptr};
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run, &call) != 0) throw std::runtime_error("no thread");
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  if (call.error) std::rethrow_exception(call.error);
}

void on_threads(int count, const std::function<void(int)>& f) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  std::barrier start(count);
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        f(i);
      } catch (...) {
        errors[static_cast<size_t>(i)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace farro::test
