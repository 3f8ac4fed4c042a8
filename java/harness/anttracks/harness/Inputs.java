// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * What the workloads work on: the JDK's own sources, a body of real text that is the same wherever the package
 * is.
 */
final class Inputs {
    record Text(String name, String content) {}

    private Inputs() {}

    /** Of the package openjdk-17-source, or what --sources names. */
    static String archive(String[] args) {
        return Workload.option(args, "--sources", "/usr/lib/jvm/openjdk-17/lib/src.zip");
    }

    /** The same, but on a release that cannot compile these its own sources. */
    static String compilable(String[] args) {
        String own = System.getProperty("java.home") + "/lib/src.zip";
        return Runtime.version().feature() == 17 ? archive(args) : Workload.option(args, "--sources", own);
    }

    /** The Java sources whose path begins with the prefix, by name, which is cut off from their names. */
    static List<Text> sources(String archive, String prefix) throws IOException {
        List<Text> texts = new ArrayList<>();
        try (ZipFile zip = new ZipFile(archive)) {
            List<ZipEntry> entries = new ArrayList<>();
            zip.stream().filter(e -> e.getName().startsWith(prefix) && e.getName().endsWith(".java"))
                    .forEach(entries::add);
            entries.sort(Comparator.comparing(ZipEntry::getName));
            for (ZipEntry entry : entries) {
                try (InputStream in = zip.getInputStream(entry)) {
                    texts.add(new Text(entry.getName().substring(prefix.length()),
                            new String(in.readAllBytes(), StandardCharsets.UTF_8)));
                }
            }
        }
        if (texts.isEmpty()) throw new IOException(archive + " has no sources in " + prefix);
        return texts;
    }
}
