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
}
