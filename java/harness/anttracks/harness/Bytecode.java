// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.analysis.Analyzer;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.Frame;
import org.objectweb.asm.tree.analysis.SourceInterpreter;
import org.objectweb.asm.tree.analysis.SourceValue;

/**
 * Bytecode analysis: for each instruction of a library the instructions that made its operands, on two
 * threads. The checksum is of their places.
 */
public final class Bytecode extends Workload {
    private final List<byte[]> classes = new ArrayList<>();

    private Bytecode(String library, int most) throws IOException {
        try (ZipFile zip = new ZipFile(library)) {
            List<ZipEntry> entries = new ArrayList<>();
            zip.stream().filter(e -> e.getName().endsWith(".class")).forEach(entries::add);
            entries.sort(Comparator.comparing(ZipEntry::getName));
            for (ZipEntry entry : entries.subList(0, Math.min(most, entries.size()))) {
                try (InputStream in = zip.getInputStream(entry)) {
                    classes.add(in.readAllBytes());
                }
            }
        }
    }

    private static long sourcesOf(ClassNode node, MethodNode method) throws AnalyzerException {
        long sum = 0;
        Frame<SourceValue>[] frames = new Analyzer<>(new SourceInterpreter()).analyze(node.name, method);
        for (Frame<SourceValue> frame : frames) {
            if (frame == null) continue; // cannot be reached
            for (int i = 0; i < frame.getStackSize(); i++) {
                for (AbstractInsnNode source : frame.getStack(i).insns) {
                    sum += method.instructions.indexOf(source);
                }
            }
        }
        return sum;
    }

    @Override long iterate() throws Exception {
        return inParallel(2, thread -> {
            long sum = 0;
            for (int i = thread; i < classes.size(); i += 2) {
                ClassNode node = new ClassNode();
                new ClassReader(classes.get(i)).accept(node, 0);
                for (MethodNode method : node.methods) sum = sum * 31 + sourcesOf(node, method);
            }
            return sum;
        });
    }

    public static void main(String[] args) throws Exception {
        String library = option(args, "--library", "/usr/share/java/xercesImpl.jar");
        new Bytecode(library, small(args) ? 600 : Integer.MAX_VALUE).measure(args);
    }
}
