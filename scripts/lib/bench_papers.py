# SPDX-License-Identifier: Apache-2.0
"""Figures of the papers on keeping the allocation site in an object.

ICPE 2016: Lengauer, Bitto, Mössenböck, "Efficient and Viable Handling of Large Object Traces".
VEE 2010: Odaira, Ogata, Kawachiya, Onodera, Nakatani, "Efficient Runtime Tracking of Allocation Sites in Java",
by the slides of the talk, which have no numbered figures."""

# ICPE 2016: benchmark, our workload, figure 14 (run time with sites in the hash, to rotation without),
# figure 15 (objects without an eager hash), figure 16 (run time with that), figure 17 (run time, GC time:
# rotation, sites and elimination together, to tracing without rotation). "/": no GC.
ICPE = (
    ("compiler.compiler", "javac", "+2.9 %", "41.1 %", "+1.0 %", "+75.4 %", "+43.1 %"),
    ("compiler.sunflow", "javac-xml", "+2.9 %", "37.7 %", "-0.4 %", "+39.8 %", "+6.5 %"),
    ("derby", "derby", "+5.5 %", "78.0 %", "-4.3 %", "+64.9 %", "+204.9 %"),
    ("serial", "serial", "+1.8 %", "32.6 %", "+12.8 %", "+64.1 %", "+7.6 %"),
    ("sunflow (SPECjvm)", "sunflow", "+1.4 %", "0.0 %", "+0.8 %", "+31.0 %", "+3.6 %"),
    ("xml.transform", "xml.transform", "+6.4 %", "36.9 %", "-2.7 %", "+36.2 %", "+7.4 %"),
    ("xml.validation", "xml.validation", "-0.1 %", "24.7 %", "+0.1 %", "+49.0 %", "+68.0 %"),
    ("batik", "batik", "", "", "", "+4.7 %", "/"),
    ("eclipse", "ecj", "", "", "", "+11.4 %", "/"),
    ("fop", "fop", "", "", "", "+21.5 %", "/"),
    ("h2", "h2", "", "", "", "-2.8 %", "+28.4 %"),
    ("jython", "jython", "", "", "", "+11.8 %", "-14.0 %"),
    ("luindex", "luindex", "", "", "", "+0.0 %", "/"),
    ("lusearch", "lusearch", "", "", "", "+3.3 %", "+0.0 %"),
    ("tomcat", "tomcat", "", "", "", "+0.8 %", "+0.0 %"),
    ("xalan", "xalan", "", "", "", "+3.9 %", "+2.1 %"),
    ("actors", "scala-actors", "", "", "", "-3.4 %", "-2.3 %"),
    ("kiama", "scala-fun", "", "", "", "+103.3 %", "+75.0 %"),
    ("scalac", "scalac", "", "", "", "+3.2 %", "+11.3 %"),
    ("factorie", "", "", "", "", "+323.0 %", "+83.7 %"),
    ("avrora", "", "", "", "", "+0.0 %", "+0.0 %"),
    ("pmd", "", "", "", "", "+0.4 %", "+5.5 %"),
    ("sunflow (DaCapo)", "", "", "", "", "+1.2 %", "+6.6 %"),
    ("tradebeans", "", "", "", "", "+0.4 %", "+16.4 %"),
    ("tradesoap", "", "", "", "", "+14.4 %", "+1.7 %"),
    ("apparat", "", "", "", "", "+14.0 %", "+9.3 %"),
    ("scaladoc", "", "", "", "", "+2.5 %", "-4.3 %"),
    ("scalap", "", "", "", "", "+4.6 %", "/"),
    ("scalariform", "", "", "", "", "+3.7 %", "-15.3 %"),
    ("scalaxb", "", "", "", "", "+0.4 %", "-3.3 %"),
    ("tmt", "", "", "", "", "+47.7 %", "+27.7 %"),
    ("compress", "", "", "", "", "+0.0 %", "+0.0 %"),
    ("crypto.aes", "", "", "", "", "+0.2 %", "+0.0 %"),
    ("crypto.rsa", "", "", "", "", "+1.2 %", "-5.0 %"),
    ("crypto.signverify", "", "", "", "", "+2.9 %", "-1.4 %"),
    ("mpegaudio", "", "", "", "", "-0.1 %", "+0.0 %"),
    ("mean", "", "+2.9 %", "10.0 %", "+0.9 %", "+6.5 %", "+15.5 %"),
)
# ICPE 2016, figure 19: run time to that of the default strategy; hashes of 15 bits.
ICPE_STRATEGIES = (
    "-0.1 %",
    "-1.3 %",
    "time-out, more than 100 times",
    "-18.5 %",
    "+2.5 %",
    "base",
)
# VEE 2010, to J9 without a tracker: what, ASH, ASC, the key of our value, whether the maximum. Slides
# "Performance Overhead", "Space Overhead Compared with Physical Memory Usage".
VEE = (
    ("run time, mean", "about 0 %", "+1.0 %", "wall_ms", False),
    ("run time, maximum", "+1.4 %", "+2.0 %", "wall_ms", True),
    ("physical memory, mean", "+0.4 %", "+0.2 %", "rss_mb", False),
    ("physical memory, maximum", "not told", "not told", "rss_mb", True),
)
# Slide "Performance Overhead of the Leak Detector", run time: of what, ASH, ASC.
VEE_LEAKS = (("mean", "+0.3 %", "+1.1 %"), ("maximum", "+1.7 %", "+2.4 %"))
# Slide "Allocation-Site-Based Object Pretenuring for Generational GC": heap, largest gain.
VEE_PRETENURING = (
    ("4 times the smallest", "11 % speed-up"),
    ("2 times the smallest", "15 % speed-up"),
)
