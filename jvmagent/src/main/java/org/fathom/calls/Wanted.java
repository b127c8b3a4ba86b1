package org.fathom.calls;

/**
 * Methods that are meant: class and name with {@code *} for any characters, and a
 * descriptor where it matters.
 */
final class Wanted {
  private final String type, name, descriptor;

  /** An empty descriptor means any. */
  Wanted(String type, String name, String descriptor) {
    this.type = type;
    this.name = name;
    this.descriptor = descriptor;
  }

  /**
   * Whether methods of a class may be meant, by its name with dots. One without a package and
   * without {@code *} is of any package.
   */
  boolean isOf(String className) {
    if (fits(type, className)) {
      return true;
    }
    boolean isSimple = type.indexOf('.') < 0 && type.indexOf('*') < 0;
    return isSimple && className.substring(className.lastIndexOf('.') + 1).equals(type);
  }

  boolean means(String method, String signature) {
    return fits(name, method) && (descriptor.isEmpty() || fits(descriptor, signature));
  }

  /** Whether a text fits a pattern in which {@code *} stands for any characters. */
  static boolean fits(String pattern, String text) {
    int p = 0, t = 0, behindStar = -1, from = 0;
    while (t < text.length()) {
      if (p < pattern.length() && pattern.charAt(p) == '*') {
        behindStar = ++p;
        from = t;
      } else if (p < pattern.length() && pattern.charAt(p) == text.charAt(t)) {
        p++;
        t++;
      } else if (behindStar >= 0) {
        p = behindStar;
        t = ++from;
      } else {
        return false;
      }
    }
    while (p < pattern.length() && pattern.charAt(p) == '*') {
      p++;
    }
    return p == pattern.length();
  }
}
