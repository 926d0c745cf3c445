package io.topicwarden.reader.codecs;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Translates regular expressions of ECMA-262 in Unicode mode, which JSON Schema requires, for
 * {@link Pattern}.
 *
 * <p>{@code $}, {@code .}, {@code \s}, {@code \b} and character classes have another meaning in
 * Java. Escaped ASCII punctuation such as {@code \-}, which Unicode mode refuses, is accepted.
 * Refused are lookbehind, and references to a group that may not have matched yet: in ECMA-262 they
 * match the empty text, in Java nothing. {@code specs/record_schemas/json_schema.py} accepts the
 * same expressions.
 */
final class EcmaPattern {
  /** The number of characters that a match may read, because backtracking may take forever. */
  static final long MAX_STEPS = 10_000_000;

  private static final int MAX_DEPTH = 100;
  private static final String SPACE =
      "\\t\\n\\x0B\\f\\r \\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}";
  private static final String WORD = "[0-9A-Za-z_]";
  private static final String BOUNDARY =
      "(?:(?<=" + WORD + ")(?!" + WORD + ")|(?<!" + WORD + ")(?=" + WORD + "))";
  private static final String NOT_BOUNDARY =
      "(?:(?<=" + WORD + ")(?=" + WORD + ")|(?<!" + WORD + ")(?!" + WORD + "))";
  private static final Map<String, String> CATEGORIES =
      Map.ofEntries(
          Map.entry("Letter", "L"),
          Map.entry("Lowercase_Letter", "Ll"),
          Map.entry("Uppercase_Letter", "Lu"),
          Map.entry("Titlecase_Letter", "Lt"),
          Map.entry("Modifier_Letter", "Lm"),
          Map.entry("Other_Letter", "Lo"),
          Map.entry("Mark", "M"),
          Map.entry("Nonspacing_Mark", "Mn"),
          Map.entry("Spacing_Mark", "Mc"),
          Map.entry("Enclosing_Mark", "Me"),
          Map.entry("Number", "N"),
          Map.entry("Decimal_Number", "Nd"),
          Map.entry("digit", "Nd"),
          Map.entry("Letter_Number", "Nl"),
          Map.entry("Other_Number", "No"),
          Map.entry("Punctuation", "P"),
          Map.entry("punct", "P"),
          Map.entry("Connector_Punctuation", "Pc"),
          Map.entry("Dash_Punctuation", "Pd"),
          Map.entry("Open_Punctuation", "Ps"),
          Map.entry("Close_Punctuation", "Pe"),
          Map.entry("Initial_Punctuation", "Pi"),
          Map.entry("Final_Punctuation", "Pf"),
          Map.entry("Other_Punctuation", "Po"),
          Map.entry("Symbol", "S"),
          Map.entry("Math_Symbol", "Sm"),
          Map.entry("Currency_Symbol", "Sc"),
          Map.entry("Modifier_Symbol", "Sk"),
          Map.entry("Other_Symbol", "So"),
          Map.entry("Separator", "Z"),
          Map.entry("Space_Separator", "Zs"),
          Map.entry("Line_Separator", "Zl"),
          Map.entry("Paragraph_Separator", "Zp"),
          Map.entry("Other", "C"),
          Map.entry("Control", "Cc"),
          Map.entry("Format", "Cf"),
          Map.entry("Surrogate", "Cs"),
          Map.entry("Private_Use", "Co"));
  private static final Set<String> SCRIPTS =
      Set.of(
          "Arabic",
          "Armenian",
          "Bengali",
          "Cyrillic",
          "Devanagari",
          "Ethiopic",
          "Georgian",
          "Greek",
          "Gujarati",
          "Gurmukhi",
          "Han",
          "Hangul",
          "Hebrew",
          "Hiragana",
          "Kannada",
          "Katakana",
          "Khmer",
          "Lao",
          "Latin",
          "Malayalam",
          "Mongolian",
          "Myanmar",
          "Oriya",
          "Sinhala",
          "Tamil",
          "Telugu",
          "Thai",
          "Tibetan");
  private static final Map<String, String> BINARY =
      Map.of(
          "ASCII",
          "\\p{ASCII}",
          "Any",
          "\\x{0}-\\x{10FFFF}",
          "Alphabetic",
          "\\p{IsAlphabetic}",
          "Lowercase",
          "\\p{IsLowercase}",
          "Uppercase",
          "\\p{IsUppercase}",
          "White_Space",
          "\\p{IsWhite_Space}");

