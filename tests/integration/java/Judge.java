// SPDX-License-Identifier: Apache-2.0
import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * Has the JVM itself write down its heap, in process. Each call makes one full collection, with the causes
 * "Heap Dump Initiated GC" and "Heap Inspection Initiated GC". Files go to the folder of the property
 * judge.dir, numbered from 0 each; nothing is written when it is not set.
 */
final class Judge {
    private static final String[] SIGNATURE = {String[].class.getName()};
    private static int dumps;
    private static int histograms;

    private Judge() {}

    static synchronized void dump() {
        String dir = System.getProperty("judge.dir");
        if (dir == null) return;
        String path = Path.of(dir, "dump-" + dumps++ + ".hprof").toString();
        try {
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(path, true);
        } catch (IOException e) {
            fail(e);
        }
    }

    static synchronized void histogram() {
        String dir = System.getProperty("judge.dir");
        if (dir == null) return;
        try {
            ObjectName name = new ObjectName("com.sun.management:type=DiagnosticCommand");
            Object[] noArguments = {new String[0]};
            String text = (String) ManagementFactory.getPlatformMBeanServer()
                    .invoke(name, "gcClassHistogram", noArguments, new String[] {String[].class.getName()});
            Files.writeString(Path.of(dir, "histogram-" + histograms++ + ".txt"), text);
        } catch (IOException | JMException e) {
            fail(e);
        }
    }

    static void both() {
        histogram();
        dump();
    }

    /** Without a judge the run is worthless, whatever other threads do. */
    private static void fail(Exception e) {
        e.printStackTrace();
        Runtime.getRuntime().halt(3);
    }
}
