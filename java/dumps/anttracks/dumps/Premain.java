// SPDX-License-Identifier: Apache-2.0
package anttracks.dumps;

import anttracks.common.Options;
import java.io.IOException;

/** Samples the heap of the program that it is loaded into by heap dumps. */
public final class Premain {
    public static void premain(String text) {
        try {
            Options options = new Options(text, "every", "count", "out", "dir", "keep", "histogram", "live");
            Sampler sampler = new Sampler(options);
            Runtime.getRuntime().addShutdownHook(new Thread(null, sampler::report, "anttracks-dumps report"));
            Thread thread = new Thread(null, sampler::run, "anttracks-dumps");
            thread.setDaemon(true);
            thread.start();
        } catch (IllegalArgumentException | IOException e) {
            System.err.println("anttracks-dumps: " + e.getMessage());
            System.exit(1);
        }
    }
}
