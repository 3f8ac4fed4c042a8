// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;

/**
 * What a census counts. Counted mix ROUNDS: objects of many classes, sizes and sites, a part of which is
 * dropped in each round; a full collection after each, for which the JVM writes a histogram if it has a judge.
 * Counted large OBJECTS ROUNDS: as many small objects, and as many full collections, with time to count between
 * them; prints the bytes in use.
 */
public final class Counted {
    static final class Entry {
        Object key;
        Object value;
        long stamp;

        Entry(Object key, Object value) {
            this.key = key;
            this.value = value;
        }
    }

    static volatile Object sink;

    private static Object make(int i) {
        switch (i % 8) {
            case 0: return new byte[i % 300];
            case 1: return "text " + i;
            case 2: return new Entry(i, new long[] {i});
            case 3: return new Object[i % 17];
            case 4: return (IntSupplier) () -> i;
            case 5: return new int[] {i}.clone();
            case 6: return new HashMap<>(Map.of(i, "value"));
            default: return Proxy.newProxyInstance(Counted.class.getClassLoader(),
                    new Class<?>[] {Runnable.class}, (proxy, method, arguments) -> null);
        }
    }

    private static void mix(int rounds) throws InterruptedException {
        List<Object> kept = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < 40_000; i++) {
                kept.add(make(i + round));
                sink = new byte[200];
            }
            List<Object> rest = new ArrayList<>();
            for (int i = 0; i < kept.size(); i += 2) rest.add(kept.get(i));
            kept = rest;
            if (System.getProperty("judge.dir") == null) System.gc();
            Judge.histogram();
            Thread.sleep(500);
        }
        System.out.println("kept " + kept.size());
    }

    /** Half of them entries of 32 bytes, a third of the rest boxed numbers, small arrays, and strings. */
    private static Object small(int i) {
        switch (i % 6) {
            case 0: return Integer.valueOf(i + 1000);
            case 1: return new byte[i % 24];
            case 2: return new int[i % 6];
            default: return new Entry(null, null);
        }
    }

    private static void large(int objects, int rounds) throws InterruptedException {
        Object[][] kept = new Object[objects / 1000][];
        for (int i = 0; i < kept.length; i++) {
            kept[i] = new Object[1000];
            for (int j = 0; j < 1000; j++) kept[i][j] = small(j * 7 + i);
        }
        for (int round = 0; round < rounds; round++) {
            System.gc();
            Thread.sleep(6000);
        }
        Runtime runtime = Runtime.getRuntime();
        System.out.println("kept " + kept.length + " bytes " + (runtime.totalMemory() - runtime.freeMemory()));
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("mix")) {
            mix(Integer.parseInt(args[1]));
        } else {
            large(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
        }
    }
}
