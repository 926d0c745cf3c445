package io.topicwarden.reader.fields;

/** Why a field of a record has no canonical form. Holds no part of the record. */
final class Unjudged extends Exception {
  private static final long serialVersionUID = 1;

  Unjudged(String reason) {
    super(reason, null, false, false); // one per record: a stack trace would cost too much
  }
}
