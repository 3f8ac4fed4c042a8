// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.io.InputStream;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/**
 * How often objects that live at the same time have the same identity hash: --objects of them, from --sites
 * places in turn, and with --scattered yes garbage of different size between them. Prints
 * `objects N sites K distinct D pairs P most M`: P pairs have the same hash, M objects share the most
 * frequent one.
 */
public final class HashCollisions {
    /** Each class loader's copy of it is a place of its own. */
    public static final class Maker implements Supplier<Object> {
        @Override public Object get() {
            return new Object();
        }
    }

    private static byte[] garbage;

    private static final class Copies extends ClassLoader {
        Supplier<?> maker(byte[] code) throws ReflectiveOperationException {
            Class<?> copy = defineClass(Maker.class.getName(), code, 0, code.length);
            return (Supplier<?>) copy.getDeclaredConstructor().newInstance();
        }
    }

    private static Supplier<?>[] makers(int count) throws Exception {
        byte[] code;
        try (InputStream in = HashCollisions.class.getResourceAsStream("HashCollisions$Maker.class")) {
            code = in.readAllBytes();
        }
        Supplier<?>[] makers = new Supplier<?>[count];
        for (int i = 0; i < count; i++) makers[i] = new Copies().maker(code);
        return makers;
    }

    private static int[] hashes(Supplier<?>[] makers, int objects, boolean scattered) {
        SplittableRandom random = new SplittableRandom(17);
        Object[] alive = new Object[objects];
        int[] hashes = new int[objects];
        for (int i = 0; i < objects; i++) {
            alive[i] = makers[i % makers.length].get();
            hashes[i] = System.identityHashCode(alive[i]);
            if (scattered) garbage = new byte[random.nextInt(256)];
        }
        for (int i = 0; i < objects; i++) {
            if (System.identityHashCode(alive[i]) != hashes[i]) {
                throw new IllegalStateException("a hash changed");
            }
        }
        return hashes;
    }

    public static void main(String[] args) throws Exception {
        int objects = Integer.parseInt(Workload.option(args, "--objects", "1000000"));
        int sites = Integer.parseInt(Workload.option(args, "--sites", "1"));
        int[] hashes = hashes(makers(sites), objects, Workload.option(args, "--scattered", "no").equals("yes"));
        Arrays.sort(hashes);
        long distinct = 0;
        long pairs = 0;
        long most = 0;
        for (int from = 0, to = 0; from < objects; from = to) {
            while (to < objects && hashes[to] == hashes[from]) to++;
            long same = to - from;
            distinct++;
            pairs += same * (same - 1) / 2;
            most = Math.max(most, same);
        }
        System.out.printf("objects %d sites %d distinct %d pairs %d most %d%n", objects, sites, distinct, pairs,
                most);
    }
}
