// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import sun.misc.Unsafe;

/** Unsafe.allocateInstance, of initialised and uninitialised classes, interpreted and compiled. */
public final class UnsafeAllocate {
    static class Plain {
        int a;
        Object b;
    }

    static class Cold {
        static final long[] state = new long[7];
        long x;
    }

    private static final List<Object> kept = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Unsafe unsafe = (Unsafe) field.get(null);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 60_000; i++) {
                Object plain = unsafe.allocateInstance(Plain.class);
                Object cold = round > 0 ? unsafe.allocateInstance(Cold.class) : null;
                if (i % 7 == 0) kept.add(new Object[] {plain, cold});
            }
            Judge.both();
            kept.subList(0, kept.size() / 2).clear();
        }
        Judge.both();
        System.out.println("unsafe " + kept.size());
    }
}
