import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;

/** Keeps in memory the classes that a compilation makes. */
final class Outputs extends ForwardingJavaFileManager<StandardJavaFileManager> {
    private final List<ByteArrayOutputStream> made = new ArrayList<>();

    Outputs(StandardJavaFileManager files) {
        super(files);
    }

    List<byte[]> classes() {
        return made.stream().map(ByteArrayOutputStream::toByteArray).toList();
    }

    @Override public JavaFileObject getJavaFileForOutput(Location location, String name, JavaFileObject.Kind kind, FileObject from) {
        return new SimpleJavaFileObject(URI.create("memory:///" + name.replace('.', '/') + kind.extension), kind) {
            @Override public OutputStream openOutputStream() {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                made.add(out);
                return out;
            }
        };
    }
}
