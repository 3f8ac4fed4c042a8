// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandles;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/** Class loaders and hidden classes that come and go by the hundred; some keep instances alive. */
public final class Unloading {
    public static final class Loaded {
        final long[] data = new long[3];
        Object other;
    }

    private static final List<Object> kept = new ArrayList<>();

    private static Object[] instances(Class<?> type, int count) throws Exception {
        Object[] made = new Object[count];
        for (int i = 0; i < count; i++) made[i] = type.getConstructor().newInstance();
        Object[] typed = (Object[]) java.lang.reflect.Array.newInstance(type, count);
        System.arraycopy(made, 0, typed, 0, count);
        return typed;
    }

    private static void round(int loaders, byte[] bytes, URL[] path) throws Exception {
        for (int i = 0; i < loaders; i++) {
            Class<?> own = new OwnLoader(bytes).loadClass("Unloading$Loaded");
            Class<?> hidden = MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass();
            Object[] a = instances(own, 20);
            Object[] b = instances(hidden, 10);
            if (i % 10 == 0) {
                kept.add(a);
                kept.add(b);
            }
            if (i % 20 == 0) {
                try (URLClassLoader url = new URLClassLoader(path, null)) {
                    Object[] c = instances(url.loadClass("Unloading$Loaded"), 5);
                    if (i % 40 == 0) kept.add(c);
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] bytes = OwnLoader.bytesOf(Loaded.class);
        URL[] path = {Unloading.class.getProtectionDomain().getCodeSource().getLocation()};
        for (int i = 0; i < 4; i++) {
            round(150, bytes, path);
            Judge.both();
            kept.clear();
            System.gc();
            round(50, bytes, path);
            Judge.both();
        }
        System.out.println("unloaded");
    }
}
