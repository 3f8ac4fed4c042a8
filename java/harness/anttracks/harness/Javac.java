// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.zip.CRC32;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** javac compiles the sources of a module of the JDK, from memory into memory; a checksum of the classes. */
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

        @Override public JavaFileObject getJavaFileForOutput(Location location, String name,
                JavaFileObject.Kind kind, FileObject sibling) {
            Output output = new Output(name);
            classes.put(name, output);
            return output;
        }
    }

    private final List<Source> sources = new ArrayList<>();
    private final String archive;
    private final String module;

    private Javac(String archive, String module) throws IOException {
        this.archive = archive;
        this.module = module;
        for (Inputs.Text text : Inputs.sources(archive, module + "/")) {
            sources.add(new Source(text.name(), text.content()));
        }
    }

    @Override long iterate() throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (InMemory files = new InMemory(compiler.getStandardFileManager(null, null, null))) {
            List<String> options = List.of("--patch-module", module + "=/nonexistent", "-proc:none", "-nowarn",
                    "-XDignore.symbol.file", "--add-reads", module + "=ALL-UNNAMED");
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
        String module = small(args) ? option(args, "--small-module", "jdk.jshell")
                : option(args, "--module", "jdk.compiler");
        new Javac(Inputs.compilable(args), module).measure(args);
    }
}
