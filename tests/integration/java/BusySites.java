// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntConsumer;

/**
 * Many places that make and hash many objects each, more than the ids of scheme ash have room for. Afterwards
 * objects of an old place and of new ones still have hashes that differ and stay. Arguments: places, objects of
 * each. Prints how many different hashes 100,000 objects of the old place have, and as many of ten new ones,
 * and keeps all these until a line comes from standard input.
 */
public final class BusySites {
    static final int KEPT = 100_000;
    static List<Object> kept = new ArrayList<>();
    static int sum;

    /** Each hidden class of this code has a method of its own, and so a place of its own. */
    static final class Maker implements IntConsumer {
        @Override
        public void accept(int count) {
            for (int i = 0; i < count; i++) {
                Object object = new Object();
                sum += System.identityHashCode(object);
                if (kept.size() < KEPT) kept.add(object);
            }
        }
    }

    private static IntConsumer place() throws Exception {
        try (InputStream in = BusySites.class.getResourceAsStream("BusySites$Maker.class")) {
            Class<?> hidden = MethodHandles.lookup().defineHiddenClass(in.readAllBytes(), true).lookupClass();
            return (IntConsumer) hidden.getDeclaredConstructor().newInstance();
        }
    }

    /** How many different hashes the kept objects have. */
    private static int distinct() {
        Set<Integer> hashes = new HashSet<>();
        int[] first = new int[kept.size()];
        for (int i = 0; i < first.length; i++) hashes.add(first[i] = kept.get(i).hashCode());
        System.gc();
        for (int i = 0; i < first.length; i++) {
            if (first[i] == 0 || first[i] != kept.get(i).hashCode()) throw new AssertionError("object " + i);
        }
        return hashes.size();
    }

    public static void main(String[] args) throws Exception {
        int places = Integer.parseInt(args[0]);
        int objects = Integer.parseInt(args[1]);
        List<IntConsumer> all = new ArrayList<>();  // a place whose class is unloaded would be another site's
        for (int i = 0; i < places; i++) {
            all.add(place());
            all.get(i).accept(objects);
        }
        kept.clear();
        all.get(0).accept(KEPT);
        System.out.println("old " + distinct());
        List<Object> old = kept;
        kept = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            all.add(place());
            all.get(places + i).accept(KEPT / 10);
        }
        System.out.println("new " + distinct());
        System.in.read();
        System.out.println("kept " + (old.size() + kept.size()));
    }
}
