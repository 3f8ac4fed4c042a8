// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Many full collections of an old generation that is mostly live: the dense prefix stays,
 * dead space gets fillers.
 */
public final class DenseOld {
    private static final List<Object> kept = new ArrayList<>();

    private static Object make(Random random) {
        switch (random.nextInt(4)) {
            case 0: return new byte[random.nextInt(100)];
            case 1: return new Object();
            case 2: return new Object[] {random.nextInt(), new long[random.nextInt(5)]};
            default: return new int[random.nextInt(2000)];
        }
    }

    public static void main(String[] args) {
        Random random = new Random(Long.getLong("random.seed", 11));
        for (int i = 0; i < 40_000; i++) kept.add(make(random));
        System.gc();
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 150; i++) kept.set(random.nextInt(kept.size()), make(random));
            if (round % 4 == 0) {
                for (int i = 0; i < 40; i++) {
                    int at = random.nextInt(kept.size() - 100);
                    for (int j = 0; j < 60; j++) kept.set(at + j, null);
                }
            }
            System.gc();
            if (round % 3 == 0) Judge.histogram();
            if (round % 5 == 0) Judge.dump();
        }
        System.out.println("dense " + kept.size());
    }
}
