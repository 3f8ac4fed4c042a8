# SPDX-License-Identifier: Apache-2.0
"""The workloads of java/harness: what there is, what each needs, how it is compiled and started."""

import glob
import os
import subprocess
from dataclasses import dataclass

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
SOURCES = os.path.join(ROOT, "java", "harness", "anttracks", "harness")
CLASSES = os.path.join(ROOT, "build", "java", "harness")
SIZES = ("small", "large")
JDK_SOURCES = "openjdk-17-source"


def jars(*names, folder="/usr/share/java/"):
    return tuple(f"{folder}{name}.jar" for name in names)


# Package -> the files of it, and of what it depends on, that workloads use; may have wildcards;
# .jar files are the class path.
PACKAGES = {
    JDK_SOURCES: ("/usr/lib/jvm/openjdk-17/lib/src.zip",),
    "docbook-xsl": ("/usr/share/xml/docbook/stylesheet/docbook-xsl/html/docbook.xsl",),
    "docbook5-xml": ("/usr/share/xml/docbook/schema/xsd/5.0/docbook.xsd",),
    "fonts-dejavu-core": ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",),
    "jython": jars("jython"),
    "libasm-java": jars("asm", "asm-tree", "asm-analysis"),
    "libbatik-java": jars("batik-all", "xmlgraphics-commons", "xml-apis", "xml-apis-ext"),
    "libderby-java": jars("derby"),
    "libeclipse-jdt-core-java": jars("eclipse-jdt-core"),
    "libfop-java": jars(
        "fop-core",
        "fop-events",
        "fop-util",
        "batik-all",
        "xmlgraphics-commons",
        "commons-io",
        "commons-logging",
        "fontbox2",
        "xml-apis",
        "xml-apis-ext",
    ),
    "libh2-java": jars("h2"),
    "libjanino-java": jars("janino", "commons-compiler"),
    "liblucene8-java": jars(
        "lucene-core-8*",
        "lucene-analyzers-common-8*",
        "lucene-queryparser-8*",
        "lucene-queries-8*",
        "lucene-sandbox-8*",
    ),
    "libsunflow-java": jars("sunflow"),
    "libtomcat10-java": jars(
        *(
            "tomcat10-" + name
            for name in (
                "annotations-api",
                "api",
                "catalina",
                "coyote",
                "el-api",
                "jasper",
                "jasper-el",
                "jaspic-api",
                "jni",
                "jsp-api",
                "juli",
                "servlet-api",
                "util",
                "util-scan",
            )
        )
    ),
    "libxalan2-java": jars("xalan2", "serializer"),
    "libxerces2-java": jars("xercesImpl", "xml-apis"),
    "scala": jars(
        "scala-library",
        "scala-compiler",
        "scala-reflect",
        "scala-parser-combinators",
        "scala-xml",
        "scala-actors",
        folder="/usr/share/scala-2.11/lib/",
    ),
}


@dataclass(frozen=True)
class Workload:
    source: str  # the file whose class of the same name is started
    meaning: str
    stands_for: str  # of the suites that the papers measured: DaCapo, DaCapo Scala, SPECjvm2008
    packages: tuple = ()
    flags: tuple = ()
    arguments: tuple = ()
    heap: str = "512m"
    special: bool = False  # for one study only

    @property
    def main(self):
        return "anttracks.harness." + self.source.split(".")[0]

    def missing(self):
        """The packages that are not installed, or not as a whole."""
        return [
            package for package in self.packages if not all(glob.glob(pattern) for pattern in PACKAGES[package])
        ]

    def class_path(self):
        return [
            found
            for package in self.packages
            for pattern in PACKAGES[package]
            if pattern.endswith(".jar")
            for found in sorted(glob.glob(pattern))
        ]

    def needs_library(self):
        return any(pattern.endswith(".jar") for package in self.packages for pattern in PACKAGES[package])


