// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.ObjectName;

/**
 * More allocation sites than have room in 16 bits: classes are made whose code allocates one Object at each of
 * thousands of lines, and takes its identity hash. Arguments: classes, sites of a class (at most 5,900), how
 * many objects one more place makes at last (none, if it is left out), and how many hidden classes with one
 * site each follow. Of these it says how much the VM's memory for serviceability, which has the tables of
 * sites, grew (-XX:NativeMemoryTracking=summary).
 */
public final class ManySites {
    private static final int NEW_HASH_POP = 11;  // bytes of code for each site

    private static void utf8(DataOutputStream out, String text) throws IOException {
        out.writeByte(1);
        out.writeUTF(text);
    }

    private static void reference(DataOutputStream out, int tag, int first, int second) throws IOException {
        out.writeByte(tag);
        out.writeShort(first);
        if (second != 0) out.writeShort(second);
    }

    private static void constants(DataOutputStream out, String name) throws IOException {
        out.writeShort(20);  // one more than there are
        utf8(out, name);  // 1
        reference(out, 7, 1, 0);
        utf8(out, "java/lang/Object");  // 3
        reference(out, 7, 3, 0);
        utf8(out, "<init>");  // 5
        utf8(out, "()V");
        reference(out, 12, 5, 6);  // 7
        reference(out, 10, 4, 7);
        utf8(out, "run");  // 9
        utf8(out, "Code");
        utf8(out, "LineNumberTable");  // 11
        utf8(out, "java/lang/System");
        reference(out, 7, 12, 0);  // 13
        utf8(out, "identityHashCode");
        utf8(out, "(Ljava/lang/Object;)I");  // 15
        reference(out, 12, 14, 15);
        reference(out, 10, 13, 16);  // 17
        utf8(out, "SourceFile");
        utf8(out, name + ".java");  // 19
    }

    private static void code(DataOutputStream out, int sites) throws IOException {
        int length = sites * NEW_HASH_POP + 1;
        int lines = 2 + 4 * sites;
        out.writeShort(10);
        out.writeInt(8 + length + 2 + 2 + 6 + lines);
        out.writeShort(2);  // stack
        out.writeShort(0);  // locals
        out.writeInt(length);
        for (int i = 0; i < sites; i++) {
            out.write(new byte[] {(byte) 0xBB, 0, 4, 0x59, (byte) 0xB7, 0, 8});  // new, dup, invokespecial
            out.write(new byte[] {(byte) 0xB8, 0, 17, 0x57});  // invokestatic, pop
        }
        out.writeByte(0xB1);  // return
        out.writeShort(0);
        out.writeShort(1);
        out.writeShort(11);
        out.writeInt(lines);
        out.writeShort(sites);
        for (int i = 0; i < sites; i++) {
            out.writeShort(i * NEW_HASH_POP);
            out.writeShort(i + 1);
        }
    }

    private static byte[] made(String name, int sites) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xCAFEBABE);
        out.writeInt(52);
        constants(out, name);
        out.writeShort(0x21);
        out.writeShort(2);
        out.writeShort(4);
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(1);
        out.writeShort(9);  // public static void run()
        out.writeShort(9);
        out.writeShort(6);
        out.writeShort(1);
        code(out, sites);
        out.writeShort(1);
        out.writeShort(18);
        out.writeInt(2);
        out.writeShort(19);
        return bytes.toByteArray();
    }

    static final class Last {
    }

    private static Object last() {
        return new Last();
    }

    private static long kilobytes() throws Exception {
        String all = (String) ManagementFactory.getPlatformMBeanServer().invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"), "vmNativeMemory",
            new Object[] {new String[] {"summary"}}, new String[] {String[].class.getName()});
        Matcher found = Pattern.compile("Serviceability \\(reserved=(\\d+)KB").matcher(all);
        if (!found.find()) throw new IllegalStateException(all);
        return Long.parseLong(found.group(1));
    }

    private static void hidden(int classes) throws Exception {
        byte[] code = made("Hidden", 1);
        long before = 0;
        for (int i = -1000; i < classes; i++) {
            if (i == 0) before = kilobytes();
            MethodHandles.lookup().defineHiddenClass(code, false).lookupClass().getMethod("run").invoke(null);
        }
        System.out.println(classes + " hidden classes, grown by " + (kilobytes() - before) + " KB");
    }

    public static void main(String[] args) throws Exception {
        int classes = Integer.parseInt(args[0]);
        int sites = Integer.parseInt(args[1]);
        for (int i = 0; i < classes; i++) {
            Class<?> type = MethodHandles.lookup().defineClass(made("Made" + i, sites));
            type.getMethod("run").invoke(null);
        }
        for (int i = 0; i < (args.length > 2 ? Integer.parseInt(args[2]) : 0); i++) last();
        System.out.println("made " + classes * sites);
        if (args.length > 3) hidden(Integer.parseInt(args[3]));
    }
}
