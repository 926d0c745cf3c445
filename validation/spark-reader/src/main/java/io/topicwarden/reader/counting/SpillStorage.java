package io.topicwarden.reader.counting;

import java.io.IOException;
import java.nio.file.Path;

/** Where a {@link KeyTable} spills to. */
public interface SpillStorage {
  /** Returns the path of a new file, which the caller creates and deletes. */
  Path newFile() throws IOException;

  /** Reports that bytes were written to the file. */
  void onSpilled(long bytes);
}
