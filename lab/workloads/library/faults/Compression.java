import java.io.ByteArrayOutputStream;
import java.util.Map;
import java.util.Random;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;

/** Answers are compressed as well as can be instead of quickly, and are larger. */
public final class Compression implements Fault {
    @Override public void answer(Map<String, Object> reply, Random random, boolean on) throws Exception {
        reply.put("bytes", compress(reply.toString().repeat(on ? 400 : 2).getBytes(), on ? 9 : 1));
    }

    private int compress(byte[] text, int level) throws Exception {
        Deflater deflater = new Deflater(level);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DeflaterOutputStream out = new DeflaterOutputStream(bytes, deflater)) {
            out.write(text);
        } finally {
            deflater.end();
        }
        return bytes.size();
    }
}
