package io.topicwarden.reader.codecs;

/**
 * Why a record breaks its contract or, if {@link #undecidable}, why that cannot be decided. Holds
 * no part of the record.
 */
public final class RecordFault extends Exception {
  private static final long serialVersionUID = 1;
  private static final int MAX_MESSAGE_LENGTH = 200;

  final boolean undecidable;

  /** The structure of the record, without its contents. */
  final String excerpt;

  private RecordFault(String reason, String excerpt, boolean undecidable) {
    super(reason, null, false, false); // one per invalid record: a stack trace would cost too much
    this.undecidable = undecidable;
    this.excerpt = excerpt;
  }

  /** Returns whether it cannot be decided if the record breaks its contract. */
  public boolean isUndecidable() {
    return undecidable;
  }

  static RecordFault invalid(String reason, String excerpt) {
    return new RecordFault(reason, excerpt, false);
  }

  static RecordFault undecidable(String reason) {
    return new RecordFault(reason, "", true);
  }

  /**
   * Returns the class and the first line of the message of an error in a schema or an expression.
   * Never used for errors about records, because their messages may hold payload.
   */
  static String describe(Throwable error) {
    Throwable deepest = error;
    while (deepest.getCause() != null && deepest.getMessage() == null) {
      deepest = deepest.getCause();
    }
    String kind = deepest.getClass().getSimpleName();
    if (deepest.getMessage() == null) {
      return kind;
    }
    String message = deepest.getMessage().lines().findFirst().orElse("");
    return kind + ": " + message.substring(0, Math.min(message.length(), MAX_MESSAGE_LENGTH));
  }
}
