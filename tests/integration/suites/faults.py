# SPDX-License-Identifier: Apache-2.0
"""Bad input gets a clear error, and nothing that exists is overwritten or lost."""

import os
import random

from judge.world import (
    ANALYZER,
    IN_THE_HASH,
    SITES,
    Failure,
    add,
    expect,
    java_command,
    jdk_release,
    run,
    run_traced,
    stock_java,
    tail,
    test,
)

PARALLEL = ("-XX:+UseParallelGC", "-Xmx32m")


def refused(name, agent, words, flags=PARALLEL, prepare=None, jdk=None):
    """The JVM does not start the program, and stderr has all the words."""

    def body(t):
        options = agent(t) if callable(agent) else agent
        if prepare:
            prepare(t)
        extra = {"jdk": jdk()} if jdk else {}
        done = run(java_command("Life", ("return",), flags, options, **extra), cwd=t.folder)
        expect(
            done.returncode != 0 and "begin" not in done.stdout,
            f"the program ran (exit code {done.returncode})\n{tail(done.stdout)}\n{tail(done.stderr)}",
        )
        expect(done.returncode == 1, f"ended with {done.returncode}: not a refusal\n{tail(done.stderr)}")
        text = done.stdout + done.stderr
        for word in words:
            expect(word.lower() in text.lower(), f"{word!r} is not in the message:\n{tail(text)}")

    add(name, body)


refused(
    "An unknown option is refused by name, with the valid ones",
    "fiel=x",
    ("fiel", "file", "compress", "overwrite"),
)
refused(
    "An unknown option is answered with the one that is meant",
    "maxsise=1M",
    ("maxsise", "did you mean 'maxsize'?"),
)
refused(
    "An option under its old and its new name is refused",
    "readers=1,walkers=1",
    ("walkers", "readers", "given twice"),
)
refused("An option without a value is refused by name", "compress", ("compress", "value"))
refused("A value that is no size is refused", "buffer=12Q", ("buffer", "12Q"))
refused("A value out of range is refused", "buffer=1", ("buffer",))
refused("A fraction in percent is refused, with an example", "fuzz=10%", ("fuzz", "10%", "such as 0.1"))
refused("A deviation without a bound is refused", "dev=0.1", ("dev", "maxsize"))
refused("keep= without a bound is refused", "keep=yes", ("keep", "maxsize"))
refused("An empty file name is refused", "file=", ("file",))
refused(
    "A path that cannot be written is refused with its reason",
    "file=/proc/no/such/trace",
    ("/proc/no/such/trace",),
)
refused(
    "mode=full refuses a stock JVM, with what to do",
    lambda t: f"mode=full,file={t.path('trace')}",
    ("not patched", "jdk", "quickstart"),
    jdk=stock_java,
)
refused(
    "mode=sample refuses by name what means nothing to it",
    "mode=sample,stretch=64K",
    ("stretch", "mode=sample"),
    jdk=stock_java,
)
refused("mode=full refuses an interval of samples", "mode=full,interval=64K", ("interval", "mode=sample"))
refused(
    "A mode that does not exist is refused, with those that do",
    "mode=samples",
    ("mode", "samples", "auto, full, sample or census"),
)
refused(
    "A depth out of range is refused", "mode=sample,depth=257", ("depth", "257", "1 to 256"), jdk=stock_java
)
refused("An interval that is no size is refused", "interval=often", ("interval", "often"))
if jdk_release() == 17:  # later JDKs do not know the flag
    refused(
        "-XX:+UseBiasedLocking is refused by name",
        lambda t: f"file={t.path('trace')}",
        ("UseBiasedLocking needs the header bits", "leave it out"),
        (*PARALLEL, "-XX:+UseBiasedLocking"),
    )
