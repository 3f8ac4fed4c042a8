// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import sun.misc.Unsafe;

/**
 * An object's identity hash is the same for all its life, whoever asks: the interpreter or compiled code,
 * before, while and after it is locked, inflated, cloned, collected. Argument: objects that are made. Prints
 * how many different hashes they have; all are made at one place.
 */
public final class Hashes {
    static final class Cell implements Cloneable {
        int payload;

        Cell copy() {
            try {
                return (Cell) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static final class Own {
        @Override
        public int hashCode() {
            return 7;
        }
    }

    private static final List<Object> objects = new ArrayList<>();
    private static int[] hashes = new int[1 << 10];
    private static Object sink;

    private static void check(boolean right, String what) {
        if (!right) throw new AssertionError(what);
    }

    private static void keep(Object object, int hash) {
        check(hash != 0, "a hash is 0");
        if (objects.size() == hashes.length) hashes = java.util.Arrays.copyOf(hashes, 2 * hashes.length);
        hashes[objects.size()] = hash;
        objects.add(object);
    }

    private static void checkAll(String when) {
        for (int i = 0; i < objects.size(); i++) {
            Object object = objects.get(i);
            int hash = hashes[i];
            check(System.identityHashCode(object) == hash, "identityHashCode " + when + ": " + object);
            if (object instanceof Cell) check(object.hashCode() == hash, "hashCode " + when + ": object " + i);
        }
    }

    /** Collections of all kinds while locks are held and there is garbage between the objects. */
    private static void collect(int steps) {
        for (int i = 0; i < steps; i++) {
            sink = new byte[i % 1000];
            if (i % 3 == 0) sink = new Cell();
        }
        System.gc();
    }

    /** Objects of the shared archive, which have their hash since it was made; and others of the VM. */
    private static void archived() {
        Object[] all = {Object.class, String.class, int[].class, "java.lang.Object".intern(), "",
            Integer.valueOf(1), Object.class.getModule(), Thread.currentThread(), Boolean.TRUE,
            ClassLoader.getSystemClassLoader(),
            Hashes.class, "literal", Character.valueOf('a'), List.of(), System.out};
        for (Object object : all) keep(object, System.identityHashCode(object));
    }

    private static void locked() throws InterruptedException {
        for (int i = 0; i < 300; i++) {
            Cell first = new Cell();
            synchronized (first) {  // asked for while it is locked
                keep(first, first.hashCode());
                if (i % 10 == 0) System.gc();
                check(first.hashCode() == hashes[objects.size() - 1], "while it is locked");
            }
            Cell second = new Cell();
            keep(second, second.hashCode());
            synchronized (second) {  // asked for before
                check(second.hashCode() == hashes[objects.size() - 1], "after it was locked");
                if (i % 10 == 0) second.wait(1);  // inflates it
                check(second.hashCode() == hashes[objects.size() - 1], "after it was inflated");
            }
            Cell third = new Cell();
            synchronized (third) {
                third.wait(0, 1);
                keep(third, System.identityHashCode(third));  // asked for when it has a monitor
            }
        }
    }

    private static void contended() throws InterruptedException {
        Cell[] cells = new Cell[200];
        for (int i = 0; i < cells.length; i++) cells[i] = new Cell();
        int[][] seen = new int[4][cells.length];
        Thread[] threads = new Thread[seen.length];
        for (int t = 0; t < threads.length; t++) {
            int[] mine = seen[t];
            threads[t] = new Thread(() -> {
                for (int i = 0; i < cells.length; i++) {
                    synchronized (cells[i]) {
                        cells[i].payload++;
                        mine[i] = System.identityHashCode(cells[i]);
                    }
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        for (int i = 0; i < cells.length; i++) {
            for (int[] mine : seen) check(mine[i] == seen[0][i], "two threads saw different hashes");
            keep(cells[i], seen[0][i]);
        }
    }

    private static void cloned() {
        int same = 0;
        for (int i = 0; i < 1000; i++) {
            Cell original = new Cell();
            int hash = original.hashCode();
            Cell copy = original.copy();
            keep(original, hash);
            keep(copy, copy.hashCode());
            same += copy.hashCode() == hash ? 1 : 0;
            int[] array = {i};
            int[] other = array.clone();
            keep(array, System.identityHashCode(array));
            keep(other, System.identityHashCode(other));
        }
        check(same < 100, same + " clones have the hash of their original");
    }

    /** Equal strings, which may come to share an array. */
    private static void strings() {
        for (int i = 0; i < 1000; i++) {
            String string = new String("equal to others".getBytes());
            keep(string, System.identityHashCode(string));
        }
    }

    private static Object own() {
        return new Own();
    }

    private static Object cell() {
        return new Cell();
    }

    /** Whether the place of the hash has a site and no random part: see the scheme hash-eliminate. */
    private static boolean isUnfilled(Unsafe unsafe, Object object) {
        long mark = unsafe.getLong(object, 0L);
        return (mark & 0x80) != 0 && (mark >> 8 & 0x7fff) == 0;
    }

    /** Objects whose class overrides hashCode have identity hashes, too. */
    private static void owned() throws ReflectiveOperationException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Unsafe unsafe = (Unsafe) field.get(null);
        int ownUnfilled = 0, cellsUnfilled = 0;
        Set<Integer> distinct = new HashSet<>();
        for (int i = 0; i < 40_000; i++) {
            Object own = own(), cell = cell();
            if (i < 39_000) continue;
            ownUnfilled += isUnfilled(unsafe, own) ? 1 : 0;
            cellsUnfilled += isUnfilled(unsafe, cell) ? 1 : 0;
            check(own.hashCode() == 7, "its own hashCode");
            keep(own, System.identityHashCode(own));
            distinct.add(System.identityHashCode(own));
        }
        check(distinct.size() > 600, "1000 objects have " + distinct.size() + " identity hashes");
        System.out.println("without a random part " + ownUnfilled + " that override hashCode, "
            + cellsUnfilled + " others");
    }

    private static int made(int count) {
        IdentityHashMap<Object, Integer> map = new IdentityHashMap<>();
        List<Cell> cells = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Cell cell = new Cell();
            cells.add(cell);
            if (i % 2 == 0) map.put(cell, i);
        }
        collect(100_000);
        for (int i = 1; i < count; i += 2) map.put(cells.get(i), i);  // these are hashed only now
        collect(100_000);
        Set<Integer> distinct = new HashSet<>();
        for (int i = 0; i < count; i++) {
            Integer found = map.get(cells.get(i));
            check(found != null && found == i, "object " + i + " is not in the map");
            distinct.add(cells.get(i).hashCode());
        }
        for (int i = 0; i < count; i += 50) keep(cells.get(i), cells.get(i).hashCode());
        return distinct.size();
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        archived();
        locked();
        contended();
        cloned();
        strings();
        owned();
        int distinct = made(count);
        for (int round = 0; round < 12; round++) {
            checkAll("in round " + round);
            collect(round < 8 ? 20_000 : 200_000);
        }
        checkAll("at the end");
        System.out.println("objects " + objects.size());
        System.out.println("distinct " + distinct + " of " + count);
    }
}
