// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.Arrays;
import javax.management.ObjectName;

/**
 * Runs the main class that is named, with the other arguments, and then prints what only the JVM itself knows:
 * `klasses BYTES of CLASSES classes`, and the list of compiled methods of `jcmd Compiler.codelist`.
 */
public final class Inside {
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

    public static void main(String[] args) throws Exception {
        Class.forName(args[0]).getMethod("main", String[].class)
                .invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
        System.out.println("klasses " + classSpace() + " of "
                + ManagementFactory.getClassLoadingMXBean().getLoadedClassCount() + " classes");
        System.out.println(command("compilerCodelist"));
    }
}
