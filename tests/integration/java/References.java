// SPDX-License-Identifier: Apache-2.0
import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Finalizable objects, some resurrected; weak, soft, phantom references; cleaners; weak maps. */
public final class References {
    private static final List<Object> kept = new ArrayList<>();
    private static final List<Object> resurrected = new ArrayList<>();
    private static final AtomicInteger cleaned = new AtomicInteger();

    static final class Mortal {
        final int number;

        Mortal(int number) {
            this.number = number;
        }

        @SuppressWarnings({"deprecation", "removal"})
        @Override protected void finalize() {
            if (number % 10 == 0) {
                synchronized (resurrected) {
                    resurrected.add(this);
                }
            }
        }
    }

    public static void main(String[] args) {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        Cleaner cleaner = Cleaner.create();
        WeakHashMap<Object, Object> weak = new WeakHashMap<>();
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < 8_000; i++) {
                Object target = new byte[i % 64];
                kept.add(new WeakReference<>(target, queue));
                if (i % 3 == 0) kept.add(new SoftReference<>(new int[i % 32]));
                if (i % 4 == 0) kept.add(new PhantomReference<>(new Object(), queue));
                if (i % 5 == 0) cleaner.register(new Object(), cleaned::incrementAndGet);
                new Mortal(i);
                weak.put(new Object(), "v" + i);
                if (i % 100 == 0) kept.add(target);
            }
            Judge.both();
            for (Reference<?> r = queue.poll(); r != null; r = queue.poll()) kept.remove(kept.size() - 1);
            System.runFinalization();
            Judge.both();
        }
        System.out.println("references " + (weak.size() >= 0));
    }
}