  private final String text;
  private final StringBuilder java = new StringBuilder();
  private final Map<String, Integer> groups = new HashMap<>(); // the numbers of named groups
  private final Set<Integer> matched = new HashSet<>(); // the groups that took part in any match
  private final Deque<Level> levels = new ArrayDeque<>();
  private int groupCount;
  private int at;

  /** The text up to here in a pair of brackets, or outside of all. */
  private static final class Level {
    private final int number; // of the group, or 0
    private final boolean negated;
    private final Set<Integer> inside = new HashSet<>();
    private boolean alternatives;

    Level(int number, boolean negated) {
      this.number = number;
      this.negated = negated;
    }
  }

  private EcmaPattern(String text) {
    this.text = text;
  }

  /** Compiles an expression; throws {@link PatternSyntaxException} if it is not supported. */
  static Pattern compile(String text) {
    try {
      return Pattern.compile(new EcmaPattern(text).translate());
    } catch (StackOverflowError error) {
      throw new PatternSyntaxException("nested too deeply", text, 0);
    }
  }

  /**
   * Returns whether {@code value} has a match; throws {@link TooManyStepsException} at the limit.
   */
  static boolean find(Pattern pattern, String value) {
    return pattern.matcher(new StepLimitedText(value)).find();
  }

  /** A match read more than {@link #MAX_STEPS} characters. */
  static final class TooManyStepsException extends RuntimeException {
    private static final long serialVersionUID = 1;

    TooManyStepsException() {
      super("a regular expression took more than " + MAX_STEPS + " steps", null, false, false);
    }
  }

  /** Limits how many characters a match can read. */
  private static final class StepLimitedText implements CharSequence {
    private final String text;
    private long steps;

    StepLimitedText(String text) {
      this.text = text;
    }

    @Override
    public char charAt(int index) {
      if (++steps > MAX_STEPS) {
        throw new TooManyStepsException();
      }
      return text.charAt(index);
    }

    @Override
    public int length() {
      return text.length();
    }

    @Override
    public CharSequence subSequence(int start, int end) {
      return text.subSequence(start, end);
    }

    @Override
    public String toString() {
      return text;
    }
  }

  private String translate() {
    boolean repeatable = false;
    levels.push(new Level(0, false));
    Set<Integer> last = Set.of(); // the groups in what a quantifier would repeat
    while (at < text.length()) {
      char next = text.charAt(at);
      if (isQuantifier()) {
        if (!repeatable) {
          throw invalid("nothing to repeat");
        }
        if (text.substring(at).matches("(?s)([*?]|[{]0+[,}]).*")) {
          matched.removeAll(last);
        }
        quantifier();
        repeatable = false;
        continue;
      }
      last = Set.of();
      repeatable = next != '(' && next != '|' && next != '^' && next != '$';
      switch (next) {
        case '\\' -> escape();
        case '[' -> characterClass();
        case '(' -> group();
        case ')' -> last = endOfGroup();
        case '|' -> nextAlternative();
        case '$' -> literal("\\z");
        case '.' -> literal("[^\\n\\r\\x{2028}\\x{2029}]");
        case '{', '}', ']' -> literal("\\" + next); // Annex B allows these as literals
        default -> literal(String.valueOf(next));
      }
    }
    return java.toString();
  }

  private void literal(String translation) {
    java.append(translation);
    at++;
  }

  private PatternSyntaxException invalid(String reason) {
    return new PatternSyntaxException(reason, text, at);
  }

  private boolean isQuantifier() {
    char next = text.charAt(at);
    if (next != '{') {
      return next == '*' || next == '+' || next == '?';
    }
    int end = text.indexOf('}', at);
    return end > 0 && text.substring(at + 1, end).matches("[0-9]+(,[0-9]*)?");
  }

  private void quantifier() {
    int end = text.charAt(at) == '{' ? text.indexOf('}', at) + 1 : at + 1;
    if (end < text.length() && text.charAt(end) == '?') {
      end++;
    }
    java.append(text, at, end);
    at = end;
  }

