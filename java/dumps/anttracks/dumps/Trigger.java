// SPDX-License-Identifier: Apache-2.0
package anttracks.dumps;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/**
 * Waits for the next moment to take a dump: after every N collections (`2gc`) or N milliseconds (`500ms`,
 * `5s`).
 */
final class Trigger {
    private final boolean collections;
    private final long every;
    private long seen;

    Trigger(String text) {
        collections = text.endsWith("gc");
        boolean millis = text.endsWith("ms");
        boolean seconds = !millis && text.endsWith("s");
        long number = 0;
        if (collections || millis || seconds) {
            String digits = text.substring(0, text.length() - (seconds ? 1 : 2));
            if (digits.matches("[0-9]{1,9}")) number = Long.parseLong(digits);
        }
        if (number == 0) {
            throw new IllegalArgumentException("every=" + text
                    + " is unknown (valid: collections as 1gc, time as 500ms or 5s)");
        }
        every = seconds ? number * 1000 : number;
        if (collections) listen();
    }

    private void listen() {
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            ((NotificationEmitter) bean).addNotificationListener((notification, handback) -> {
                CompositeData data = (CompositeData) notification.getUserData();
                String cause = GarbageCollectionNotificationInfo.from(data).getGcCause();
                // A dump of the live objects collects itself.
                if (!cause.equals("Heap Dump Initiated GC")) collected();
            }, null, null);
        }
    }

    private synchronized void collected() {
        seen++;
        notifyAll();
    }

    /** Returns how many moments have passed since the last call; all but one of them were missed. */
    synchronized long await() throws InterruptedException {
        if (!collections) {
            Thread.sleep(every);
            return 1;
        }
        while (seen < every) wait();
        long passed = seen / every;
        seen %= every;
        return passed;
    }
}
