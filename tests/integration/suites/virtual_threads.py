# SPDX-License-Identifier: Apache-2.0
"""Virtual threads, on a JDK that has them (scripts/test --jdk 21)."""

from judge.world import jdk_release
from suites.exactness import exact

if jdk_release() >= 21:
    exact("for thousands of virtual threads whose stacks lie in the heap", "VirtualThreads")
