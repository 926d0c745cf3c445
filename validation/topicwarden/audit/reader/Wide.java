package topicwarden;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Values as CEL knows them: every whole number a long, every other a double. */
final class Wide {
  private Wide() {}

  static Object of(Object value) {
    if (value instanceof Map<?, ?> map) {
      Map<Object, Object> wide = new LinkedHashMap<>();
      map.forEach((name, held) -> wide.put(of(name), of(held)));
      return wide;
    }
    if (value instanceof List<?> list) {
      List<Object> wide = new ArrayList<>(list.size());
      list.forEach(held -> wide.add(of(held)));
      return wide;
    }
    if (value instanceof Integer || value instanceof Short || value instanceof Byte) {
      return ((Number) value).longValue();
    }
    if (value instanceof Number number && !(value instanceof Long)) {
      return number.doubleValue();
    }
    return value;
  }
}