WORKLOADS = {
    "javac": Workload(
        "Javac.java",
        "javac compiles the module jdk.compiler in memory",
        "SPECjvm compiler.compiler",
        (JDK_SOURCES,),
        heap="1g",
    ),
    "allocate": Workload(
        "Allocate.java",
        "two threads that do nothing but allocate small objects and arrays",
        "an upper bound",
        heap="1g",
    ),
    "longlived": Workload(
        "LongLived.java",
        "a cache of 500 MB, most of it old, with look-ups and replacements on top",
        "a long-lived heap",
        flags=("-Xmn128m",),
        heap="1g",
    ),
    "longlived-1g": Workload(
        "LongLived.java",
        "the same with twice as many objects",
        "what a census has to count",
        arguments=("--orders", "2100000"),
        flags=("-Xmn256m",),
        heap="2g",
        special=True,
    ),
    "serial": Workload("Serial.java", "Java serialization of a graph with shared references", "SPECjvm serial"),
    "xml.transform": Workload(
        "XmlTransform.java",
        "the JDK's XSLT compiler makes HTML of a DocBook book",
        "SPECjvm xml.transform",
        (JDK_SOURCES,),
    ),
    "xml.validation": Workload(
        "XmlValidation.java",
        "Xerces validates a DocBook book against DocBook's schema",
        "SPECjvm xml.validation",
        (JDK_SOURCES, "libxerces2-java", "docbook5-xml"),
    ),
    "h2": Workload(
        "Bank.java",
        "orders and payments in H2, four clients",
        "DaCapo h2, tradebeans",
        ("libh2-java",),
        arguments=("--database", "H2"),
    ),
    "derby": Workload(
        "Bank.java",
        "the same in Derby",
        "SPECjvm derby",
        ("libderby-java",),
        ("-Dderby.stream.error.file=/dev/null",),
        ("--database", "DERBY"),
    ),
    "lusearch": Workload(
        "Lucene.java",
        "Lucene searches an index of the JDK's sources, four threads",
        "DaCapo lusearch",
        (JDK_SOURCES, "liblucene8-java"),
        arguments=("--do", "search"),
    ),
    "luindex": Workload(
        "Lucene.java",
        "Lucene indexes the JDK's sources",
        "DaCapo luindex",
        (JDK_SOURCES, "liblucene8-java"),
        arguments=("--do", "index"),
    ),
    "sunflow": Workload(
        "Sunflow.java",
        "Sunflow renders its own benchmark scene",
        "DaCapo and SPECjvm sunflow",
        ("libsunflow-java", "libjanino-java"),
    ),
    "jython": Workload(
        "Jython.java",
        "Jython runs pystone, trees, json, re, ast and difflib",
        "DaCapo jython",
        ("jython",),
        ("-Dpython.import.site=false", "-Dpython.cachedir.skip=true"),
    ),
    "scala-fun": Workload(
        "ScalaFun.scala",
        "lambda terms are parsed, rewritten and evaluated on immutable maps",
        "DaCapo Scala kiama",
        ("scala",),
        ("-Xss8m",),
    ),
    "scala-actors": Workload(
        "ScalaActors.scala", "rings, banks and clients of Scala actors", "DaCapo Scala actors", ("scala",)
    ),
    "scalac": Workload(
        "Scalac.scala",
        "scalac compiles copies of the harness's Scala programs in memory",
        "DaCapo Scala scalac",
        ("scala",),
        ("-Xss8m", "-Dscala.usejavacp=true"),
        ("--scala-sources", SOURCES),
        heap="1g",
    ),
    "ecj": Workload(
        "Ecj.java",
        "Eclipse's compiler compiles a module of the JDK",
        "DaCapo eclipse",
        (JDK_SOURCES, "libeclipse-jdt-core-java"),
        heap="1g",
    ),
    "fop": Workload("FopBook.java", "FOP formats a book as PDF", "DaCapo fop", (JDK_SOURCES, "libfop-java")),
    "batik": Workload(
        "Batik.java",
        "Batik renders generated SVG images, two threads",
        "DaCapo batik",
        ("libbatik-java", "fonts-dejavu-core"),
    ),
    "tomcat": Workload(
        "TomcatServer.java",
        "Tomcat serves JSPs, a servlet with sessions and a file to 16 clients",
        "DaCapo tomcat",
        ("libtomcat10-java", "libeclipse-jdt-core-java"),
    ),
    "xalan": Workload(
        "Xalan.java",
        "Xalan runs docbook-xsl over a DocBook book, two threads",
        "DaCapo xalan",
        (JDK_SOURCES, "libxalan2-java", "libxerces2-java", "docbook-xsl"),
        ("-Xss4m",),
    ),
    "javac-xml": Workload(
        "Javac.java",
        "javac compiles the module java.xml in memory",
        "SPECjvm compiler.sunflow",
        (JDK_SOURCES,),
        arguments=("--module", "java.xml", "--small-module", "java.xml.crypto"),
        heap="1g",
    ),
    "identity-hash": Workload(
        "IdentityHash.java",
        "10,000,000 objects with identity hashes in a HashSet, as many look-ups",
        "the papers' worst case for sites kept in the hash",
        heap="3g",
    ),
    "bytecode": Workload(
        "Bytecode.java",
        "ASM follows the operands of each instruction of Xerces to where they come from, two threads",
        "what an object costs",
        ("libasm-java", "libxerces2-java"),
        special=True,
    ),
    "identity-hash-1m": Workload(
        "IdentityHash.java",
        "the same with a tenth of the objects",
        "the papers' worst case, of a size that every scheme ends with",
        arguments=("--objects", "1000000"),
        heap="1g",
        special=True,
    ),
    "identity-maps": Workload(
        "IdentityMaps.java",
        "256 IdentityHashMaps into which fresh objects are put, looked up and removed again",
        "serializers and copiers of graphs",
        special=True,
    ),
    "identity-map-500k": Workload(
        "IdentityMaps.java",
        "the same with one IdentityHashMap of up to 500,000 keys",
        "a copier of a large graph: more keys of one site than scheme hash has random parts",
        arguments=("--maps", "1", "--keys", "500000"),
        special=True,
    ),
    "leak": Workload("Leak.java", "objects of one site are kept among many that die", "a memory leak"),
}
# Those whose cost of tracing is measured.
GENERAL = tuple(name for name, workload in WORKLOADS.items() if not workload.special)


