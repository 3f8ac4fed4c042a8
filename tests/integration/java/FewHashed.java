// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Many places, and few objects of each are hashed. Arguments: places, objects of each, whether their class has
 * a hashCode of its own. Prints how many pairs of objects have the same identity hash.
 */
public final class FewHashed {
    static final List<Object> kept = new ArrayList<>();
    static boolean ownHash;

    static final class OwnHash {
        @Override
        public int hashCode() {
            return 1;
        }
    }

    /** Each hidden class of this code has a method of its own, and so a place of its own. */
    static final class Maker implements Runnable {
        @Override
        public void run() {
            kept.add(ownHash ? new OwnHash() : new Object());
        }
    }

    public static void main(String[] args) throws Exception {
        int places = Integer.parseInt(args[0]);
        int objects = Integer.parseInt(args[1]);
        ownHash = Boolean.parseBoolean(args[2]);
        List<Runnable> all = new ArrayList<>();  // a place whose class is unloaded would be another site's
        try (InputStream in = FewHashed.class.getResourceAsStream("FewHashed$Maker.class")) {
            byte[] code = in.readAllBytes();
            for (int i = 0; i < places; i++) {
                Class<?> hidden = MethodHandles.lookup().defineHiddenClass(code, true).lookupClass();
                all.add((Runnable) hidden.getDeclaredConstructor().newInstance());
                for (int j = 0; j < objects; j++) all.get(i).run();
            }
        }
        Map<Integer, Integer> seen = new HashMap<>();
        int pairs = 0;
        for (Object object : kept) pairs += seen.merge(System.identityHashCode(object), 1, Integer::sum) - 1;
        System.out.println("pairs " + pairs + " of " + kept.size() + " objects");
    }
}
