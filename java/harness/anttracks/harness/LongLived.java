// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * A cache of orders that fills some 500 MB, most of it old, with look-ups and replacements on top. Fixed seed.
 * --orders: how many it keeps.
 */
public final class LongLived extends Workload {
    private record Item(String name, int count, long price) {}

    private static final class Order {
        final long number;
        final List<Item> items = new ArrayList<>();

        Order(long number) {
            this.number = number;
        }

        long total() {
            long sum = number;
            for (Item item : items) sum += item.count() * item.price();
            return sum;
        }
    }

    private final int orders;
    private final int requests;

    private final Map<Long, Order> cache = new HashMap<>();

    private LongLived(int orders) {
        this.orders = orders;
        this.requests = 2 * orders;
    }

    private static Order make(long number, SplittableRandom random) {
        Order order = new Order(number);
        int count = 2 + random.nextInt(4);
        for (int i = 0; i < count; i++) {
            order.items.add(new Item("item " + random.nextInt(100_000), i, random.nextLong() >>> 40));
        }
        return order;
    }

    @Override long iterate() {
        SplittableRandom random = new SplittableRandom(42);
        if (cache.isEmpty()) {
            for (long number = 0; number < orders; number++) {
                cache.put(number, make(number, new SplittableRandom(number)));
            }
        }
        long sum = 0;
        for (int i = 0; i < requests; i++) {
            long number = random.nextLong() >>> 1;
            long key = number % orders;
            // What is replaced depends on the key alone,
            // so that each iteration finds the cache as the last one did.
            if (i % 20 == 0) cache.put(key, make(key, new SplittableRandom(key)));
            StringBuilder answer = new StringBuilder();
            Order order = cache.get(key);
            for (Item item : order.items) {
                answer.append(item.count()).append('x').append(item.name()).append(';');
            }
            sum = sum * 31 + answer.toString().hashCode() % 2 + order.number;
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        String orders = small(args) ? "100000" : option(args, "--orders", "1000000");
        new LongLived(Integer.parseInt(orders)).measure(args);
    }
}
