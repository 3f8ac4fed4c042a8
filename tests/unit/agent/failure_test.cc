// SPDX-License-Identifier: Apache-2.0
#include "agent/base/failure.h"

#include <doctest/doctest.h>

#include <stdexcept>

namespace anttracks::core {
namespace {

TEST_CASE("the first reason stays, and tracing never goes on after it") {
  Failure failure;
  failure.Activate();
  CHECK(failure.active());
  failure.Fail("the first");
  failure.Guard([] { throw std::runtime_error("the second"); });
  CHECK(failure.failed());
  CHECK(failure.reason() == "the first");
  CHECK_FALSE(failure.active());
}

TEST_CASE("what failed before it was begun does not begin") {
  Failure failure;
  failure.Fail("the disk");
  failure.Activate();
  CHECK_FALSE(failure.active());
}

TEST_CASE("a normal end is no failure") {
  Failure failure;
  failure.Activate();
  failure.Deactivate();
  CHECK_FALSE(failure.active());
  CHECK_FALSE(failure.failed());
}

}  // namespace
}  // namespace anttracks::core
