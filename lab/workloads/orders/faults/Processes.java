/** A process for each operation. */
public final class Processes implements Fault {
    public void duringOperation(int worker, boolean active) throws Exception {
        if (active) convert();
    }

    private void convert() throws Exception {
        new ProcessBuilder("/bin/true").start().waitFor();
    }
}
