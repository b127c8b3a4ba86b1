import java.math.BigInteger;
import java.util.Random;

/** Tickets are signed, with arithmetic of large numbers. Argument: table of the throughput. */
public final class Signatures {
    private static final BigInteger MODULUS = BigInteger.probablePrime(2048, new Random(1));
    private static final BigInteger EXPONENT = new BigInteger(2046, new Random(2));
    static volatile BigInteger last = BigInteger.TWO;

    public static void main(String[] args) throws Exception {
        Workers.start("tickets", 2, args[0], worker -> last = sign(new BigInteger(2000, new Random(worker))));
        Switch.follow(on -> { });
    }

    static BigInteger sign(BigInteger ticket) {
        return ticket.modPow(EXPONENT, MODULUS);
    }
}
