package topicwarden;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What was counted, added up by part: its age bands and its keys; told as JSON with the notes on its records. What
 * several tasks tell of one part is brought together by {@code audit/merging.py}.
 */
final class Totals {
  private static final class Part {
    final Map<Integer, Block> bands = new TreeMap<>();
    final List<String> notes = new ArrayList<>();
    KeyTotals keys;
    long read;
  }

  private final Counting counting;
  private final Map<Integer, Part> parts = new TreeMap<>();
  private int number = -1;
  private Part last;

  Totals(Counting counting) {
    this.counting = counting;
  }

  /** Adds what was counted of records of one age band. */
  void add(int part, int band, Block block) {
    of(part).bands.computeIfAbsent(band, any -> new Block()).add(block);
  }

  /** Counts records as read by this audit. */
  void read(int part, long records) {
    of(part).read += records;
  }

  /** Adds a note as {@link Notes} tells it. */
  void note(int part, String note) {
    of(part).notes.add(note);
  }

  KeyTotals keys(int part) {
    Part held = of(part);
    if (held.keys == null) {
      held.keys = new KeyTotals(counting.of(part));
    }
    return held.keys;
  }

  private Part of(int part) {
    if (part != number) {
      number = part;
      last = parts.computeIfAbsent(part, any -> new Part());
    }
    return last;
  }

  /** A text a part. */
  Iterator<String> told() {
    return parts.entrySet().stream().map(part -> told(part.getKey(), part.getValue())).iterator();
  }

  /** The texts, a line each. */
  String lines() {
    StringBuilder lines = new StringBuilder();
    told().forEachRemaining(text -> lines.append(lines.isEmpty() ? "" : "\n").append(text));
    return lines.toString();
  }

  private String told(int number, Part part) {
    ObjectNode told = Json.MAPPER.createObjectNode().put("part", number).put("read", part.read);
    ArrayNode bands = told.putArray("bands");
    part.bands.forEach((band, block) -> block.tell(bands.addObject().put("band", band)));
    ArrayNode notes = told.putArray("notes");
    part.notes.forEach(notes::add);
    if (counting.of(number).byKey()) {
      told.set("keys", keys(number).told());
    }
    return told.toString();
  }
}
