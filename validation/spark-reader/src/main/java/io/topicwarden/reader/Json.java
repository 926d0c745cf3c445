package io.topicwarden.reader;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;

/** The Jackson mapper for options, results and registry answers. */
public final class Json {
  /** Refuses text that follows a JSON value. */
  public static final ObjectMapper MAPPER =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private Json() {}
}
