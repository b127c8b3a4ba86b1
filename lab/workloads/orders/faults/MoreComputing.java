/** A change of the code: each operation computes much more than it did. */
public final class MoreComputing implements Fault {
    private double score;

    public void duringOperation(int worker, boolean active) {
        score = rank(active ? 150_000 : 100);
    }

    private double rank(int rounds) {
        double sum = 0;
        for (int i = 1; i < rounds; i++) sum += Math.log(i) / i;
        return sum;
    }
}
