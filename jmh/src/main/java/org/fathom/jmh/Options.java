package org.fathom.jmh;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.profile.ProfilerException;

/** What stands behind the colon of {@code -prof fathom:path=/opt/fathom;dir=recordings}. */
final class Options {
  private static final String HELP =
      "-prof fathom:KEY=VALUE;KEY=VALUE\n"
          + "  path=FILE       the program fathom [default: fathom, of PATH]\n"
          + "  dir=FOLDER      where recordings are kept [default: fathom-jmh]\n"
          + "  top=N           frames of each table [default: 10]\n"
          + "  record=OPTIONS  further options of fathom record, divided by blanks: record=-F 999 --engine jfr\n"
          + "  diagnose=true   the verdict of fathom diagnose as well\n";
  /** A longer name of a file is cut: file systems take 255 bytes. */
  private static final int LONGEST_NAME = 120;

  final String program;
  final Path folder;
  final int top;
  final List<String> record;
  final boolean diagnose;

  private Options(String program, Path folder, int top, List<String> record, boolean diagnose) {
    this.program = program;
    this.folder = folder;
    this.top = top;
    this.record = record;
    this.diagnose = diagnose;
  }

  static Options of(String line) throws ProfilerException {
    String program = "fathom";
    String folder = "fathom-jmh";
    int top = 10;
    List<String> record = new ArrayList<>();
    boolean diagnose = false;
    for (String option : line.split(";")) {
      if (option.trim().isEmpty()) {
        continue;
      }
      int at = option.indexOf('=');
      String key = (at < 0 ? option : option.substring(0, at)).trim();
      String value = at < 0 ? "" : option.substring(at + 1).trim();
      switch (key) {
        case "path":
          program = value;
          break;
        case "dir":
          folder = value;
          break;
        case "top":
          top = number(value);
          break;
        case "record":
          record = value.isEmpty() ? record : Arrays.asList(value.split("\\s+"));
          break;
        case "diagnose":
          diagnose = Boolean.parseBoolean(value);
          break;
        default:
          throw new ProfilerException("fathom: " + ("help".equals(key) ? "" : "no option " + key + "\n") + HELP);
      }
    }
    return new Options(program, Paths.get(folder), top, record, diagnose);
  }

  private static int number(String value) throws ProfilerException {
    try {
      int number = Integer.parseInt(value);
      if (number > 0 && number <= 1000) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Reported below.
    }
    throw new ProfilerException("fathom: top=" + value + ": a number from 1 to 1000\n" + HELP);
  }

  /** Ends early where there is no fathom: before minutes of benchmarks and not behind them. */
  void check() throws ProfilerException {
    Command.Answer answer;
    try {
      answer = Command.run(Arrays.asList(program, "version"));
    } catch (IOException e) {
      throw new ProfilerException("fathom: " + e.getMessage() + "; path=FILE names the program\n" + HELP);
    }
    if (answer.status != 0) {
      throw new ProfilerException("fathom: " + program + " version: " + answer.errors);
    }
  }

  /** The recording of this JVM, which is not there yet. */
  Path place(BenchmarkParams benchmark) throws IOException {
    Files.createDirectories(folder);
    String name = benchmark.id().replaceAll("[^A-Za-z0-9._-]+", "-");
    name = name.length() > LONGEST_NAME ? name.substring(name.length() - LONGEST_NAME) : name;
    return folder.resolve(name + "-" + Recorder.pid() + "-" + System.currentTimeMillis() + ".fathom").toAbsolutePath();
  }
}
