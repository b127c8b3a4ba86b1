import java.io.InputStream;
import java.util.function.IntUnaryOperator;

/** No fault: a new version of a class is loaded once, and does what the old one did. */
public final class Redeploy implements Fault {
    private volatile IntUnaryOperator tariff;
    static volatile int last;

    /** What is deployed anew. */
    public static final class Tariff implements IntUnaryOperator {
        @Override public int applyAsInt(int price) {
            int sum = price;
            for (int i = 0; i < 500; i++) sum = sum * 31 + i;
            return sum;
        }
    }

    @Override public void prepare(int workers) throws Exception {
        tariff = deploy();
    }

    @Override public void changed(boolean active) throws Exception {
        if (active) tariff = deploy();
    }

    private static IntUnaryOperator deploy() throws Exception {
        byte[] code;
        try (InputStream in = Redeploy.class.getResourceAsStream("Redeploy$Tariff.class")) {
            code = in.readAllBytes();
        }
        ClassLoader loader = new ClassLoader(null) {
            @Override protected Class<?> findClass(String name) {
                return defineClass(name, code, 0, code.length);
            }
        };
        return (IntUnaryOperator) loader.loadClass("Redeploy$Tariff").getDeclaredConstructor().newInstance();
    }

    @Override public void duringOperation(int worker, boolean active) {
        last = tariff.applyAsInt(worker);
    }
}
