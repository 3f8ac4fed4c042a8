// SPDX-License-Identifier: Apache-2.0
package anttracks.instrument.weaver;

import anttracks.instrument.recorder.Settings.Mode;
import anttracks.instrument.recorder.Sites;
import java.util.IdentityHashMap;
import java.util.Map;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.AnalyzerAdapter;

/**
 * Inserts the calls of the recorder into one method. They go to `mv` directly: they leave stack and locals as
 * they find them, so that what the analyzer knows stays true. Nothing is inserted ahead of a `new`,
 * whose address frames name.
 */
final class MethodWeaver extends AnalyzerAdapter {
    private static final String RECORDER = "anttracks/instrument/recorder/Recorder";
    private static final Type OBJECT = Type.getObjectType("java/lang/Object");

    private final Mode mode;
    private final SiteMaker sites;
    private final boolean constructor;
    private final int freeLocal;
    /**
     * The site of each object that is not constructed yet, by the label that the verifier's types name it by.
     */
    private final Map<Object, Integer> constructing = new IdentityHashMap<>();

    MethodWeaver(Mode mode, SiteMaker sites, int access, String name, String descriptor, MethodVisitor out,
            int freeLocal) {
        super(Weaver.API, "java/lang/Object", access, name, descriptor, out);
        this.mode = mode;
        this.sites = sites;
        constructor = name.equals("<init>");
        this.freeLocal = freeLocal;
    }

    @Override public void visitLabel(Label label) {
        sites.at(label);
        super.visitLabel(label);
    }

    @Override public void visitLineNumber(int line, Label start) {
        sites.line(line);
        super.visitLineNumber(line, start);
    }

    private void callRecorder(String method, String descriptor) {
        mv.visitMethodInsn(Opcodes.INVOKESTATIC, RECORDER, method, descriptor, false);
    }

    private void push(int value) {
        if (value <= Short.MAX_VALUE) mv.visitIntInsn(Opcodes.SIPUSH, value);
        else mv.visitLdcInsn(value);
    }

    /** Tells the recorder of the object on top of the stack. */
    private void tell(String method, int site) {
        mv.visitInsn(Opcodes.DUP);
        push(site);
        callRecorder(method, "(Ljava/lang/Object;I)V");
    }

    private void tellArray(int site) {
        tell(mode == Mode.COUNT ? "countClone" : "allocatedArray", site);
    }

    private void tellObject(int site) {
        tell(mode == Mode.COUNT ? "countObject" : "allocated", site);
    }

    /**
     * The stack's entry so many slots below the top; null when it is not known, as in classes without frames.
     */
    private Object below(int slots) {
        return stack == null || stack.size() <= slots ? null : stack.get(stack.size() - 1 - slots);
    }

    /** Inserts a use of the reference that lies beneath values of the types given. */
    private void use(Type... above) {
        int slots = 0;
        for (Type type : above) slots += type.getSize();
        Object receiver = below(slots);
        boolean raw = receiver instanceof Label || receiver == Opcodes.UNINITIALIZED_THIS;
        if (mode != Mode.DRAG || raw || constructor && stack == null) return;
        int local = freeLocal + slots;
        for (int i = above.length - 1; i >= 0; i--) {
            local -= above[i].getSize();
            mv.visitVarInsn(above[i].getOpcode(Opcodes.ISTORE), local);
        }
        mv.visitInsn(Opcodes.DUP);
        callRecorder("used", "(Ljava/lang/Object;)V");
        for (Type type : above) {
            mv.visitVarInsn(type.getOpcode(Opcodes.ILOAD), local);
            if (type.getSort() >= Type.ARRAY) {
                // The interpreter takes a local for a root as long as it holds a reference.
                mv.visitInsn(Opcodes.ACONST_NULL);
                mv.visitVarInsn(Opcodes.ASTORE, local);
            }
            local += type.getSize();
        }
    }

    @Override public void visitTypeInsn(int opcode, String type) {
        if (opcode == Opcodes.ANEWARRAY) {
            makeArray(Type.getType("[" + Type.getObjectType(type).getDescriptor()),
                    () -> super.visitTypeInsn(opcode, type));
            return;
        }
        super.visitTypeInsn(opcode, type);
        if (opcode != Opcodes.NEW) return;
        int site = sites.addInstance(type);
        if (mode == Mode.COUNT) {
            push(site);
            callRecorder("count", "(I)V");
        } else if (stack == null) {
            sites.untracked();
        } else {
            constructing.put(below(0), site);
        }
    }

