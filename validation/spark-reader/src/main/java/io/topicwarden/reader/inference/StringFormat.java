package io.topicwarden.reader.inference;

import java.util.regex.Pattern;

/** The formats of JSON Schema that are looked for in strings. Stricter than the standard. */
enum StringFormat {
  UUID("uuid", 36, 36, "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
  DATE_TIME(
      "date-time",
      20,
      35,
      "(?:\\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])"
          + "|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31))"
          + "T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"),
  DATE(
      "date",
      10,
      10,
      "\\d{4}-((0[1-9]|1[0-2])-(0[1-9]|1\\d|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"),
  EMAIL("email", 6, 254, "[A-Za-z0-9_%+-]+(\\.[A-Za-z0-9_%+-]+)*@([A-Za-z0-9-]+\\.)+[A-Za-z]{2,}"),
  IPV4("ipv4", 7, 15, "((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(\\.(?!$)|$)){4}"),
  URI("uri", 5, 500, "[a-z][a-z0-9+.-]*://[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+");

  final String keyword;
  private final int minLength;
  private final int maxLength;
  private final Pattern pattern;

  StringFormat(String keyword, int minLength, int maxLength, String pattern) {
    this.keyword = keyword;
    this.minLength = minLength;
    this.maxLength = maxLength;
    this.pattern = Pattern.compile(pattern);
  }

  /** Returns whether the text has the format. The lengths spare most texts the pattern. */
  boolean matches(String text) {
    return text.length() >= minLength
        && text.length() <= maxLength
        && isCandidate(text)
        && pattern.matcher(text).matches();
  }

  private boolean isCandidate(String text) {
    return switch (this) {
      case EMAIL -> text.indexOf('@') > 0;
      case URI -> text.indexOf("://") > 0;
      default -> true;
    };
  }
}
