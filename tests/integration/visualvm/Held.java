// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.graalvm.visualvm.lib.jfluid.heap.FieldValue;
import org.graalvm.visualvm.lib.jfluid.heap.GCRoot;
import org.graalvm.visualvm.lib.jfluid.heap.Heap;
import org.graalvm.visualvm.lib.jfluid.heap.HeapFactory;
import org.graalvm.visualvm.lib.jfluid.heap.Instance;
import org.graalvm.visualvm.lib.jfluid.heap.JavaClass;
import org.graalvm.visualvm.lib.jfluid.heap.ObjectArrayInstance;
import org.graalvm.visualvm.lib.jfluid.heap.ObjectFieldValue;
import org.graalvm.visualvm.lib.jfluid.heap.Value;

/**
 * What VisualVM's heap library says of a dump: Held DUMP OUT writes a line for each object.
 *
 * <p>o ID SIZE RETAINED NEAREST: an object, and the one before it on the library's path to a root, its own id
 * if it is a root, 0 if none reaches it. c ID: a class. r FROM TO: a reference that is a weak one's referent,
 * or whose object no root reaches. h FROM TO: the only reference to an object that a frame's local variable
 * holds, too.
 */
public final class Held {
    private final PrintStream out;
    private final Set<JavaClass> weak = new HashSet<>();

    private Held(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        Heap heap = HeapFactory.createHeap(new File(args[0]));
        try (PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(args[1])))) {
            new Held(out).print(heap);
        }
    }

    private void print(Heap heap) {
        for (String kind : new String[] {"Soft", "Weak", "Final", "Phantom"}) {
            JavaClass its = heap.getJavaClassByName("java.lang.ref." + kind + "Reference");
            weak.add(its);
            weak.addAll(its.getSubClasses());
        }
        Set<Long> classes = new HashSet<>();
        for (JavaClass each : heap.getAllClasses()) {
            classes.add(each.getJavaClassId());
            out.println("c " + each.getJavaClassId());
        }
        for (Iterator<Instance> i = heap.getAllInstancesIterator(); i.hasNext(); ) {
            Instance object = i.next();
            if (classes.contains(object.getInstanceId())) continue;
            Instance nearest = object.getNearestGCRootPointer();
            out.println("o " + object.getInstanceId() + " " + object.getSize() + " "
                    + object.getRetainedSize() + " " + (nearest == null ? 0 : nearest.getInstanceId()));
            printReferences(object, nearest == null && !object.isGCRoot());
            if (isLocalVariable(heap, object)) printOnlyReference(object);
        }
    }

    private static boolean isLocalVariable(Heap heap, Instance object) {
        if (!object.isGCRoot()) return false;
        for (GCRoot root : heap.getGCRoots(object)) {
            if (root.getKind().equals(GCRoot.JAVA_FRAME)) return true;
        }
        return false;
    }

    private void printOnlyReference(Instance to) {
        List<Value> references = to.getReferences();
        if (references.size() != 1) return;
        Instance from = references.get(0).getDefiningInstance();
        out.println("h " + from.getInstanceId() + " " + to.getInstanceId());
    }

    private void printReferences(Instance object, boolean unreached) {
        if (object instanceof ObjectArrayInstance) {
            if (!unreached) return;
            for (Instance to : ((ObjectArrayInstance) object).getValues()) print(object, to);
            return;
        }
        boolean special = weak.contains(object.getJavaClass());
        if (!special && !unreached) return;
        for (FieldValue value : object.getFieldValues()) {
            if (!(value instanceof ObjectFieldValue)) continue;
            boolean referent = special && value.getField().getName().equals("referent");
            if (referent || unreached) print(object, ((ObjectFieldValue) value).getInstance());
        }
    }

    private void print(Instance from, Instance to) {
        if (to != null) out.println("r " + from.getInstanceId() + " " + to.getInstanceId());
    }
}
