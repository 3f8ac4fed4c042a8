// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Everything that a collector of regions does beside young pauses: marking that runs beside the program and
 * frees old regions and unloads classes in its remark, mixed pauses that take old regions, humongous objects
 * that die young and old, full collections in between. For G1 with -XX:+ExplicitGCInvokesConcurrent.
 * Arguments: rounds.
 */
public final class Regions {
    static final class Node {
        Node next;
        Object payload;
        long value;
    }

    public static final class Loaded {
        final long[] data = new long[3];
        Object other;
    }

    private static final int CHAINS = 400;
    private static final Random random = new Random(Long.getLong("random.seed", 11));
    private static final Node[] chains = new Node[CHAINS];
    private static final List<Object> loaded = new ArrayList<>();
    private static final List<byte[]> humongous = new ArrayList<>();
    private static byte[] bytes;

    private static Node chain(int length) {
        Node head = null;
        for (int i = 0; i < length; i++) {
            Node node = new Node();
            node.next = head;
            node.payload = i % 3 == 0 ? new int[i % 17] : i % 5 == 0 ? "n" + i : null;
            if (i % 97 == 0) node.value = System.identityHashCode(node);
            head = node;
        }
        return head;
    }

    /** Old objects die in many regions, a few in each of them; objects of classes that go, too. */
    private static void age(int steps) throws Exception {
        for (int i = 0; i < steps; i++) {
            chains[random.nextInt(CHAINS)] = chain(300 + random.nextInt(300));
            if (i % 7 == 0) {
                loaded.add(new OwnLoader(bytes).loadClass("Regions$Loaded").getConstructor().newInstance());
                if (loaded.size() > 60) loaded.subList(0, 40).clear();
            }
            if (i % 11 == 0) {
                humongous.add(new byte[700_000 + random.nextInt(1_500_000)]);
                if (humongous.size() > 6) humongous.remove(random.nextInt(6));
            }
            byte[] garbage = new byte[600_000 + random.nextInt(600_000)];
            if (garbage.length == 1) loaded.add(garbage);
        }
    }

    private static void drop(int part) {
        for (int i = 0; i < CHAINS; i++) {
            if (random.nextInt(part) == 0) chains[i] = null;
        }
    }

    private static void checkHashes() {
        for (Node node : chains) {
            for (; node != null; node = node.next) {
                boolean right = node.value == 0 || node.value == System.identityHashCode(node);
                if (!right) throw new AssertionError("another hash");
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        bytes = OwnLoader.bytesOf(Loaded.class);
        for (int round = 0; round < rounds; round++) {
            age(CHAINS);
            drop(2);
            System.gc();  // starts marking
            age(CHAINS * 2);
            System.gc();
            age(CHAINS);
            if (round % 2 == 0) Judge.both();
            checkHashes();
            if (round % 3 == 2) {  // whole regions die
                java.util.Arrays.fill(chains, null);
                humongous.clear();
                loaded.clear();
                System.gc();
                age(20);
            }
        }
        Judge.both();
        System.out.println("regions " + rounds);
    }
}
