// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.weaver;

import anttracks.instrument.recorder.Coverage;
import anttracks.instrument.recorder.Recorder;
import anttracks.instrument.recorder.Settings;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.util.ArrayList;
import java.util.List;

/** Starts the recorder, then the weaver: for what is loaded from now on, and for what is loaded already. */
public final class Start {
    private Start() {}

    public static void start(String options, Instrumentation instrumentation) throws IOException {
        Settings settings = new Settings(options);
        boolean before = Recorder.enter();
        try {
            Recorder.start(settings, instrumentation);
            Weaver weaver = new Weaver(settings);
            weaver.warmUp();
            instrumentation.addTransformer(weaver, true);
            List<Class<?>> loaded = new ArrayList<>();
            for (Class<?> each : instrumentation.getAllLoadedClasses()) {
                if (instrumentation.isModifiableClass(each) && !each.isHidden()
                        && weaver.accepts(each.getName(), each.getClassLoader())) {
                    loaded.add(each);
                }
            }
            retransform(instrumentation, loaded);
        } finally {
            Recorder.leave(before);
        }
    }

    /** All in one pause; when the JVM refuses that, one by one, to find out which class it is. */
    private static void retransform(Instrumentation instrumentation, List<Class<?>> classes) {
        if (classes.isEmpty()) return;
        try {
            instrumentation.retransformClasses(classes.toArray(new Class<?>[0]));
        } catch (UnmodifiableClassException | LinkageError e) {
            if (classes.size() == 1) Coverage.failed(classes.get(0).getName(), e);
            else for (Class<?> each : classes) retransform(instrumentation, List.of(each));
        }
    }
}
