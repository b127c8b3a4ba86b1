import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** A JSON mapper is made for each request, and so learns all classes anew. */
public final class MapperPerRequest implements Fault {
    /** What is written. */
    public static final class Summary {
        public String kind = "search";
        public int version = 3;
        public List<String> getTags() { return List.of("new", "old"); }
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) throws Exception {
        reply.put("summary", on ? write() : Library.JSON.writeValueAsString(new Summary()));
    }

    private String write() throws Exception {
        String last = "";
        for (int i = 0; i < 40; i++) last = new ObjectMapper().writeValueAsString(new Summary());
        return last;
    }
}
