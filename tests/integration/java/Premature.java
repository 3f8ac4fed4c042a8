// SPDX-License-Identifier: Apache-2.0
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;

/**
 * Objects that live for as many young collections as it decides, so that what becomes of them can be computed
 * by hand. Each of the three classes has its own site and number of objects; an object has 32 bytes.
 *
 * <ul>
 *   <li>Brief: dropped after one young collection.
 *   <li>Kept: dropped after as many young collections as the argument says, then a full collection.
 *   <li>Long: never dropped.
 * </ul>
 *
 * A fourth object is an array that is too large for the young generation, and is dropped like the Kept ones.
 */
public final class Premature {
    static class Sized {
        long first, second;  // 32 bytes with the header
    }

    static final class Brief extends Sized {}

    static final class Kept extends Sized {}

    static final class Long extends Sized {}

    static final int BRIEF = 700, KEPT = 1_100, LONG = 1_300, LARGE = 13 << 20;

    static Object[] brief = new Object[BRIEF], kept = new Object[KEPT], live = new Object[LONG];
    static Object large, garbage;

    private static GarbageCollectorMXBean young;

    private static void make() {
        for (int i = 0; i < BRIEF; i++) brief[i] = new Brief();
        for (int i = 0; i < KEPT; i++) kept[i] = new Kept();
        for (int i = 0; i < LONG; i++) live[i] = new Long();
        large = new byte[LARGE];
    }

    private static void collectYoung() {
        long before = young.getCollectionCount();
        while (young.getCollectionCount() == before) {
            for (int i = 0; i < 100; i++) garbage = new byte[1000];
        }
    }

    public static void main(String[] args) {
        int collections = Integer.parseInt(args[0]);
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (List.of("Copy", "PS Scavenge", "G1 Young Generation").contains(bean.getName())) young = bean;
        }
        collectYoung();
        long before = young.getCollectionCount();
        make();
        if (young.getCollectionCount() != before) throw new IllegalStateException("an early collection");
        for (int i = 0; i < collections; i++) {
            collectYoung();
            Arrays.fill(brief, null);  // the array may be old and dead, and keep them alive
        }
        Arrays.fill(kept, null);
        large = null;
        System.gc();
        System.out.println("young " + (young.getCollectionCount() - before) + " live " + live.length);
    }
}
