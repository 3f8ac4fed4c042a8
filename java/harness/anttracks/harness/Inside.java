// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import javax.management.ObjectName;

/**
 * Runs the main class that is named, with the other arguments, and then prints what only the JVM itself knows:
 * `klasses BYTES of CLASSES classes`, and the list of compiled methods of `jcmd Compiler.codelist`.
 *
 * <p>With -Danttracks.harness.classes=FILE, which has the name of a class in each line, also `own NAME` for
 * each that has a hashCode other than Object's, and `unknown NAME` for each that is not found by its name.
 *
 * <p>Of a program that ends the JVM itself it does so while the JVM ends.
 */
public final class Inside {
    private static boolean told;

    private Inside() {}

    private static long classSpace() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals("Compressed Class Space")) return pool.getUsage().getUsed();
        }
        throw new IllegalStateException("no class space");
    }

    private static Object command(String name) throws Exception {
        return ManagementFactory.getPlatformMBeanServer().invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"), name, null, null);
    }

    private static String hashOf(String name) {
        try {
            // Without its static initializer: this run may not have used the class.
            Class<?> found = Class.forName(name, false, ClassLoader.getSystemClassLoader());
            return found.getMethod("hashCode").getDeclaringClass() == Object.class ? "object's " : "own ";
        } catch (ReflectiveOperationException | LinkageError e) {
            return "unknown ";
        }
    }

    private static void print() throws Exception {
        System.out.println("klasses " + classSpace() + " of "
                + ManagementFactory.getClassLoadingMXBean().getLoadedClassCount() + " classes");
        String names = System.getProperty("anttracks.harness.classes");
        if (names != null) {
            for (String name : Files.readAllLines(Path.of(names))) System.out.println(hashOf(name) + name);
        }
        System.out.println(command("compilerCodelist"));
    }

    private static synchronized void tell() {
        if (told) return;
        told = true;
        try {
            print();
        } catch (Exception e) {
            e.printStackTrace();
        }
    }

    public static void main(String[] args) throws Exception {
        ManagementFactory.getPlatformMBeanServer(); // made now: hardly anything can be made while the JVM ends
        Runtime.getRuntime().addShutdownHook(new Thread(Inside::tell));
        Class.forName(args[0]).getMethod("main", String[].class)
                .invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
        tell();
    }
}
