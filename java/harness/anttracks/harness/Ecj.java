// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.eclipse.jdt.internal.compiler.ClassFile;
import org.eclipse.jdt.internal.compiler.CompilationResult;
import org.eclipse.jdt.internal.compiler.batch.Main;

/**
 * Eclipse's batch compiler on the sources of a module of the JDK; a checksum of the classes, which go nowhere.
 */
public final class Ecj extends Workload {
    private static final class Compiler extends Main {
        final AtomicLong sum = new AtomicLong();

        Compiler(PrintWriter messages) {
            super(messages, messages, false, null, null);
        }

        @Override public void outputClassFiles(CompilationResult result) {
            if (result.hasErrors()) return;
            for (ClassFile file : result.getClassFiles()) {
                CRC32 crc = new CRC32();
                crc.update(file.getBytes());
                // A sum: units come in the order in which they are done.
                sum.addAndGet((crc.getValue() << 1) + 1);
            }
        }
    }

    private final Path folder;
    private final String[] arguments;

    private Ecj(String archive, String module) throws IOException {
        folder = Files.createTempDirectory("ecj");
        List<String> command = new ArrayList<>(List.of("-17", "-nowarn", "-proc:none", "-d", "none"));
        for (Inputs.Text text : Inputs.sources(archive, module + "/")) {
            Path file = folder.resolve(text.name());
            Files.createDirectories(file.getParent());
            Files.writeString(file, text.content());
            command.add(file.toString());
        }
        arguments = command.toArray(new String[0]);
    }

    @Override long iterate() {
        StringWriter messages = new StringWriter();
        Compiler compiler = new Compiler(new PrintWriter(messages));
        if (!compiler.compile(arguments)) throw new IllegalStateException(messages.toString());
        return compiler.sum.get();
    }

    @Override void close() throws IOException {
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
        }
    }

    public static void main(String[] args) throws Exception {
        new Ecj(Inputs.archive(args), small(args) ? "jdk.jshell" : "jdk.compiler").measure(args);
    }
}
