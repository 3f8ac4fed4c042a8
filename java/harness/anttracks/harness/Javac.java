// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** javac compiles the sources of the module jdk.compiler, from memory into memory; a checksum of the classes. */
public final class Javac extends Workload {
    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String name, String text) {
            super(URI.create("string:///" + name), Kind.SOURCE);
            this.text = text;
        }

        @Override public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    private static final class Output extends SimpleJavaFileObject {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Output(String className) {
            super(URI.create("mem:///" + className.replace('.', '/') + ".class"), Kind.CLASS);
        }

        @Override public OutputStream openOutputStream() {
            return bytes;
        }
    }

    private static final class InMemory extends ForwardingJavaFileManager<JavaFileManager> {
        final TreeMap<String, Output> classes = new TreeMap<>();

        InMemory(JavaFileManager delegate) {
            super(delegate);
        }

        @Override public JavaFileObject getJavaFileForOutput(Location location, String name, JavaFileObject.Kind kind,
                FileObject sibling) {
            Output output = new Output(name);
            classes.put(name, output);
            return output;
        }
    }

    private final List<Source> sources = new ArrayList<>();
    private final String archive;

    private Javac(String archive) throws IOException {
        this.archive = archive;
        try (ZipFile zip = new ZipFile(archive)) {
            List<ZipEntry> entries = new ArrayList<>();
            zip.stream().filter(e -> e.getName().startsWith("jdk.compiler/") && e.getName().endsWith(".java"))
                    .forEach(entries::add);
            entries.sort(Comparator.comparing(ZipEntry::getName));
            for (ZipEntry entry : entries) {
                try (InputStream in = zip.getInputStream(entry)) {
                    String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
                    sources.add(new Source(entry.getName().substring("jdk.compiler/".length()), text));
                }
            }
        }
        if (sources.isEmpty()) throw new IOException(archive + " has no sources of jdk.compiler");
    }

    @Override long iterate() throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (InMemory files = new InMemory(compiler.getStandardFileManager(null, null, null))) {
            List<String> options = List.of("--patch-module", "jdk.compiler=/nonexistent", "-proc:none", "-nowarn",
                    "-XDignore.symbol.file", "--add-reads", "jdk.compiler=ALL-UNNAMED");
            StringBuilder messages = new StringBuilder();
            boolean good = compiler.getTask(new java.io.StringWriter(), files, d -> {
                if (d.getKind() == javax.tools.Diagnostic.Kind.ERROR) messages.append(d).append('\n');
            }, options, null, sources).call();
            if (!good) throw new IllegalStateException("javac failed on " + archive + "\n" + messages);
            CRC32 crc = new CRC32();
            files.classes.forEach((name, output) -> {
                crc.update(name.getBytes(StandardCharsets.UTF_8));
                crc.update(output.bytes.toByteArray());
            });
            return crc.getValue() << 16 | files.classes.size();
        }
    }

    public static void main(String[] args) throws Exception {
        String archive = option(args, "--sources", "/usr/lib/jvm/openjdk-17/lib/src.zip");
        new Javac(archive).measure(args);
    }
}
