/** Does nothing until it is killed. */
public class Idle {
  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    Thread.sleep(600_000);
  }
}
