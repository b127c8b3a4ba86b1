import java.util.concurrent.ForkJoinPool;
import java.util.stream.IntStream;

/** Others compute in the common pool, on which the parallel stream of each request depends. */
public final class Crunching implements Fault {
    static volatile double last;

    @Override public void changed(boolean on) {
        for (int i = 0; on && i < 4; i++) ForkJoinPool.commonPool().execute(this::crunch);
    }

    private void crunch() {
        while (Switch.on()) {
            double sum = 0;
            for (int i = 0; i < 2_000_000; i++) sum += Math.sqrt(i);
            last = sum;
        }
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) {
        reply.append(IntStream.range(0, 4000).parallel().mapToDouble(Math::sqrt).sum());
    }
}
