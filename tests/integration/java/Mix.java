// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** One thread, a bit of everything: lists, maps, strings, boxes, arrays; part of it lives on. */
public final class Mix {
    static final class Node {
        Node next;
        int value;
        Object payload;
    }

    private static final class Pair {
        final long first;
        final Object second;

        Pair(long first, Object second) {
            this.first = first;
            this.second = second;
        }
    }

    private static final Map<String, Object> kept = new HashMap<>();
    private static Node chain;

    private static Object make(Random random, int i) {
        switch (random.nextInt(8)) {
            case 0: return new Pair(i, "s" + i);
            case 1: return new int[random.nextInt(40)];
            case 2: return new byte[random.nextInt(200)];
            case 3: return new Object[] {i, (long) i, (double) i};
            case 4: return new StringBuilder().append(i).append('x').toString();
            case 5: return new ArrayList<>(List.of(i, i + 1));
            case 6: return new TreeMap<>(Map.of(i, "v" + i));
            default: return new long[random.nextInt(10)][2];
        }
    }

    private static long round(Random random, int steps) {
        long sum = 0;
        for (int i = 0; i < steps; i++) {
            Object made = make(random, i);
            sum += made.getClass().getName().length();
            if (random.nextInt(20) == 0) kept.put("k" + random.nextInt(3000), made);
            if (random.nextInt(50) == 0) {
                Node node = new Node();
                node.value = i;
                node.next = random.nextInt(500) == 0 ? null : chain;
                node.payload = made;
                chain = node;
            }
        }
        return sum;
    }

    public static void main(String[] args) {
        int steps = args.length > 0 ? Integer.parseInt(args[0]) : 150_000;
        Random random = new Random(Long.getLong("random.seed", 42));
        long sum = round(random, steps);
        Judge.both();
        sum += round(random, steps);
        Judge.both();
        System.gc();
        sum += round(random, steps / 3);
        Judge.both();
        System.out.println("sum " + sum);
    }
}
