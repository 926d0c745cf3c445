package io.topicwarden.reader.personal;

import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Recognises personal data by the name of a field, or by the form and the checksum of its text.
 * Never keeps or returns the text.
 *
 * <p>The two checksums are ten lines each. {@code commons-validator}, which also has them, would
 * add itself, {@code commons-beanutils}, {@code -digester} and {@code -logging} to the jar, and
 * accepts card numbers by issuer only.
 */
public final class PersonalData {
  public static final String EMAIL = "e-mail address";
  public static final String PHONE = "phone number";
  public static final String IBAN = "IBAN";
  public static final String CARD = "card number";
  public static final String IP_ADDRESS = "IP address";
  public static final String NAME = "name of the field";

  private static final int MAX_LENGTH = 254; // of an e-mail address, the longest of the kinds
  private static final Set<String> NAMES =
      Set.of(
          "birthdate",
          "birthday",
          "dateofbirth",
          "dob",
          "email",
          "emailaddress",
          "familyname",
          "firstname",
          "fullname",
          "givenname",
          "iban",
          "ipaddress",
          "lastname",
          "passport",
          "passportnumber",
          "phone",
          "phonenumber",
          "socialsecuritynumber",
          "ssn",
          "streetaddress",
          "surname",
          "taxid");
  private static final Pattern EMAIL_FORM =
      Pattern.compile("[\\p{L}0-9._%+'-]{1,64}@[\\p{L}0-9-]{1,63}(\\.[\\p{L}0-9-]{1,63})+");
  private static final Pattern PHONE_FORM =
      Pattern.compile("(\\+|00)[1-9]([ ./()-]{0,2}[0-9]){6,14}");
  private static final Pattern IBAN_FORM = Pattern.compile("[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}");
  private static final Pattern CARD_FORM =
      Pattern.compile("[2-6][0-9]{3}([ -]?)[0-9]{4}\\1[0-9]{4}\\1[0-9]{1,7}");
  private static final Pattern AMEX_FORM =
      Pattern.compile("3[47][0-9]{2}([ -]?)[0-9]{6}\\1[0-9]{5}");
  private static final String OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  private static final Pattern IPV4_FORM = Pattern.compile(OCTET + "(\\." + OCTET + "){3}");
  private static final Pattern IPV6_FORM =
      Pattern.compile("([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|(?=.*::)[0-9A-Fa-f:]{3,39}");

  private final Set<String> names;

  /** Creates detectors that also recognise fields with one of these names. */
  public PersonalData(Iterable<String> moreNames) {
    names = new HashSet<>(NAMES);
    moreNames.forEach(name -> names.add(normalised(name)));
  }

  /**
   * Returns what kind of personal data a field seems to hold.
   *
   * @param field the name of the field; empty for an element of an array
   * @param text its value as text; may be empty
   * @return one of the constants of this class, or null
   */
  public String kind(String field, CharSequence text) {
    String byText = kindOf(text);
    return byText == null && names.contains(normalised(field)) ? NAME : byText;
  }

  private static String kindOf(CharSequence text) {
    int length = text.length();
    if (length < 3 || length > MAX_LENGTH) {
      return null;
    }
    if (EMAIL_FORM.matcher(text).matches()) {
      return EMAIL;
    }
    if (length > 45) { // longer than the other kinds
      return null;
    }
    if (PHONE_FORM.matcher(text).matches()) {
      return PHONE;
    }
    if (IPV4_FORM.matcher(text).matches() || IPV6_FORM.matcher(text).matches()) {
      return IP_ADDRESS;
    }
    if ((CARD_FORM.matcher(text).matches() || AMEX_FORM.matcher(text).matches()) && luhn(text)) {
      return CARD;
    }
    String compact = text.toString().replace(" ", "");
    return IBAN_FORM.matcher(compact).matches() && mod97(compact) ? IBAN : null;
  }

  /** ISO/IEC 7812-1, annex B. */
  private static boolean luhn(CharSequence text) {
    int sum = 0;
    int digits = 0;
    for (int i = text.length() - 1; i >= 0; i--) {
      int digit = Character.digit(text.charAt(i), 10);
      if (digit >= 0) {
        int doubled = digits++ % 2 == 0 ? digit : 2 * digit;
        sum += doubled > 9 ? doubled - 9 : doubled;
      }
    }
    return digits <= 19 && sum % 10 == 0;
  }

  /** ISO 13616: the remainder by 97 of the digits, after the first four characters move last. */
  private static boolean mod97(String iban) {
    int remainder = 0;
    for (int i = 0; i < iban.length(); i++) {
      int digit = Character.digit(iban.charAt((i + 4) % iban.length()), 36);
      remainder = (remainder * (digit > 9 ? 100 : 10) + digit) % 97;
    }
    return remainder == 1;
  }

  private static String normalised(String name) {
    return name.toLowerCase(Locale.ROOT).replace("_", "").replace("-", "").replace(" ", "");
  }
}
