// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayDeque;
import java.util.Random;

/** A sliding window of live objects larger than a survivor space: copies overflow into the old generation. */
public final class Survivors {
    static final class Entry {
        final Object payload;
        Entry previous;

        Entry(Object payload) {
            this.payload = payload;
        }
    }

    public static void main(String[] args) {
        Random random = new Random(Long.getLong("random.seed", 7));
        ArrayDeque<Entry> window = new ArrayDeque<>();
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < 150_000; i++) {
                Entry entry = new Entry(random.nextInt(3) == 0 ? new long[random.nextInt(30)] : "e" + i);
                window.addLast(entry);
                if (window.size() > 25_000) window.removeFirst();
                if (random.nextInt(5) == 0) entry.previous = window.peekFirst();
                if (entry.previous != null) entry.previous.previous = null;
            }
            Judge.both();
        }
        System.out.println("survivors " + window.size());
    }
}
