// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;

/**
 * newInstance, Array.newInstance, Method.invoke with boxed arguments, proxies; past the inflation threshold.
 */
public final class Reflection {
    public static final class Made {
        public final int value;

        public Made() {
            this(0);
        }

        public Made(int value) {
            this.value = value;
        }

        public Long twice(int x, long y) {
            return x + y + 1_000_000L;
        }
    }

    private static final List<Object> kept = new ArrayList<>();

    private static void round(int steps) throws Exception {
        Constructor<Made> plain = Made.class.getConstructor();
        Constructor<Made> withInt = Made.class.getConstructor(int.class);
        Method method = Made.class.getMethod("twice", int.class, long.class);
        InvocationHandler handler = (proxy, called, arguments) -> 3;
        for (int i = 0; i < steps; i++) {
            Made made = withInt.newInstance(i);
            Object[] all = {plain.newInstance(), made, method.invoke(made, i, 5L),
                    Array.newInstance(int.class, i % 7), Array.newInstance(Made.class, 2),
                Array.newInstance(String.class, 1, i % 3),
                Proxy.newProxyInstance(Reflection.class.getClassLoader(), new Class<?>[] {Comparable.class},
                        handler)};
            if (i % 7 == 0) kept.add(all);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3; i++) {
            round(12_000);
            Judge.both();
            kept.subList(0, kept.size() / 2).clear();
        }
        Judge.both();
        System.out.println("reflection " + kept.size());
    }
}
