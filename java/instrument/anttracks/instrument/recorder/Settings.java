// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import anttracks.common.Options;
import java.io.File;
import java.util.List;

/** The agent's options. */
public final class Settings {
    public enum Mode { COUNT, DEATHS, DRAG }

    public final Mode mode;
    final File out;
    final int depth;
    final long collectEvery;
    private final boolean boot;
    private final List<String> include;
    private final List<String> exclude;

    public Settings(String text) {
        Options options = new Options(text, "mode", "out", "include", "exclude", "boot", "depth", "gc");
        mode = Mode.valueOf(options.choice("mode", "count", "deaths", "drag").toUpperCase());
        out = options.file("out", "instrument.json");
        depth = options.number("depth", 1, 1, 256);
        collectEvery = options.size("gc", 0);
        if (collectEvery > 0 && mode == Mode.COUNT) {
            throw new IllegalArgumentException("gc= wants mode=deaths or mode=drag");
        }
        boot = options.yes("boot", false);
        include = options.list("include");
        exclude = options.list("exclude");
    }

    /** Whether code of this class is instrumented; of the boot loader's classes, none unless boot=yes. */
    public boolean accepts(String className, ClassLoader loader) {
        return (boot || loader != null) && (include.isEmpty() || startsWithAny(className, include))
                && !startsWithAny(className, exclude);
    }

    /** A plain loop: it runs while classes are loaded, and must not need any itself. */
    public static boolean startsWithAny(String name, List<String> prefixes) {
        for (int i = 0; i < prefixes.size(); i++) {
            if (name.startsWith(prefixes.get(i))) return true;
        }
        return false;
    }
}
