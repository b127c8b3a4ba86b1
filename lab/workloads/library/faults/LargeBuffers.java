import java.util.Map;
import java.util.Random;

/** Each request makes an array of 6 MB. */
public final class LargeBuffers implements Fault {
    static volatile byte[] last;

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        reply.put("page", page(on ? 6_000_000 : 2_000));
    }

    private int page(int bytes) {
        byte[] buffer = new byte[bytes];
        for (int i = 0; i < bytes; i += 4096) buffer[i] = 1;
        last = buffer;
        return buffer.length;
    }
}
