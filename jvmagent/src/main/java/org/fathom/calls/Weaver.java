package org.fathom.calls;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.ref.WeakReference;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Consumer;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Weaves calls of {@link Calls} into methods that are meant, and takes them out again: a class that
 * is transformed anew without this transformer is as it was.
 *
 * <p>A class whose loader does not find {@link Calls} is left alone, as its methods could not call
 * it. A loader is asked on the session's own thread, never while it loads.
 */
final class Weaver implements ClassFileTransformer {
  /**
   * Classes that the JVM is asked to transform at once: it stops all threads for each such group.
   */
  private static final int GROUP = 64;
  /** Classes that are transformed at most. More fit a pattern that is too wide to be of use. */
  private static final int MOST_CLASSES = 512;
  /** What counting itself calls before it can know that it is at it. */
  private static final List<String> NOT_OURS_TO_TOUCH =
      Arrays.asList("java.lang.Thread", "java.lang.ThreadLocal", "java.lang.VirtualThread", "java.lang.Object", "java.lang.System");

  private static final List<String> NOT_THESE =
      Arrays.asList("org.fathom.calls.", "java.lang.ref.", "java.lang.invoke.", "java.lang.instrument.", "sun.instrument.");

  private final Instrumentation instrumentation;
  private final List<Wanted> wanted;
  private final Consumer<String> news;
  /** Names of methods by number. */
  private final List<String> names = new ArrayList<>();

  private final Map<String, Integer> numbers = new HashMap<>();
  private final Set<Integer> letGoOf = new HashSet<>();
  private final Map<ClassLoader, Boolean> loaders = new WeakHashMap<>();
  private final List<WeakReference<Class<?>>> woven = new ArrayList<>();
  /** Classes that have been looked at. */
  private final Map<Class<?>, Boolean> looked = new WeakHashMap<>();

  private final Set<String> refused = new HashSet<>();
  private int leftOut;
  private volatile boolean isOver, lookAgain;

  Weaver(Instrumentation instrumentation, List<Wanted> wanted, Consumer<String> news) {
    this.instrumentation = instrumentation;
    this.wanted = wanted;
    this.news = news;
  }

  /** Weaves into what is loaded, and into what will be. */
  void begin() {
    instrumentation.addTransformer(this, true);
    weaveLoaded();
  }

  /** Whether classes were loaded whose loaders have to be asked first. */
  void lookAgainIfNeeded() {
    if (lookAgain) {
      lookAgain = false;
      weaveLoaded();
    }
  }

  private synchronized void weaveLoaded() {
    if (isOver) {
      return;
    }
    List<Class<?>> meant = new ArrayList<>();
    for (Class<?> type : instrumentation.getAllLoadedClasses()) {
      String name = type.getName();
      if (!isMeant(name) || type.isArray() || looked.put(type, true) != null) {
        continue;
      }
      if (isNotToBeTouched(name)) {
        refuse(name, "counting itself goes through it");
      } else if (!instrumentation.isModifiableClass(type)) {
        refuse(name, "the JVM lets nobody change this class");
      } else if (!finds(type.getClassLoader())) {
        refuse(name, "its class loader does not find classes of the boot loader");
      } else if (looked.size() > MOST_CLASSES) {
        refuse(name, "more than " + MOST_CLASSES + " classes fit: write a narrower pattern");
      } else {
        meant.add(type);
      }
    }
    transform(meant);
  }


  private void transform(List<Class<?>> types) {
    for (int at = 0; at < types.size(); at += GROUP) {
      List<Class<?>> group = types.subList(at, Math.min(types.size(), at + GROUP));
      try {
        instrumentation.retransformClasses(group.toArray(new Class<?>[0]));
      } catch (UnmodifiableClassException | RuntimeException | LinkageError | InternalError one) {
        // One of them spoils it for all.
        for (Class<?> type : group) {
          try {
            instrumentation.retransformClasses(type);
          } catch (UnmodifiableClassException | RuntimeException | LinkageError | InternalError failed) {
            refuse(type.getName(), "the JVM says: " + failed);
          }
        }
      }
    }
  }

