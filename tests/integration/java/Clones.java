// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Object.clone of instances and arrays, of locked and identity-hashed originals, Arrays.copyOf and copyOfRange.
 */
public final class Clones {
    static final class Sheep implements Cloneable {
        int a = 1;
        long b = 2;
        Object c = "wool";

        Sheep copy() {
            try {
                return (Sheep) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private static final List<Object> kept = new ArrayList<>();

    private static long round(int steps) {
        long sum = 0;
        Sheep sheep = new Sheep();
        int[] numbers = {1, 2, 3};
        Object[] objects = {sheep, numbers, "x"};
        int[][] nested = {{1}, {2, 3}};
        for (int i = 0; i < steps; i++) {
            Sheep fresh = new Sheep();
            if (i % 3 == 0) sum += System.identityHashCode(fresh) & 1;
            Sheep copy;
            synchronized (fresh) {
                copy = fresh.copy();
            }
            Object[] all = {copy, sheep.copy(), numbers.clone(), objects.clone(), nested.clone(),
                Arrays.copyOf(numbers, i % 9), Arrays.copyOf(objects, 5), Arrays.copyOfRange(objects, 1, 2),
                Arrays.copyOf(objects, 2, Object[].class), new ArrayList<>(List.of(1, 2)).clone()};
            sum += all.length;
            if (i % 10 == 0) kept.add(all);
        }
        return sum >= 0 ? steps : 0;
    }

    public static void main(String[] args) {
        long sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += round(20_000);
            Judge.both();
            kept.subList(0, kept.size() / 3).clear();
        }
        Judge.both();
        System.out.println("clones " + sum);
    }
}