refused(
    "-XX:-UseTLAB is refused by name",
    lambda t: f"file={t.path('trace')}",
    ("UseTLAB",),
    (*PARALLEL, "-XX:-UseTLAB"),
)
refused(
    "-XX:+EnableJVMCI is refused by name",
    lambda t: f"file={t.path('trace')}",
    ("EnableJVMCI", "leave it out"),
    (*PARALLEL, "-XX:+UnlockExperimentalVMOptions", "-XX:+EnableJVMCI"),
)
for flag in ("UseZGC", "UseShenandoahGC", "UseEpsilonGC"):
    refused(
        f"-XX:+{flag} is refused, with the collectors to use",
        lambda t: f"file={t.path('trace')}",
        (flag, "-XX:+UseG1GC", "-XX:+UseParallelGC", "mode=sample"),
        ("-XX:+UnlockExperimentalVMOptions", f"-XX:+{flag}", "-Xmx64m"),
    )
if SITES in IN_THE_HASH:
    MOST, MORE, WAY_OUT = "16 GB", "-Xmx20g", "-XX:+UseParallelGC"
elif jdk_release() >= 25:
    MOST, MORE, WAY_OUT = "4 TB", "-Xmx4500g", "-Xmx"
else:
    MOST, MORE, WAY_OUT = "512 GB", "-Xmx600g", "-XX:+UseParallelGC"
refused(
    f"A heap above {MOST} is refused with a collector that cannot keep the site in it",
    lambda t: f"file={t.path('trace')}",
    (MOST, WAY_OUT),
    ("-XX:+UseG1GC", "-Xms64m", MORE),
)

refused(
    "stats= is refused where a data file of the trace would be",
    lambda t: f"file={t.path('trace')},maxsize=1M,stats=./trace.0,overwrite=yes",
    ("stats", "trace.0", "choose another"),
)
refused(
    "stats= is refused where the trace is, however it is written",
    lambda t: f"file={t.path('trace')},stats=./trace,overwrite=yes",
    ("file and stats name the same file",),
)
refused(
    "A FIFO that nobody reads is refused",
    lambda t: f"file={t.path('trace')},overwrite=yes",
    ("trace", "FIFO", "reader"),
    prepare=lambda t: os.mkfifo(t.path("trace")),
)


@test("An existing file is not overwritten unless overwrite=yes")
def existing_file(t):
    path = t.path("trace")
    with open(path, "w", encoding="utf-8") as file:
        file.write("precious")
    done = run(java_command("Life", ("return",), PARALLEL, f"file={path}"))
    expect(done.returncode == 1 and "begin" not in done.stdout, f"the program ran: {done.returncode}")
    expect(
        path in done.stdout + done.stderr and "exist" in (done.stdout + done.stderr).lower(), tail(done.stderr)
    )
    with open(path, encoding="utf-8") as file:
        expect(file.read() == "precious", "the file was changed")
    with open(path, "wb") as file:
        file.write(b"ANTTRACK and so on")
    done = run(java_command("Life", ("return",), PARALLEL, f"file={path},overwrite=yes"))
    expect(done.returncode == 0, f"overwrite=yes: {done.returncode} {tail(done.stderr)}")
    with open(path, "rb") as file:
        expect(file.read(8) == b"ANTTRACK" and os.path.getsize(path) > 1000, "no trace was written")


@test("The option help is shown and names every option")
def help_option(t):
    done = run(java_command("Life", ("return",), PARALLEL, "help"), cwd=t.folder)
    text = done.stdout + done.stderr
    for word in (
        "mode=",
        "interval=",
        "depth=",
        "file=",
        "overwrite=",
        "maxsize=",
        "dev=",
        "keep=",
        "buffer=",
        "fuzz=",
        "stretch=",
        "queue=",
        "on-overflow=",
        "compress=",
        "threshold=",
        "compressors=",
        "stats=",
        "log=",
    ):
        expect(word in text, f"{word} is not in the help:\n{tail(text)}")
    expect(not [n for n in os.listdir(t.folder) if n.endswith(".trace")], "help wrote a trace")


