/** A counted loop without a safepoint poll, in a thread of its own, while collections go on. */
public final class CountedLoop implements Fault {
    static volatile int result;
    static volatile byte[] garbage;

    public void prepare(int workers) {
        Faults.daemon("report-builder", () -> {
            int[] column = new int[50_000_000];
            while (true) {
                if (Service.active) result = total(column); else Thread.sleep(1);
                if (!Service.active) total(new int[1000]);
            }
        });
    }

    private static int total(int[] column) {
        int sum = 0;
        for (int round = 0; round < 1; round++)
            for (int i = 0; i < column.length; i++) sum += column[i] * 31 ^ sum >>> 3;
        return sum;
    }

    public void duringOperation(int worker, boolean active) {
        garbage = new byte[20_000];
    }
}
