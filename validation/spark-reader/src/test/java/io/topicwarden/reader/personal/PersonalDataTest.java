package io.topicwarden.reader.personal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PersonalDataTest {
  private final PersonalData detectors = new PersonalData(List.of("customer-ref"));

  @ParameterizedTest
  @CsvSource({
    "ann@example.org, e-mail address",
    "jürgen+x@münchen.example, e-mail address",
    "+49 (0)30 1234567, phone number",
    "004930123456, phone number",
    "DE89 3704 0044 0532 0130 00, IBAN",
    "GB82WEST12345698765432, IBAN",
    "4111 1111 1111 1111, card number",
    "378282246310005, card number",
    "192.168.0.1, IP address",
    "2001:db8::1, IP address",
    "2001:db8:0:0:0:0:0:1, IP address",
  })
  void textHasTheFormAndTheChecksum(String text, String kind) {
    assertEquals(kind, detectors.kind("", text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "a",
        "ann@",
        "@example.org",
        "ann@localhost",
        "hello world",
        "12:30:45",
        "256.1.1.1",
        "DE89 3704 0044 0532 0130 01",
        "4111 1111 1111 1112",
        "2026-11-28",
        "12345",
        "1.2.3",
        "2026-11-28T10:00:00Z",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "AA00"
      })
  void otherTextIsNotPersonal(String text) {
    assertNull(detectors.kind("id", text));
  }

  @Test
  void veryLongTextIsNotLookedAt() {
    assertNull(detectors.kind("", "a".repeat(1 << 20) + "@example.org"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"email", "E-Mail", "first_name", "lastName", "SSN", "customerRef"})
  void namesOfFieldsAreKnown(String field) {
    assertEquals(PersonalData.NAME, detectors.kind(field, ""));
  }
}
