#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include <support/compare.hpp>
#include <support/example_program.hpp>
#include <farro/io/fashion_mnist.hpp>
#include <farro/io/safetensors.hpp>

using namespace farro;
using namespace farro::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string program() { return FARRO_TEST_OUTPUT_DIR "/../examples/train_fashion_mnist"; }

ProgramResult run(const TemporaryFolder& folder, const std::string& arguments) {
  return run_example(folder, "train_fashion_mnist", arguments);
}

/// Two epochs of six steps; the last step of each is a partial one.
std::string small(const std::filesystem::path& output, const std::string& more = "--epochs 2") {
  return "--limit 90 --batch-size 16 --seed 5 --json --output " + output.string() + " " + more;
}

bool have_data() {
  std::error_code ignored;
  return std::filesystem::exists(io::FashionMnist::default_folder() / "train-images-idx3-ubyte.gz",
                                 ignored);
}

}  // namespace

TEST_CASE("train_fashion_mnist: the same bits on Serial and OpenMP with 1 and 2 threads") {
  if (!have_data()) SKIP("the data set is not installed");
  test::TemporaryFolder folder;
  std::vector<std::string> ways;
  if (is_available("serial")) ways.push_back("--backend serial");
  if (is_available("openmp"))
    ways.insert(ways.end(), {"--backend openmp --threads 1", "--backend openmp --threads 2"});
  if (ways.size() < 2) SKIP("Kokkos was built without OpenMP");

  nlohmann::json expected;
  for (const std::string& way : ways) {
    INFO(way);
    ProgramResult result = run(folder, small(folder / "a", "--epochs 2 " + way));
    REQUIRE(result.status == 0);
    auto report = nlohmann::json::parse(result.out);
    if (expected.is_null()) expected = report;
    CHECK(report["losses"] == expected["losses"]);
    for (size_t i = 0; i < 2; ++i)
      CHECK(report["epochs"][i]["parameters"] == expected["epochs"][i]["parameters"]);
  }
  CHECK(expected["epochs"].size() == 2);
  CHECK(expected["losses"].size() == 12);
  for (const char* name : {"learning-curve.svg", "misclassified.png", "checkpoint.safetensors"}) {
    CHECK(std::filesystem::file_size(folder / "a" / name) > 100);
  }
}

TEST_CASE("train_fashion_mnist: a resumed run continues bit for bit") {
  if (!have_data()) SKIP("the data set is not installed");
  test::TemporaryFolder folder;
  ProgramResult whole = run(folder, small(folder / "a"));
  REQUIRE(whole.status == 0);
  ProgramResult half = run(folder, small(folder / "b", "--epochs 1"));
  REQUIRE(half.status == 0);
  ProgramResult rest = run(folder, "--epochs 2 --json --resume " +
                                       (folder / "b" / "checkpoint.safetensors").string() +
                                       " --output " + (folder / "c").string());
  REQUIRE(rest.status == 0);
  auto expected = nlohmann::json::parse(whole.out), result = nlohmann::json::parse(rest.out);
  CHECK(result["losses"] == expected["losses"]);
  CHECK(result["epochs"][1]["parameters"] == expected["epochs"][1]["parameters"]);
  check_one_line_error(
      run(folder, "--seed 6 --resume " + (folder / "b" / "checkpoint.safetensors").string()),
      "leave --seed out");
}

TEST_CASE("train_fashion_mnist: Ctrl-C saves, and the run resumes bit for bit") {
  if (!have_data()) SKIP("the data set is not installed");
  test::TemporaryFolder folder;
  // Progress goes to a pipe: the first line of it is the sign that steps are being made.
  std::string sign = (folder / "pipe").string(), arguments = small(folder / "b", "--epochs 1000");
  REQUIRE(::mkfifo(sign.c_str(), 0600) == 0);
  pid_t child = ::fork();
  if (child == 0) {
    std::string command =
        "exec " + program() + " " + arguments + " >" + (folder / "report").string() + " 2>" + sign;
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  {
    std::ifstream pipe(sign);
    std::string line;
    bool signalled = false;
    while (std::getline(pipe, line)) {
      if (!signalled && line.find("loss") != std::string::npos) ::kill(child, SIGINT);
      signalled |= line.find("loss") != std::string::npos;
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 130);
  auto stopped = nlohmann::json::parse(contents_of(folder / "report"));
  std::string epochs = " --epochs " + std::to_string(stopped["epochs"].size() + 1);
  ProgramResult rest =
      run(folder, "--json --resume " + (folder / "b" / "checkpoint.safetensors").string() +
                      " --output " + (folder / "c").string() + epochs);
  REQUIRE(rest.status == 0);
  ProgramResult whole = run(folder, small(folder / "a", epochs));
  REQUIRE(whole.status == 0);
  CHECK(nlohmann::json::parse(rest.out)["losses"] == nlohmann::json::parse(whole.out)["losses"]);
}

TEST_CASE("train_fashion_mnist: errors are one line that says what to do, with status 2") {
  test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "empty");
  std::string data =
      "--output " + (folder / "o").string() + " --data " + (folder / "empty").string();
  check_one_line_error(run(folder, data), "dataset-fashion-mnist");
  check_one_line_error(run(folder, "--backend nonsense"), "nonsense");
  check_one_line_error(run(folder, "--epochs 0"), "--help");
  check_one_line_error(run(folder, "--nonsense"), "--help");
  check_one_line_error(run(folder, "--dtype int8"), "--help");
  check_one_line_error(run(folder, "--resume " + (folder / "none").string()), "none");
  std::ofstream(folder / "bad.safetensors") << "not a checkpoint";
  check_one_line_error(run(folder, "--resume " + (folder / "bad.safetensors").string()),
                       "bad.safetensors");
  std::ofstream(folder / "empty" / "train-images-idx3-ubyte.gz") << "xx";
  std::ofstream(folder / "empty" / "train-labels-idx1-ubyte.gz") << "xx";
  check_one_line_error(run(folder, data), "train-images");
}

TEST_CASE(
    "train_fashion_mnist: a folder that can't be written is found out before training; an old "
    "checkpoint stays") {
  if (!have_data()) SKIP("the data set is not installed");
  test::TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  check_one_line_error(run(folder, "--limit 90 --output " + (folder / "file" / "x").string()),
                       "--output");
  // A limit on the size of files stands for a disk that is full.
  std::filesystem::create_directory(folder / "full");
  std::ofstream(folder / "full" / "checkpoint.safetensors") << "old";
  std::string command = "trap '' XFSZ; ulimit -f 100; exec " + program() + " --limit 90 --output " +
                        (folder / "full").string() + " >" + (folder / "out").string() + " 2>" +
                        (folder / "err").string();
  int status = std::system(("sh -c \"" + command + "\"").c_str());
  check_one_line_error(
      {WEXITSTATUS(status), contents_of(folder / "out"), contents_of(folder / "err")},
      "the old file was kept");
  CHECK(contents_of(folder / "full" / "checkpoint.safetensors") == "old");
}

TEST_CASE("train_fashion_mnist: --help exits with 0") {
  test::TemporaryFolder folder;
  ProgramResult help = run(folder, "--help");
  CHECK(help.status == 0);
  CHECK_THAT(help.out, ContainsSubstring("--resume") && ContainsSubstring("--backend"));
}
