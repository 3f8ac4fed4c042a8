// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Array;

/**
 * Classes that come and go: each round makes hidden classes and class loaders, an object and an array of each,
 * and forgets them. The classes have no code of their own that allocates. Arguments: rounds,
 * classes of each sort in a round.
 */
public final class Churn {
    public static final class Empty {
        Object other;
    }

    static Object sink;

    private static void use(Class<?> type) throws Exception {
        Object[] objects = (Object[]) Array.newInstance(type, 3);
        objects[0] = type.getConstructor().newInstance();
        sink = objects;
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]), classes = Integer.parseInt(args[1]);
        byte[] bytes = OwnLoader.bytesOf(Empty.class);
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < classes; i++) {
                use(MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass());
                use(new OwnLoader(bytes).loadClass("Churn$Empty"));
            }
            sink = null;
            System.gc();
        }
        System.out.println("made " + rounds * classes * 2);
    }
}
