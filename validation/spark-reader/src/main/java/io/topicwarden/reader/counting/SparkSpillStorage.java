package io.topicwarden.reader.counting;

import java.nio.file.Path;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;

/** Spills to Spark's local directories and reports to the metrics of the running task. */
public final class SparkSpillStorage implements SpillStorage {
  @Override
  public Path newFile() {
    return SparkEnv.get().blockManager().diskBlockManager().createTempLocalBlock()._2().toPath();
  }

  @Override
  public void onSpilled(long bytes) {
    TaskContext.get().taskMetrics().incDiskBytesSpilled(bytes);
  }
}
