// SPDX-License-Identifier: Apache-2.0
#include "agent/io/aside.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace anttracks::io {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using trace::Status;

TEST_CASE("what is done aside tells how it went") {
  Aside aside;
  CHECK(aside
            .Run(
                "cannot", [] { return Status(); }, seconds(20))
            .ok());
  CHECK(aside
            .Run(
                "cannot", [] { return Status::Error("no space"); }, seconds(20))
            .message() == "no space");
  CHECK_FALSE(aside
                  .Run(
                      "cannot", []() -> Status { throw std::bad_alloc(); }, seconds(20))
                  .ok());
}

TEST_CASE("what hangs aside is given up, nothing is put behind it, and it may outlive whoever began it") {
  const auto hangs = std::make_shared<std::atomic<bool>>(true);
  const auto runs = std::make_shared<std::atomic<int>>(0);
  const auto task = [hangs, runs] {
    while (*hangs) std::this_thread::sleep_for(milliseconds(1));
    (*runs)++;
    return Status();
  };
  {
    Aside aside;
    const Status first = aside.Run("cannot write", task, milliseconds(20));
    CHECK(first.message().find("cannot write: no answer") == 0);
    CHECK(aside.Run("cannot write", task, seconds(20)).message().find("since the last time") !=
          std::string::npos);
    *hangs = false;
    for (int i = 0; i < 20'000 && *runs == 0; i++) std::this_thread::sleep_for(milliseconds(1));
    Status again = Status::Error("");
    for (int i = 0; i < 20'000 && !again.ok(); i++) again = aside.Run("cannot write", task, seconds(20));
    CHECK(again.ok());
    CHECK(*runs == 2);
    *hangs = true;
    CHECK_FALSE(aside.Run("cannot write", task, milliseconds(20)).ok());
  }
  *hangs = false;
  for (int i = 0; i < 20'000 && *runs < 3; i++) std::this_thread::sleep_for(milliseconds(1));
  CHECK(*runs == 3);
}

}  // namespace
}  // namespace anttracks::io
