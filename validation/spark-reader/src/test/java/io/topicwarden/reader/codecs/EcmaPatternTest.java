package io.topicwarden.reader.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.regex.PatternSyntaxException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EcmaPatternTest {
  private static boolean find(String pattern, String text) {
    return EcmaPattern.find(EcmaPattern.compile(pattern), text);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '~',
      value = {
        "^[a-z]{2,3}$~abc",
        "^\\d+\\.\\d*$~10.",
        "\\bword\\b~a word.",
        "o\\Brd~word",
        "^(?:a|b)(?=c)(?!d)c~bc",
        "^(?<x>a)\\k<x>$~aa",
        "^(a)(b)\\2\\1$~abba",
        "^(?:(a|b)+\\1){2}$~aabb",
        "^(?=(a))(?:x|a\\1)$~aa",
        "^\\u0041\\x42\\u{43}$~ABC",
        "^\\ud83d\\ude00$~😀",
        "^\\p{Lu}\\P{Lu}$~Äö",
        "^\\p{Script=Greek}+$~αβ",
        "^[\\w-]+$~a-b_c",
        "^[^\\s]$~x",
        "^a{$~a{",
        "^\\-\\/$~-/",
        "^.$~😀",
        "^[\\b]?$~''",
        "a*?b~aab"
      })
  void matches(String pattern, String text) {
    assertTrue(find(pattern, text.equals("''") ? "" : text), pattern);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '~',
      value = {
        "^\\d$~٣", // \d is ASCII
        "^\\w$~é",
        "\\bx~éx", // \b is about ASCII words: there is one here
        "^[^\\S]$~a",
        "a[]b~ab"
      })
  void doesNotMatchAsJavaMight(String pattern, String text) {
    assertEquals(pattern.startsWith("\\b"), find(pattern, text), pattern);
  }

  @Test
  void theEndIsTheEndOfTheText() {
    assertFalse(find("a$", "a\n")); // Java's $ also matches before a last newline
    assertFalse(find("^.$", "\u2028"));
    assertTrue(find("^.$", "\u0085")); // no line terminator in ECMA-262
    assertTrue(find("^\\s$", "\uFEFF"));
    assertTrue(find("^[^]$", "\n"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "(", "*a", "a**", "(?<=a)b", "(?<!a)b", "(?i)a", "\\", "\\k<x>", "(?<a>x)(?<a>y)",
        "(?<1>x)", "\\q", "\\u12", "\\x1", "\\p{Nonsense}", "\\pL", "[a", "[z-a]", "[\\d-z]",
        "\\01", "\\c1", "^*", "\\u{110000}"
      })
  void refusesWhatEcmaScriptOrTheTranslationRefuses(String pattern) {
    assertThrows(PatternSyntaxException.class, () -> EcmaPattern.compile(pattern));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "^(?:(a)|b)\\1$",
        "^\\1(a)$",
        "^(?:(a)|(b))*\\1$",
        "(a\\1)",
        "(a)?\\1",
        "(a){0,2}\\1",
        "(?:(a))*\\1",
        "(?!(a))\\1",
        "(?<x>a)*?\\k<x>",
        "(a)\\2",
        "(?:(a)|\\1)"
      })
  void refusesReferencesToGroupsThatMayNotHaveMatched(String pattern) {
    assertThrows(PatternSyntaxException.class, () -> EcmaPattern.compile(pattern));
  }

  @Test
  void aDeepPatternIsRefused() {
    String deep = "(".repeat(100_000) + ")".repeat(100_000);
    assertThrows(PatternSyntaxException.class, () -> EcmaPattern.compile(deep));
  }

  @Test
  void aMatchEndsAfterTooManySteps() {
    assertThrows(
        EcmaPattern.TooManyStepsException.class, () -> find("^(a+)+\\1b$", "a".repeat(40)));
  }
}
