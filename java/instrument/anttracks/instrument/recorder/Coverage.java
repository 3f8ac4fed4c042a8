// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.recorder;

import anttracks.common.Json;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/** What was instrumented and what could not be, for the report. */
public final class Coverage {
    private static long classes;
    private static final Map<String, String> FAILED = new TreeMap<>();
    private static final Map<String, Long> UNTRACKED = new TreeMap<>();

    private Coverage() {}

    public static synchronized void instrumented() {
        classes++;
    }

    /** A class that stays as it is. */
    public static synchronized void failed(String className, Throwable reason) {
        FAILED.put(className, reason.toString());
    }

    /** An allocation whose object is not within reach after its construction. */
    public static synchronized void untracked(String method) {
        UNTRACKED.merge(method, 1L, Long::sum);
    }

    static synchronized void write(Json json) throws IOException {
        json.put("classes_instrumented", classes);
        json.open("classes_failed", '{');
        for (Map.Entry<String, String> entry : FAILED.entrySet()) json.put(entry.getKey(), entry.getValue());
        json.close('}');
        json.open("sites_untracked", '{');
        for (Map.Entry<String, Long> entry : UNTRACKED.entrySet()) json.put(entry.getKey(), entry.getValue());
        json.close('}');
    }
}
