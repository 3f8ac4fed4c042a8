// SPDX-License-Identifier: Apache-2.0
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * A Java agent in the JVM (`-javaagent:instrument.jar`): redefines classes for a program. With the option
 * `transform` every class becomes a copy of itself when it is loaded or transformed again.
 */
public final class Instrument {
    private static Instrumentation instrumentation;

    private Instrument() {}

    public static void premain(String options, Instrumentation given) {
        instrumentation = given;
        if (!"transform".equals(options)) return;
        given.addTransformer(new ClassFileTransformer() {
            @Override public byte[] transform(ClassLoader loader, String name, Class<?> type,
                    ProtectionDomain domain, byte[] bytes) {
                return bytes.clone();
            }
        }, true);
    }

    static void redefine(Class<?> type, byte[] bytes) throws Exception {
        instrumentation.redefineClasses(new ClassDefinition(type, bytes));
    }

    static void retransform(Class<?>... types) throws Exception {
        instrumentation.retransformClasses(types);
    }

    static long sizeOf(Object object) {
        return instrumentation.getObjectSize(object);
    }
}
