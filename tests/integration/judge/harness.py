# SPDX-License-Identifier: Apache-2.0
"""The workloads of the harness, as programs that tests trace."""

import threading

import workloads

from .world import JDK, Skip, jdk_release

_compiling = threading.Lock()


def prepare(name):
    """Compiles the workload; raises Skip where it cannot run."""
    missing = workloads.WORKLOADS[name].missing()
    if missing:
        raise Skip(f"missing {', '.join(missing)}: scripts/harness --install {name}")
    if name == "ecj" and jdk_release() != 17:
        raise Skip("Eclipse's compiler compiles sources of JDK 17 that need the modules of JDK 17")
    with _compiling:
        workloads.compile_all(JDK, (name,))
