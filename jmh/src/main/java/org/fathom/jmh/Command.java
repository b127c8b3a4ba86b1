package org.fathom.jmh;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;

/** A program that is run to its end. */
final class Command {
  /** What it printed, and how it ended. */
  static final class Answer {
    final int status;
    final String output;
    final String errors;

    Answer(int status, String output, String errors) {
      this.status = status;
      this.output = output;
      this.errors = errors;
    }
  }

  private Command() {}

  static Answer run(List<String> words) throws IOException {
    File errors = File.createTempFile("fathom-jmh", ".err");
    try {
      Process process = new ProcessBuilder(words).redirectError(errors).start();
      process.getOutputStream().close();
      String output = text(process.getInputStream());
      int status = process.waitFor();
      return new Answer(status, output, new String(Files.readAllBytes(errors.toPath()), StandardCharsets.UTF_8));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while " + words.get(0) + " ran", e);
    } finally {
      Files.deleteIfExists(errors.toPath());
    }
  }

  private static String text(InputStream stream) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] part = new byte[8192];
    for (int n = stream.read(part); n >= 0; n = stream.read(part)) {
      all.write(part, 0, n);
    }
    return new String(all.toByteArray(), StandardCharsets.UTF_8);
  }
}
