// SPDX-License-Identifier: Apache-2.0
package anttracks.harness;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * A server with a leak: each request makes many objects that die with it, and a session that is never taken out
 * of the table again. What the analyzer should name is the site in {@link #open}. Fixed seed;
 * an iteration begins afresh.
 */
public final class Leak extends Workload {
    private static final class Session {
        final long id;
        final String user;
        final byte[] state;

        Session(long id, String user, byte[] state) {
            this.id = id;
            this.user = user;
            this.state = state;
        }
    }

    private final int requests;
    private Map<Long, Session> sessions;

    private Leak(int requests) {
        this.requests = requests;
    }

    private Session open(long id, SplittableRandom random) {
        Session session = new Session(id, "user " + random.nextInt(1000), new byte[64 + random.nextInt(64)]);
        sessions.put(id, session);
        return session;
    }

    /** Everything made here dies at once. */
    private static long answer(Session session, SplittableRandom random) {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 20; i++) lines.add(session.user + ": " + random.nextInt(100));
        return String.join("\n", lines).hashCode();
    }

    @Override long iterate() {
        sessions = new HashMap<>();
        SplittableRandom random = new SplittableRandom(17);
        long sum = 0;
        for (int i = 0; i < requests; i++) {
            // One request in ten opens a session; the others use one that is there.
            Session session = i % 10 == 0 ? open(i, random)
                    : sessions.get((long) random.nextInt(i / 10 + 1) * 10);
            sum = sum * 31 + answer(session, random);
        }
        return sum * 31 + sessions.size();
    }

    public static void main(String[] args) throws Exception {
        new Leak(small(args) ? 200_000 : 2_000_000).measure(args);
    }
}
