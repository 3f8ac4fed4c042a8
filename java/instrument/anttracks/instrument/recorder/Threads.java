// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

/**
 * The recorder's own threads: daemons in the system's group, out of the way of whoever lists the application's.
 */
final class Threads {
    interface Body {
        void run() throws InterruptedException;
    }

    private Threads() {}

    static void start(String name, int priority, Body body) {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) group = group.getParent();
        Thread thread = new Thread(group, () -> {
            Recorder.enter();
            try {
                body.run();
            } catch (InterruptedException e) {
                // Whoever interrupts it wants it to end; what follows is missing in the report.
            }
        }, name);
        thread.setContextClassLoader(null);
        thread.setDaemon(true);
        thread.setPriority(priority);
        thread.start();
    }
}
