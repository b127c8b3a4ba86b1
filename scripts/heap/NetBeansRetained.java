import java.io.File;
import java.util.List;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.Instance;

/**
 * Prints the objects that keep most, as the heap library of NetBeans computes it: address,
 * retained, shallow, class.
 */
public class NetBeansRetained {
  public static void main(String[] args) throws Exception {
    long begun = System.nanoTime();
    Heap heap = HeapFactory.createHeap(new File(args[0]));
    List<?> biggest = heap.getBiggestObjectsByRetainedSize(Integer.parseInt(args[1]));
    System.err.printf("seconds %.1f%n", (System.nanoTime() - begun) / 1e9);
    for (Object object : biggest) {
      Instance i = (Instance) object;
      System.out.printf("%#x %d %d %s%n", i.getInstanceId(), i.getRetainedSize(), i.getSize(), i.getJavaClass().getName());
    }
  }
}
