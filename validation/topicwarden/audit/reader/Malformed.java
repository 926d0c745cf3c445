package topicwarden;

/** Why a record is not what was declared; or, where {@code undecided}, why that cannot be told. Holds no payload. */
final class Malformed extends Exception {
  private static final long serialVersionUID = 1;

  final boolean undecided;
  final String excerpt;

  private Malformed(String reason, String excerpt, boolean undecided) {
    super(reason, null, false, false);
    this.undecided = undecided;
    this.excerpt = excerpt;
  }

  static Malformed because(String reason, String excerpt) {
    return new Malformed(reason, excerpt, false);
  }

  static Malformed unknown(String reason) {
    return new Malformed(reason, "", true);
  }

  /** What went wrong with a schema or an expression, which hold no payload: the kind of error and its first line. */
  static String cause(Throwable error) {
    Throwable deepest = error;
    while (deepest.getCause() != null && deepest.getMessage() == null) {
      deepest = deepest.getCause();
    }
    String message = String.valueOf(deepest.getMessage()).lines().findFirst().orElse("");
    String kind = deepest.getClass().getSimpleName();
    return deepest.getMessage() == null ? kind : kind + ": " + message.substring(0, Math.min(message.length(), 200));
  }
}
