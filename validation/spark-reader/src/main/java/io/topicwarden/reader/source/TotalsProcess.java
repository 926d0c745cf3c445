package io.topicwarden.reader.source;

import com.fasterxml.jackson.core.type.TypeReference;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.counting.SpillStorage;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Reads offset ranges in a process without a Spark session, which takes most of its time to start.
 *
 * <p>The argument is a file with the options of {@link OffsetRangeSource} as a JSON object. Each
 * line of the output is {@code totals} and the {@link
 * io.topicwarden.reader.counting.PartitionTotals} of a partition as a task has read it, or {@code
 * failed} and the reason.
 */
public final class TotalsProcess {
  /** Spills to the folder for temporary files. */
  private static final SpillStorage TEMPORARY_FILES =
      new SpillStorage() {
        @Override
        public Path newFile() throws IOException {
          return Files.createTempFile("keys", null);
        }

        @Override
        public void onSpilled(long bytes) {
          // There are no metrics of a task.
        }
      };

  private TotalsProcess() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    Map<String, String> options =
        Json.MAPPER.readValue(new File(arguments[0]), new TypeReference<>() {});
    FileOutputStream output = new FileOutputStream(FileDescriptor.out);
    System.exit(run(options, new PrintStream(output, true, StandardCharsets.UTF_8)));
  }

  /** Returns the exit code. */
  private static int run(Map<String, String> options, PrintStream output)
      throws InterruptedException {
    ExecutorService threads =
        Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
    List<Future<List<String>>> tasks =
        options
            .get("tasks")
            .lines()
            .map(task -> threads.submit(() -> TotalsTask.read(task, options, TEMPORARY_FILES)))
            .toList();
    try {
      for (Future<List<String>> task : tasks) {
        task.get().forEach(totals -> output.println("totals " + totals));
      }
      return 0;
    } catch (ExecutionException error) {
      output.println("failed " + reason(error));
      return 1;
    }
  }

  /** Returns the first line of the first failure's message, as {@code java_errors.py} does. */
  private static String reason(Throwable error) {
    Throwable cause = error;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    String message = cause.getMessage() == null ? cause.getClass().getName() : cause.getMessage();
    return message.strip().lines().findFirst().orElse(cause.getClass().getName());
  }
}
