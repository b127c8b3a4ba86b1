import java.math.BigInteger;
import java.util.Random;

/** Computes powers of large numbers, as signatures with RSA do, until its standard input ends. */
public class Computing {
    static volatile BigInteger last;

    public static void main(String[] args) throws Exception {
        Thread worker = new Thread(Computing::compute, "worker");
        worker.setDaemon(true);
        worker.start();
        // Until the compilers have come to rest.
        Thread.sleep(2000);
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }

    static void compute() {
        Random random = new Random(1);
        BigInteger modulus = new BigInteger(2048, random).setBit(0).setBit(2047);
        BigInteger base = new BigInteger(2047, random);
        BigInteger exponent = new BigInteger(512, random);
        while (true) {
            last = power(base, exponent, modulus);
        }
    }

    static BigInteger power(BigInteger base, BigInteger exponent, BigInteger modulus) {
        return base.modPow(exponent, modulus);
    }
}
