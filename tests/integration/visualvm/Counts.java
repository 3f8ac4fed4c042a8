// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.io.IOException;
import org.graalvm.visualvm.lib.jfluid.heap.HeapFactory;
import org.graalvm.visualvm.lib.jfluid.heap.JavaClass;

/** How many objects of each class VisualVM's heap library finds in a dump, one line each: COUNT NAME. */
public final class Counts {
    private Counts() {}

    public static void main(String[] args) throws IOException {
        for (JavaClass each : HeapFactory.createHeap(new File(args[0])).getAllClasses()) {
            System.out.println(each.getInstancesCount() + " " + each.getName());
        }
    }
}
