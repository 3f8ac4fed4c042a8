// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.weaver;

import anttracks.instrument.recorder.Coverage;
import anttracks.instrument.recorder.Recorder;
import anttracks.instrument.recorder.Settings;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Instruments the classes that the settings accept. */
final class Weaver implements ClassFileTransformer {
    static final int API = Opcodes.ASM9;

    /**
     * Classes that stay as they are: the agent itself; what the recorder calls before it knows that it is
     * running; what links the recorder's own method handles; accessors that the JDK generates for reflection
     * after a number of calls, which would be counted from then on only.
     */
    private static final List<String> NEVER = List.of("anttracks.instrument.", "anttracks.common.",
            "java.lang.Object", "java.lang.ThreadLocal", "java.lang.ref.", "java.lang.invoke.",
            "java.util.concurrent.atomic.", "jdk.internal.reflect.", "jdk.internal.ref.", "sun.instrument.");

    /** A label at each bytecode: ASM does not tell the bci otherwise. */
    static final class BciLabel extends Label {
        final int bci;

        BciLabel(int bci) {
            this.bci = bci;
        }
    }

    private static final class Reader extends ClassReader {
        Reader(byte[] bytes) {
            super(bytes);
        }

        @Override protected Label readLabel(int offset, Label[] labels) {
            if (labels[offset] == null) {
                for (int i = 0; i < labels.length; i++) {
                    if (labels[i] == null) labels[i] = new BciLabel(i);
                }
            }
            return labels[offset];
        }
    }

    private final Settings settings;

    Weaver(Settings settings) {
        this.settings = settings;
    }

    /**
     * Loads what weaving needs: a class of the JDK that were loaded for the first time while it is being woven
     * could not be woven itself.
     */
    void warmUp() throws IOException {
        for (Class<?> own : List.of(Weaver.class, MethodWeaver.class, SiteMaker.class)) {
            try (InputStream in = own.getResourceAsStream(own.getSimpleName() + ".class")) {
                weave(own.getName(), null, in.readAllBytes());
            }
        }
    }

    boolean accepts(String className, ClassLoader loader) {
        return loader != Weaver.class.getClassLoader() && !Settings.startsWithAny(className, NEVER)
                && settings.accepts(className, loader);
    }

    @Override public byte[] transform(ClassLoader loader, String name, Class<?> redefined,
            ProtectionDomain domain, byte[] bytes) {
        if (name == null) return null;
        boolean before = Recorder.enter();
        try {
            String className = name.replace('/', '.');
            if (!accepts(className, loader)) return null;
            byte[] woven = weave(className, loader, bytes);
            Coverage.instrumented();
            return woven;
        } catch (RuntimeException | OutOfMemoryError | StackOverflowError | LinkageError e) {
            Coverage.failed(name.replace('/', '.'), e);
            return null;
        } finally {
            Recorder.leave(before);
        }
    }

    private byte[] weave(String className, ClassLoader loader, byte[] bytes) {
        Reader reader = new Reader(bytes);
        Map<String, Integer> locals = maxLocals(reader);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        String[] file = {null};
        reader.accept(new ClassVisitor(API, writer) {
            @Override public void visitSource(String source, String debug) {
                file[0] = source;
                super.visitSource(source, debug);
            }

            @Override public MethodVisitor visitMethod(int access, String name, String descriptor,
                    String signature, String[] exceptions) {
                MethodVisitor out = super.visitMethod(access, name, descriptor, signature, exceptions);
                Integer free = locals.get(name + descriptor);
                if (free == null) return out;
                SiteMaker sites = new SiteMaker(className, name, file[0], loader);
                return new MethodWeaver(settings.mode, sites, access, name, descriptor, out, free);
            }
        }, ClassReader.EXPAND_FRAMES);
        return writer.toByteArray();
    }

    /** The first local variable that each method with code leaves free. */
    private static Map<String, Integer> maxLocals(ClassReader reader) {
        Map<String, Integer> result = new HashMap<>();
        reader.accept(new ClassVisitor(API) {
            @Override public MethodVisitor visitMethod(int access, String name, String descriptor,
                    String signature, String[] exceptions) {
                return new MethodVisitor(API) {
                    @Override public void visitMaxs(int stack, int locals) {
                        result.put(name + descriptor, locals);
                    }
                };
            }
        }, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        return result;
    }
}
