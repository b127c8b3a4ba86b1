package org.fathom.calls;

import java.util.Arrays;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.AdviceAdapter;

/**
 * A method that is counted:
 *
 * <pre>
 *   long begun = Calls.enter(number);
 *   try { … Calls.exit(number, begun); return; … }
 *   catch (Throwable t) { Calls.thrown(number, begun); throw t; }
 * </pre>
 *
 * A constructor begins behind the call of its superclass's, and has no handler: what it throws is
 * counted and not timed.
 */
final class Counted extends AdviceAdapter {
  private static final String CALLS = "org/fathom/calls/Calls";

  private final int number;
  private final boolean isConstructor, hasFrames;
  private final Label begin = new Label();
  private int begun, slotsBefore;
  private boolean hasBegun;

  Counted(MethodVisitor method, int access, String name, String descriptor, int number, boolean hasFrames) {
    super(Opcodes.ASM9, method, access, name, descriptor);
    this.number = number;
    this.isConstructor = name.equals("<init>");
    this.hasFrames = hasFrames;
    int slots = (access & Opcodes.ACC_STATIC) == 0 ? 1 : 0;
    for (Type argument : Type.getArgumentTypes(descriptor)) {
      slots += argument.getSize();
    }
    this.slotsBefore = slots;
  }

  @Override
  protected void onMethodEnter() {
    begun = newLocal(Type.LONG_TYPE);
    push(number);
    mv.visitMethodInsn(Opcodes.INVOKESTATIC, CALLS, "enter", "(I)J", false);
    mv.visitVarInsn(Opcodes.LSTORE, begun);
    hasBegun = true;
    if (!isConstructor) {
      mv.visitLabel(begin);
    }
  }

  @Override
  protected void onMethodExit(int opcode) {
    if (opcode != Opcodes.ATHROW && hasBegun) {
      call("exit");
    }
  }

  @Override
  public void visitMaxs(int stack, int locals) {
    // In a constructor the local begins behind branches, and frames differ from place to place.
    if (hasBegun && !isConstructor) {
      Label end = new Label();
      // Last of the handlers: those of the method itself come first.
      mv.visitTryCatchBlock(begin, end, end, null);
      mv.visitLabel(end);
      if (hasFrames && begun == slotsBefore) {
        // Whatever the method has put where its arguments were.
        Object[] frame = new Object[slotsBefore + 1];
        Arrays.fill(frame, Opcodes.TOP);
        frame[slotsBefore] = Opcodes.LONG;
        mv.visitFrame(Opcodes.F_NEW, frame.length, frame, 1, new Object[] {"java/lang/Throwable"});
      }
      call("thrown");
      mv.visitInsn(Opcodes.ATHROW);
    }
    super.visitMaxs(stack, locals);
  }

  private void call(String what) {
    mv.visitIntInsn(Opcodes.SIPUSH, number);
    mv.visitVarInsn(Opcodes.LLOAD, begun);
    mv.visitMethodInsn(Opcodes.INVOKESTATIC, CALLS, what, "(IJ)V", false);
  }
}
