import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/** Passwords are hashed with many more rounds. */
public final class PasswordRounds implements Fault {
    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        reply.append(login(customer, on ? 8000 : 50));
    }

    private int login(int customer, int rounds) throws Exception {
        PBEKeySpec password = new PBEKeySpec(("secret" + customer).toCharArray(), new byte[16], rounds, 256);
        return SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256").generateSecret(password).getEncoded()[0];
    }
}