    @Override public void visitIntInsn(int opcode, int operand) {
        if (opcode != Opcodes.NEWARRAY) {
            super.visitIntInsn(opcode, operand);
            return;
        }
        String elements = "ZCFDBSIJ";
        Type type = Type.getType("[" + elements.charAt(operand - Opcodes.T_BOOLEAN));
        makeArray(type, () -> super.visitIntInsn(opcode, operand));
    }

    private void makeArray(Type type, Runnable instruction) {
        int site = sites.addArray(type);
        if (mode == Mode.COUNT) {
            mv.visitInsn(Opcodes.DUP);
            push(site);
            callRecorder("countArray", "(II)V");
        }
        instruction.run();
        if (mode != Mode.COUNT) tellArray(site);
    }

    @Override public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
        super.visitMultiANewArrayInsn(descriptor, dimensions);
        mv.visitInsn(Opcodes.DUP);
        push(dimensions);
        push(sites.addArrays(Type.getType(descriptor), dimensions));
        callRecorder("multi", "(Ljava/lang/Object;II)V");
    }

    @Override public void visitMethodInsn(int opcode, String owner, String name, String descriptor,
            boolean inInterface) {
        Type[] arguments = Type.getArgumentTypes(descriptor);
        if (name.equals("<init>")) {
            construct(arguments, () -> super.visitMethodInsn(opcode, owner, name, descriptor, inInterface));
            return;
        }
        if (opcode != Opcodes.INVOKESTATIC) use(arguments);
        super.visitMethodInsn(opcode, owner, name, descriptor, inInterface);
        if (!name.equals("clone") || arguments.length > 0) return;
        if (owner.startsWith("[")) tellArray(sites.addArray(Type.getObjectType(owner)));
        else if (opcode == Opcodes.INVOKESPECIAL && owner.equals("java/lang/Object")) {
            tellObject(sites.add("clone", Sites.Kind.CLONE));
        }
    }

    /** A constructor call; afterwards the object is where a copy of the reference was before. */
    private void construct(Type[] arguments, Runnable call) {
        int slots = 0;
        for (Type type : arguments) slots += type.getSize();
        Object receiver = below(slots);
        Integer site = receiver == null ? null : constructing.get(receiver);
        boolean beneath = site != null && below(slots + 1) == receiver;
        int local = site == null || locals == null ? -1 : locals.indexOf(receiver);
        call.run();
        if (site == null) return;
        if (beneath) {
            tellObject(site);
        } else if (local >= 0) {
            mv.visitVarInsn(Opcodes.ALOAD, local);
            push(site);
            callRecorder("allocated", "(Ljava/lang/Object;I)V");
        } else {
            sites.untracked();
        }
    }

    /**
     * A lambda that captures something is a new object each time;
     * its class is hidden and has no code to instrument.
     */
    @Override public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap,
            Object... arguments) {
        super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
        boolean lambda = bootstrap.getOwner().equals("java/lang/invoke/LambdaMetafactory");
        if (lambda && !descriptor.startsWith("()")) {
            tellObject(sites.addInstance(Type.getReturnType(descriptor).getInternalName() + "$$Lambda"));
        }
    }

    @Override public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
        if (opcode == Opcodes.GETFIELD) use();
        if (opcode == Opcodes.PUTFIELD) use(Type.getType(descriptor));
        super.visitFieldInsn(opcode, owner, name, descriptor);
    }

    @Override public void visitInsn(int opcode) {
        switch (opcode) {
            case Opcodes.ARRAYLENGTH: case Opcodes.MONITORENTER: case Opcodes.MONITOREXIT: case Opcodes.ATHROW:
                use();
                break;
            case Opcodes.IALOAD: case Opcodes.LALOAD: case Opcodes.FALOAD: case Opcodes.DALOAD:
            case Opcodes.AALOAD: case Opcodes.BALOAD: case Opcodes.CALOAD: case Opcodes.SALOAD:
                use(Type.INT_TYPE);
                break;
            case Opcodes.IASTORE: case Opcodes.BASTORE: case Opcodes.CASTORE: case Opcodes.SASTORE:
                use(Type.INT_TYPE, Type.INT_TYPE);
                break;
            case Opcodes.LASTORE:
                use(Type.INT_TYPE, Type.LONG_TYPE);
                break;
            case Opcodes.FASTORE:
                use(Type.INT_TYPE, Type.FLOAT_TYPE);
                break;
            case Opcodes.DASTORE:
                use(Type.INT_TYPE, Type.DOUBLE_TYPE);
                break;
            case Opcodes.AASTORE:
                use(Type.INT_TYPE, OBJECT);
                break;
            default:
                break;
        }
        super.visitInsn(opcode);
    }
}
