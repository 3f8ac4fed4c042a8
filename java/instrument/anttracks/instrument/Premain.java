// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * The only class on the application's class path. The recorder's classes belong to the boot loader, where
 * instrumented code of every loader finds them; the weaver and ASM get a class loader of their own.
 */
public final class Premain {
    public static void premain(String options, Instrumentation instrumentation) throws Exception {
        File jar = new File(Premain.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        File parts = new File(jar.getParentFile(), "instrument");
        try {
            defineAll(new File(parts, "recorder.jar"), instrumentation);
            URL[] weaver = {new File(parts, "weaver.jar").toURI().toURL()};
            new URLClassLoader("anttracks-instrument", weaver, null)
                    .loadClass("anttracks.instrument.weaver.Start")
                    .getMethod("start", String.class, Instrumentation.class)
                    .invoke(null, options, instrumentation);
        } catch (InvocationTargetException e) {
            refuse(e.getCause());
        } catch (ReflectiveOperationException | IOException | LinkageError e) {
            refuse(e);
        }
    }

    private static void refuse(Throwable reason) {
        boolean usage = reason instanceof IllegalArgumentException;
        System.err.println("anttracks-instrument: " + (usage ? reason.getMessage() : reason));
        System.exit(1);
    }

    /**
     * Defines the classes of a jar in the boot loader. Appending the jar to the boot class path would be
     * simpler, but switches class-data sharing off in part, and the JVM says so in the application's output.
     */
    private static void defineAll(File file, Instrumentation instrumentation)
            throws IOException, ReflectiveOperationException {
        Module base = Object.class.getModule();
        instrumentation.redefineModule(base, Set.of(),
                Map.of("jdk.internal.misc", Set.of(Premain.class.getModule())), Map.of(), Set.of(), Map.of());
        Class<?> unsafe = Class.forName("jdk.internal.misc.Unsafe");
        Object instance = unsafe.getMethod("getUnsafe").invoke(null);
        Method define = unsafe.getMethod("defineClass", String.class, byte[].class, int.class, int.class,
                ClassLoader.class, ProtectionDomain.class);
        List<byte[]> classes = read(file);
        while (!classes.isEmpty()) {
            List<byte[]> later = new ArrayList<>();
            for (byte[] bytes : classes) {
                try {
                    define.invoke(instance, null, bytes, 0, bytes.length, null, null);
                } catch (InvocationTargetException e) {
                    // Its superclass comes later in the jar.
                    if (!(e.getCause() instanceof NoClassDefFoundError)) throw e;
                    later.add(bytes);
                }
            }
            if (later.size() == classes.size()) throw new NoClassDefFoundError(file + " is not complete");
            classes = later;
        }
    }

    private static List<byte[]> read(File file) throws IOException {
        List<byte[]> classes = new ArrayList<>();
        try (JarFile jar = new JarFile(file)) {
            for (JarEntry entry : (Iterable<JarEntry>) jar.stream()::iterator) {
                if (!entry.getName().endsWith(".class")) continue;
                try (InputStream in = jar.getInputStream(entry)) {
                    classes.add(in.readAllBytes());
                }
            }
        }
        return classes;
    }
}
