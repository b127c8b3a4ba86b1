import java.io.InputStream;

/** A class loader of its own for each script, of which a request runs ten. */
public final class ScriptClasses implements Fault {
    private byte[] code;

    /** What is loaded again and again. */
    public static final class Script {
        public int run(int x) { return x + 1; }
    }

    @Override public void prepare(Desk desk) throws Exception {
        try (InputStream in = ScriptClasses.class.getResourceAsStream("ScriptClasses$Script.class")) {
            code = in.readAllBytes();
        }
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        for (int i = 0; i < (on ? 10 : 0); i++) reply.append(evaluate(i));
    }

    private Object evaluate(int x) throws Exception {
        ClassLoader loader = new ClassLoader(null) {
            @Override protected Class<?> findClass(String name) {
                return defineClass(name, code, 0, code.length);
            }
        };
        Class<?> script = loader.loadClass("ScriptClasses$Script");
        return script.getMethod("run", int.class).invoke(script.getDeclaredConstructor().newInstance(), x);
    }
}