@test("Old names of options are taken, and one line each says the new name")
def old_names(t):
    done = run(java_command("Life", ("return",), PARALLEL, f"file={t.path('trace')},readers=0,full=drop"))
    lines = [line for line in done.stderr.splitlines() if "anttracks" in line]
    expect(
        done.returncode == 0
        and lines
        == [
            "[anttracks] warning: option readers is now called walkers",
            "[anttracks] warning: option full is now called on-overflow",
        ],
        f"stderr: {done.stderr!r}",
    )


@test("Without options the trace is named after the process")
def default_name(t):
    done = run(java_command("Life", ("return",), PARALLEL, ""), cwd=t.folder)
    expect(done.returncode == 0, tail(done.stderr))
    names = [n for n in os.listdir(t.folder) if n.startswith("anttracks-") and n.endswith(".trace")]
    expect(len(names) == 1, f"files: {os.listdir(t.folder)}")


def analyzer_code(arguments):
    done = run([ANALYZER, *arguments])
    expect(done.returncode >= 0, f"anttracks {' '.join(arguments)} died of signal {-done.returncode}")
    return done.returncode, done.stdout + done.stderr


@test("The analyzer refuses what is no trace, naming the file (exit code 3)")
def foreign(t):
    for name, content in (("empty", b""), ("text", b"hello world\n" * 100), ("zeros", bytes(4096))):
        with open(t.path(name), "wb") as file:
            file.write(content)
        for command in ("info", "verify", "heap", "gcs", "sites", "threads"):
            code, text = analyzer_code([command, t.path(name)])
            expect(code == 3, f"{command} of {name}: exit code {code}")
            expect(t.path(name) in text, f"{command} does not name the file: {text}")
    code, text = analyzer_code(["info", t.path("missing")])
    expect(code == 3 and t.path("missing") in text, f"a missing file: {code} {text}")


@test("Wrong arguments of the analyzer end with exit code 2")
def usage(t):
    trace, _ = run_traced(t, "Life", ("return",), PARALLEL, judged=False)
    for arguments in (
        [],
        ["frobnicate", trace],
        ["heap"],
        ["heap", trace, "--gc", "x"],
        ["heap", trace, "--by", "color"],
        ["heap", trace, "--gc", "99999"],
    ):
        code, text = analyzer_code(arguments)
        expect(code == 2 and text.strip(), f"{arguments}: exit code {code}: {text}")


def small_trace(t):
    trace, _ = run_traced(t, "Mix", (20_000,), PARALLEL, judged=False)
    with open(trace, "rb") as file:
        return file.read()


@test("A trace cut anywhere loads up to the cut")
def truncated(t):
    data, randomly = small_trace(t), random.Random(1)
    first_chunk_end = 64 + 32 + int.from_bytes(data[64 + 8 : 64 + 12], "little")
    cuts = sorted(
        {
            40,
            64,
            65,
            first_chunk_end - 1,
            first_chunk_end,
            95,
            96,
            len(data) - 1,
            len(data) - 33,
            *(randomly.randrange(64, len(data)) for _ in range(25)),
        }
    )
    for cut in cuts:
        with open(t.path("cut"), "wb") as file:
            file.write(data[:cut])
        code, text = analyzer_code(["verify", t.path("cut")])
        expected = 0 if cut >= first_chunk_end else 3
        expect(code == expected, f"cut at {cut} of {len(data)}: exit code {code}\n{tail(text)}")


@test("Every flipped byte in a trace is noticed, and none makes the analyzer crash")
def flipped(t):
    data, randomly = bytearray(small_trace(t)), random.Random(2)
    for at in [randomly.randrange(len(data)) for _ in range(60)] + list(range(0, 64, 7)):
        old = data[at]
        data[at] ^= 1 << randomly.randrange(8)
        with open(t.path("flipped"), "wb") as file:
            file.write(data)
        data[at] = old
        code, text = analyzer_code(["verify", t.path("flipped")])
        expect(code in (1, 3), f"byte {at} flipped: exit code {code}\n{tail(text)}")
        code, text = analyzer_code(["heap", t.path("flipped")])
        if code not in (2, 3, 4):  # 2: the damage hides all collections
            raise Failure(f"byte {at} flipped: heap ended with {code}\n{tail(text)}")