class CannotCompile(Exception):
    pass


def packaged_jdk():
    """The JDK 17 that Debian packages, or None."""
    found = [
        home
        for home in sorted(glob.glob("/usr/lib/jvm/java-17-openjdk*"))
        if os.path.exists(home + "/bin/javac")
    ]
    return found[0] if found else None


def all_packages(names=tuple(WORKLOADS)):
    return sorted({package for name in names for package in WORKLOADS[name].packages})


def start(name, home, size="large", iterations=5, warmup=2, heap=None, agent=None, flags=()):
    """The command line of a workload. agent: what follows -agentpath:; flags: of the JVM,
    after the workload's own."""
    workload = WORKLOADS[name]
    heap = heap or workload.heap
    collector = (
        ()
        if any(flag.startswith("-XX:+Use") and flag.endswith("GC") for flag in flags)
        else ("-XX:+UseParallelGC",)
    )
    return [
        home + "/bin/java",
        *collector,
        f"-Xms{heap}",
        f"-Xmx{heap}",
        "-Djava.awt.headless=true",
        *workload.flags,
        *flags,
        *([f"-agentpath:{agent}"] if agent else []),
        "-cp",
        os.pathsep.join([CLASSES, *workload.class_path()]),
        workload.main,
        *workload.arguments,
        "--size",
        size,
        "--iterations",
        str(iterations),
        "--warmup",
        str(warmup),
    ]


def compile_all(home, names=tuple(WORKLOADS)):
    """Compiles what needs no library, and those of the named workloads whose libraries are there,
    if that was not done yet."""
    javac_home = home if os.path.exists(home + "/bin/javac") else packaged_jdk()
    if not javac_home:
        raise CannotCompile(f"{home} has no javac, and the package openjdk-17-jdk-headless is not installed")
    os.makedirs(CLASSES, exist_ok=True)
    with_library = {w.source for w in WORKLOADS.values() if w.needs_library()}
    shared = [
        path for path in sorted(glob.glob(SOURCES + "/*.java")) if os.path.basename(path) not in with_library
    ]
    _compile(javac_home, "Workload.class", shared, [])
    for workload in (WORKLOADS[name] for name in names):
        if workload.source in with_library and not workload.missing():
            _compile(
                javac_home,
                workload.source.split(".")[0] + ".class",
                [os.path.join(SOURCES, workload.source)],
                workload.class_path(),
                also_newer_than=shared,
            )


def _compile(home, result, sources, class_path, also_newer_than=()):
    result = os.path.join(CLASSES, "anttracks", "harness", result)
    newest = max(os.path.getmtime(path) for path in (*sources, *also_newer_than, __file__))
    if os.path.exists(result) and os.path.getmtime(result) > newest:
        return
    path = os.pathsep.join([CLASSES, *class_path])
    if sources[0].endswith(".scala"):
        command = [
            home + "/bin/java",
            "-Xss8m",
            "-cp",
            os.pathsep.join(class_path),
            "scala.tools.nsc.Main",
            "-nowarn",
            "-cp",
            path,
            "-d",
            CLASSES,
            *sources,
        ]
    else:
        command = [
            home + "/bin/javac",
            "--release",
            "17",
            "-nowarn",
            "-proc:none",
            "-cp",
            path,
            "-d",
            CLASSES,
            *sources,
        ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotCompile(
            f"{' '.join(os.path.relpath(s, ROOT) for s in sources)}:\n{done.stdout}{done.stderr}"
        )
    # A compiler need not touch a class that has not changed.
    os.utime(result)