  private void nextAlternative() {
    Level level = levels.peek();
    level.alternatives = true;
    matched.removeAll(level.inside);
    literal("|");
  }

  /** Returns the groups in the one that ends. */
  private Set<Integer> endOfGroup() {
    literal(")");
    Level level = levels.pop();
    if (levels.isEmpty()) {
      throw invalid("a group ends that did not begin");
    }
    if (level.alternatives || level.negated) {
      matched.removeAll(level.inside);
    }
    if (level.number > 0) {
      level.inside.add(level.number);
      matched.add(level.number);
    }
    levels.peek().inside.addAll(level.inside);
    return level.inside;
  }

  private void reference(String digits) {
    if (digits.length() > 9 || !matched.contains(Integer.valueOf(digits))) {
      throw invalid("a reference to a group that may not have matched");
    }
    java.append("(?:\\").append(digits).append(')');
  }

  private void group() {
    if (levels.size() > MAX_DEPTH) {
      throw invalid("nested too deeply");
    }
    if (!text.startsWith("(?", at)) {
      levels.push(new Level(++groupCount, false));
      literal("(");
      return;
    }
    for (String opening : new String[] {"(?:", "(?=", "(?!"}) {
      if (text.startsWith(opening, at)) {
        levels.push(new Level(0, opening.equals("(?!")));
        java.append(opening);
        at += opening.length();
        return;
      }
    }
    if (!text.startsWith("(?<", at) || text.startsWith("(?<=", at) || text.startsWith("(?<!", at)) {
      throw invalid("a group of this kind is not supported");
    }
    if (groups.put(groupName(at + 2), ++groupCount) != null) {
      throw invalid("two groups of one name");
    }
    levels.push(new Level(groupCount, false));
    java.append('(');
  }

  /** Reads {@code <name>} at {@code start}. */
  private String groupName(int start) {
    int end = text.indexOf('>', start);
    if (end < 0 || !text.substring(start, end).matches("<[A-Za-z_][A-Za-z0-9_]*")) {
      throw invalid("not the name of a group");
    }
    at = end + 1;
    return text.substring(start + 1, end);
  }

  /** Translates an escape outside of a character class. */
  private void escape() {
    char kind = escapedChar();
    if (kind == 'b' || kind == 'B') {
      java.append(kind == 'b' ? BOUNDARY : NOT_BOUNDARY);
      at += 2;
    } else if (kind >= '1' && kind <= '9') {
      int end = at + 2;
      while (end < text.length() && Character.digit(text.charAt(end), 10) >= 0) {
        end++;
      }
      reference(text.substring(at + 1, end));
      at = end;
    } else if (kind == 'k') {
      Integer number = groups.get(groupName(at + 2));
      if (number == null) {
        throw invalid("no group of this name before");
      }
      reference(number.toString());
    } else {
      String set = characterSet(kind);
      if (set == null) {
        java.append(character());
      } else {
        java.append('[').append(set).append(']');
      }
    }
  }

  private char escapedChar() {
    if (at + 1 >= text.length()) {
      throw invalid("an escape of nothing");
    }
    return text.charAt(at + 1);
  }

  /**
   * Reads an escape for a set of characters, such as {@code \d}. Returns the set for use within
   * brackets, or null if the escape is for one character.
   */
  private String characterSet(char kind) {
    String set =
        switch (kind) {
          case 'd' -> "0-9";
          case 'D' -> "[^0-9]";
          case 'w' -> "0-9A-Za-z_";
          case 'W' -> "[^0-9A-Za-z_]";
          case 's' -> SPACE;
          case 'S' -> "[^" + SPACE + "]";
          default -> null;
        };
    if (set != null) {
      at += 2;
      return set;
    }
    if (kind != 'p' && kind != 'P') {
      return null;
    }
    int end = text.indexOf('}', at);
    if (end < 0 || text.charAt(at + 2) != '{') {
      throw invalid("not a property");
    }
    String property = property(text.substring(at + 3, end));
    at = end + 1;
    return kind == 'p' ? property : "[^" + property + "]";
  }

