import java.io.InputStream;

/** A class loader of its own for each operation, as script engines and templates do. */
public final class ClassLoading implements Fault {
    private byte[] code;

    /** What is loaded again and again. */
    public static final class Template {
        public int render(int x) { return x + 1; }
    }

    public void prepare(int workers) throws Exception {
        try (InputStream in = ClassLoading.class.getResourceAsStream("ClassLoading$Template.class")) {
            code = in.readAllBytes();
        }
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        for (int i = 0; i < (active ? 8 : 0); i++) evaluate();
    }

    private void evaluate() throws Exception {
        ClassLoader loader = new ClassLoader(null) {
            @Override protected Class<?> findClass(String name) {
                return defineClass(name, code, 0, code.length);
            }
        };
        Class<?> template = loader.loadClass("ClassLoading$Template");
        template.getMethod("render", int.class).invoke(template.getDeclaredConstructor().newInstance(), 1);
    }
}
