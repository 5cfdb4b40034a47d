#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include <support/temporary_folder.hpp>
#include <farro/backends/error.hpp>
#include <farro/io/atomic_file.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t files_in(const test::TemporaryFolder& folder) {
  size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++n;
  return n;
}

}  // namespace

TEST_CASE("atomic file: appears complete, replaces the old one and keeps its permissions") {
  test::TemporaryFolder folder;
  io::write_file(folder / "a", "old");
  ::chmod((folder / "a").c_str(), 0640);
  {
    io::AtomicFile file(folder / "a", "test");
    file.write("new ");
    file.write("text");
    CHECK(contents(folder / "a") == "old");
    file.commit();
  }
  CHECK(contents(folder / "a") == "new text");
  struct stat about {};
  ::stat((folder / "a").c_str(), &about);
  CHECK((about.st_mode & 07777) == 0640);
  CHECK(files_in(folder) == 1);
}

TEST_CASE("atomic file: without commit nothing is left behind") {
  test::TemporaryFolder folder;
  { io::AtomicFile(folder / "a", "test").write("text"); }
  CHECK(files_in(folder) == 0);
}

TEST_CASE("atomic file: a symbolic link keeps pointing to the file that it points to") {
  test::TemporaryFolder folder;
  io::write_file(folder / "real", "old");
  std::filesystem::create_symlink("real", folder / "link");
  io::write_file(folder / "link", "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(contents(folder / "real") == "new");
}

TEST_CASE("atomic file: errors say what to do") {
  test::TemporaryFolder folder;
  io::write_file(folder / "file", "x");
  CHECK_THROWS_WITH(io::write_file(folder / "none" / "a", "x", "save"),
                    ContainsSubstring("[save]") && ContainsSubstring("create the folder"));
  CHECK_THROWS_WITH(io::write_file(folder / "file" / "a", "x"),
                    ContainsSubstring("choose another name"));
  CHECK_THROWS_WITH(io::write_file(folder.path(), "x"), ContainsSubstring("choose another name"));
  CHECK_THROWS_WITH(io::write_file("/dev/full", "x"), ContainsSubstring("free space"));
  CHECK_NOTHROW(io::write_file("/dev/null", "x"));
}

TEST_CASE("atomic file: when writing fails midway the old file stays and no temporary one does") {
  test::TemporaryFolder folder;
  io::write_file(folder / "a", "old");
  pid_t child = ::fork();
  if (child == 0) {
    // The child's files may not grow beyond a few bytes: a disk that is full.
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{4, 4};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int status = 1;
    try {
      io::write_file(folder / "a", "longer than that");
    } catch (const FileError& e) {
      status = std::string(e.what()).find("the old file was kept") != std::string::npos ? 0 : 2;
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(contents(folder / "a") == "old");
  CHECK(files_in(folder) == 1);
}
