// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.weaver;

import anttracks.instrument.recorder.Coverage;
import anttracks.instrument.recorder.Sites;
import org.objectweb.asm.Label;
import org.objectweb.asm.Type;

/** Registers the allocation sites of one method; follows bci and line. */
final class SiteMaker {
    private final String className;
    private final String methodName;
    private final String file;
    private final ClassLoader loader;
    private int bci = -1;
    private int line = -1;

    SiteMaker(String className, String methodName, String file, ClassLoader loader) {
        this.className = className;
        this.methodName = methodName;
        this.file = file;
        this.loader = loader;
    }

    void at(Label label) {
        if (label instanceof Weaver.BciLabel) bci = ((Weaver.BciLabel) label).bci;
    }

    void line(int number) {
        line = number;
    }

    int add(String type, Sites.Kind kind) {
        String frame = className + "." + methodName + "(" + (file == null ? "Unknown Source" : file)
                + (line < 0 ? "" : ":" + line) + ")";
        return Sites.add(type, frame, bci, kind, loader);
    }

    int addInstance(String internalName) {
        return add(internalName.replace('/', '.'), Sites.Kind.INSTANCE);
    }

    int addArray(Type type) {
        return add(type.getClassName(), Sites.Kind.ARRAY);
    }

    /** One site for each dimension that the instruction fills; their numbers follow each other. */
    int addArrays(Type type, int dimensions) {
        String name = type.getClassName();
        synchronized (Sites.class) {
            int first = add(name, Sites.Kind.ARRAY);
            for (int i = 1; i < dimensions; i++) {
                name = name.substring(0, name.length() - 2);
                add(name, Sites.Kind.ARRAY);
            }
            return first;
        }
    }

    void untracked() {
        Coverage.untracked(className + "." + methodName);
    }
}
