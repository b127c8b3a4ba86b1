/** Starts children that live for an instant each, one after the other. */
public class Forks {
    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        for (int n = 0; n < Integer.parseInt(args[0]); n++) {
            new ProcessBuilder("/bin/sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); done").start().waitFor();
            Thread burner = new Thread(Forks::burn, "burner-" + n);
            burner.start();
            burner.join();
        }
    }

    static void burn() {
        long end = System.nanoTime() + 5_000_000;
        while (System.nanoTime() < end) {
        }
    }
}
