// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

int main(int argc, char** argv) {
  // A program that dies or is killed has told by then which case it was in.
  setvbuf(stdout, nullptr, _IOLBF, 0);
  return doctest::Context(argc, argv).run();
}
