import java.util.ArrayList;
import java.util.List;

/** Operations that allocate much and keep it for a moment. */
public final class AllocationRate implements Fault {
    public void duringOperation(int worker, boolean active) throws Exception {
        if (active) copyAll();
    }

    private int copyAll() throws Exception {
        List<byte[]> copies = new ArrayList<>();
        for (int i = 0; i < 3000; i++) copies.add(new byte[1024]);
        Thread.sleep(5);
        return copies.size();
    }
}
