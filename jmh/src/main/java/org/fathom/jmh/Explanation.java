package org.fathom.jmh;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What a recording says of the measured iterations, in words: fathom's own tables,
 * one after the other.
 */
final class Explanation {
  /** JMH calls the threads that run a benchmark "org.example.Sort.quick-jmh-worker-1". */
  private static final String WORKERS = "jmh-worker-";

  private static final int POOLS = 3;

  private final Options options;
  private final String recording;
  private final String operations;
  private final int iterations;

  Explanation(Options options, Path recording, Path operations, int iterations) {
    this.options = options;
    this.recording = recording.toString();
    this.operations = operations.toString();
    this.iterations = iterations;
  }

  String text() {
    StringBuilder text = new StringBuilder();
    text.append("fathom recorded ").append(iterations).append(iterations == 1 ? " iteration" : " iterations");
    text.append(": ").append(recording).append('\n');
    text.append("\nWhat threads spent an operation on\n").append(ledger());
    part(text, "Frames", "flame", recording, "--thread", WORKERS, "--top=" + options.top);
    part(text, "What the benchmark waited for", waits());
    if (options.diagnose) {
      part(text, "Verdict", "diagnose", recording, operations);
    }
    return text.toString();
  }

  /** The whole time of two workers: all of them do the same. */
  private String[] waits() {
    return new String[] {"chain", recording, "--thread", WORKERS, "--threads", "2", "--all-time", "--stops", "0"};
  }

  /**
   * The pools of threads that lost most; of most others there is only to say that they are idle.
   */
  private String ledger() {
    String[] paragraphs = said("ledger", recording, operations, "--by", "pool").split("\n *\n");
    String shown = String.join("\n\n", Arrays.asList(paragraphs).subList(0, Math.min(paragraphs.length, 1 + POOLS)));
    String all = options.program + " ledger " + recording + " " + operations + " --by pool";
    return indented(shown) + (paragraphs.length > 1 + POOLS ? "\n" + indented("all of it: " + all) : "");
  }

  private void part(StringBuilder text, String title, String... words) {
    text.append('\n').append(title).append('\n').append(indented(said(words)));
  }

  private String said(String... words) {
    List<String> command = new ArrayList<>();
    command.add(options.program);
    command.addAll(Arrays.asList(words));
    try {
      Command.Answer answer = Command.run(command);
      return answer.output.isEmpty() ? answer.errors : answer.output;
    } catch (IOException e) {
      return "not known: " + e.getMessage();
    }
  }

  private static String indented(String text) {
    StringBuilder lines = new StringBuilder();
    for (String line : text.split("\n")) {
      lines.append(line.isEmpty() ? "" : "  ").append(line).append('\n');
    }
    return lines.toString();
  }
}
