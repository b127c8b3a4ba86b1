import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** A list is searched for each new element; it has become long. */
public final class LinearSearch implements Fault {
    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        reply.put("unique", unique(random, on ? 3000 : 30));
    }

    private int unique(Random random, int many) {
        List<Integer> seen = new ArrayList<>();
        for (int i = 0; i < many; i++) {
            Integer value = random.nextInt(100_000);
            if (!seen.contains(value)) seen.add(value);
        }
        return seen.size();
    }
}