  private boolean isMeant(String className) {
    for (Wanted one : wanted) {
      if (one.isOf(className)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isNotToBeTouched(String className) {
    for (String one : NOT_OURS_TO_TOUCH) {
      if (className.equals(one) || className.startsWith(one + "$")) {
        return true;
      }
    }
    for (String some : NOT_THESE) {
      if (className.startsWith(some)) {
        return true;
      }
    }
    return false;
  }

  /** Whether a loader finds the class that woven methods call. */
  private boolean finds(ClassLoader loader) {
    if (loader == null) {
      return true;
    }
    Boolean known;
    synchronized (loaders) {
      known = loaders.get(loader);
    }
    if (known == null) {
      try {
        known = Class.forName(Calls.class.getName(), false, loader) == Calls.class;
      } catch (ClassNotFoundException | LinkageError | RuntimeException not) {
        known = false;
      }
      synchronized (loaders) {
        loaders.put(loader, known);
      }
    }
    return known;
  }

  @Override
  public byte[] transform(ClassLoader loader, String name, Class<?> before, ProtectionDomain domain, byte[] bytes) {
    try {
      String className = name == null ? "" : name.replace('/', '.');
      if (isOver || !isMeant(className) || isNotToBeTouched(className)) {
        return null;
      }
      Boolean finds = true;
      if (loader != null) {
        synchronized (loaders) {
          finds = loaders.get(loader);
        }
      }
      if (finds == null) {
        lookAgain = true;
      }
      if (before == null) {
        // It is woven as soon as it is a class: the session must know it to be
        // able to take it back.
        lookAgain = true;
        return null;
      }
      return finds != null && finds ? weave(className, before, bytes) : null;
    } catch (RuntimeException | LinkageError | StackOverflowError failed) {
      refuse(name, failed.toString());
      return null;
    }
  }

  private byte[] weave(String className, Class<?> type, byte[] bytes) {
    ClassReader reader = new ClassReader(bytes);
    // Frames of the class are kept, and one is written for the handler: no class
    // is looked up for them.
    ClassWriter writer = new Writer(reader);
    boolean[] any = {false};
    ClassVisitor weaving = new ClassVisitor(Opcodes.ASM9, writer) {
      @Override
      public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
        MethodVisitor method = super.visitMethod(access, name, descriptor, signature, exceptions);
        boolean hasCode = (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) == 0 && !name.equals("<clinit>");
        int number = means(className, name, descriptor) ? number(className, name, descriptor, hasCode) : -1;
        if (number < 0) {
          return method;
        }
        any[0] = true;
        return new Counted(method, access, name, descriptor, number, (reader.readUnsignedShort(6)) >= Opcodes.V1_6);
      }
    };
    reader.accept(weaving, ClassReader.EXPAND_FRAMES);
    if (!any[0]) {
      return null;
    }
    synchronized (names) {
      boolean isKnown = false;
      for (WeakReference<Class<?>> known : woven) {
        isKnown |= known.get() == type;
      }
      if (!isKnown) {
        woven.add(new WeakReference<Class<?>>(type));
      }
    }
    return writer.toByteArray();
  }

  private boolean means(String className, String name, String descriptor) {
    for (Wanted one : wanted) {
      if (one.isOf(className) && one.means(name, descriptor)) {
        return true;
      }
    }
    return false;
  }

  /** The number of a method that is counted; -1: it is not. */
  private int number(String className, String name, String descriptor, boolean hasCode) {
    String full = className + "::" + name + descriptor;
    if (!hasCode) {
      if (!name.equals("<clinit>")) {
        refuse(full, "it has no bytecode: it is native or abstract");
      }
      return -1;
    }
    synchronized (names) {
      Integer number = numbers.get(full);
      if (number == null) {
        if (names.size() == Calls.MOST_METHODS) {
          leftOut++;
          return -1;
        }
        number = names.size();
        names.add(full);
        numbers.put(full, number);
      }
      return letGoOf.contains(number) ? -1 : number;
    }
  }

  /** What cannot be counted is said once. */
  private void refuse(String what, String why) {
    synchronized (refused) {
      if (refused.size() >= 64 || !refused.add(what)) {
        return;
      }
    }
    news.accept("refused\t" + Session.plain(what) + "\t" + Session.plain(why));
  }

  List<String> names() {
    synchronized (names) {
      return new ArrayList<>(names);
    }
  }

  int leftOut() {
    synchronized (names) {
      return leftOut;
    }
  }

  boolean isLetGoOf(int number) {
    synchronized (names) {
      return letGoOf.contains(number);
    }
  }

  /** Takes the calls out of one method. */
  synchronized void letGoOf(int number) {
    if (isOver) {
      return;
    }
    String name;
    synchronized (names) {
      letGoOf.add(number);
      name = names.get(number);
    }
    String className = name.substring(0, name.indexOf("::"));
    List<Class<?>> types = new ArrayList<>();
    for (Class<?> type : wovenClasses()) {
      if (type.getName().equals(className)) {
        types.add(type);
      }
    }
    transform(types);
  }

  private List<Class<?>> wovenClasses() {
    List<Class<?>> types = new ArrayList<>();
    synchronized (names) {
      for (WeakReference<Class<?>> type : woven) {
        Class<?> there = type.get();
        if (there != null) {
          types.add(there);
        }
      }
    }
    return types;
  }

  /** Makes all classes as they were. */
  synchronized void end() {
    if (isOver) {
      return;
    }
    isOver = true;
    instrumentation.removeTransformer(this);
    List<Class<?>> types = wovenClasses();
    Collections.reverse(types);
    transform(types);
  }

  /** Where it must know a common superclass (for jumps over 32 KB) the most general will do. */
  private static final class Writer extends ClassWriter {
    Writer(ClassReader reader) {
      super(reader, COMPUTE_MAXS);
    }

    @Override
    protected String getCommonSuperClass(String one, String other) {
      return "java/lang/Object";
    }
  }
}
