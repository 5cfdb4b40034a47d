#include <catch2/catch_session.hpp>

#include <farro/backends/runtime.hpp>

int main(int argc, char** argv) {
  farro::Runtime runtime;
  return Catch::Session().run(argc, argv);
}