  private String property(String name) {
    String value = name.substring(name.indexOf('=') + 1);
    boolean script = name.startsWith("Script=") || name.startsWith("sc=");
    if (script && SCRIPTS.contains(value)) {
      return "\\p{Is" + value + "}";
    }
    boolean category =
        value.equals(name) || name.startsWith("General_Category=") || name.startsWith("gc=");
    if (category && CATEGORIES.containsKey(value)) {
      return "\\p{" + CATEGORIES.get(value) + "}";
    }
    if (category && CATEGORIES.containsValue(value)) {
      return "\\p{" + value + "}";
    }
    if (!BINARY.containsKey(name)) {
      throw invalid("a property that is not supported");
    }
    return BINARY.get(name);
  }

  /** Reads an escape for one character. */
  private String character() {
    char kind = escapedChar();
    int length = 2;
    int code =
        switch (kind) {
          case 't' -> '\t';
          case 'n' -> '\n';
          case 'v' -> 0x0B;
          case 'f' -> '\f';
          case 'r' -> '\r';
          case '0' -> 0;
          case 'c' -> {
            length = 3;
            yield at + 2 < text.length()
                    && Character.isLetter(text.charAt(at + 2))
                    && text.charAt(at + 2) < 0x80
                ? text.charAt(at + 2) % 32
                : -1;
          }
          case 'x' -> {
            length = 4;
            yield hexadecimal(at + 2, at + 4);
          }
          case 'u' -> {
            if (text.startsWith("{", at + 2)) {
              int end = text.indexOf('}', at);
              length = end + 1 - at;
              yield hexadecimal(at + 3, end);
            }
            length = 6;
            int high = hexadecimal(at + 2, at + 6);
            if (high >= 0xD800 && high < 0xDC00 && text.startsWith("\\u", at + 6)) {
              int low = hexadecimal(at + 8, at + 12);
              if (low >= 0xDC00 && low < 0xE000) {
                length = 12;
                yield Character.toCodePoint((char) high, (char) low);
              }
            }
            yield high;
          }
          default ->
              kind > ' ' && kind < 0x7F && !Character.isLetterOrDigit(kind) && kind != '_'
                  ? kind
                  : -1;
        };
    boolean octal = kind == '0' && at + 2 < text.length() && Character.isDigit(text.charAt(at + 2));
    if (code < 0 || code > Character.MAX_CODE_POINT || octal) {
      throw invalid("not an escape");
    }
    at += length;
    return "\\x{" + Integer.toHexString(code) + "}";
  }

  private int hexadecimal(int start, int end) {
    if (start >= end
        || end > text.length()
        || !text.substring(start, end).matches("[0-9A-Fa-f]{1,8}")) {
      return -1;
    }
    return (int) Math.min(Long.parseLong(text.substring(start, end), 16), Integer.MAX_VALUE);
  }

  private void characterClass() {
    at++;
    boolean negated = at < text.length() && text.charAt(at) == '^';
    if (negated) {
      at++;
    }
    StringBuilder items = new StringBuilder();
    while (at < text.length() && text.charAt(at) != ']') {
      boolean single = isSingle();
      items.append(classItem());
      if (text.startsWith("-", at) && at + 1 < text.length() && text.charAt(at + 1) != ']') {
        at++;
        if (!single || !isSingle()) {
          throw invalid("a range between sets");
        }
        items.append('-').append(classItem());
      }
    }
    if (at >= text.length()) {
      throw invalid("a class without its end");
    }
    at++;
    if (items.isEmpty()) {
      java.append(negated ? "[\\x{0}-\\x{10FFFF}]" : "(?!)");
    } else {
      java.append(negated ? "[^" : "[").append(items).append(']');
    }
  }

  private boolean isSingle() {
    return text.charAt(at) != '\\' || "dDwWsSpP".indexOf(escapedChar()) < 0;
  }

  private String classItem() {
    if (text.charAt(at) != '\\') {
      int code = text.codePointAt(at);
      at += Character.charCount(code);
      return "\\x{" + Integer.toHexString(code) + "}";
    }
    char kind = escapedChar();
    if (kind == 'b') {
      at += 2;
      return "\\x08";
    }
    String set = characterSet(kind);
    return set == null ? character() : set;
  }
}
