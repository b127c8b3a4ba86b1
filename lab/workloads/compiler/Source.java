import java.net.URI;
import javax.tools.SimpleJavaFileObject;

/** A source file that is in memory. */
final class Source extends SimpleJavaFileObject {
    final String name, text;

    Source(String name, String text) {
        super(URI.create("memory:///" + name), Kind.SOURCE);
        this.name = name;
        this.text = text;
    }

    @Override public CharSequence getCharContent(boolean ignoreErrors) {
        return text;
    }
}
