package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.counting.CountingRules;
import io.topicwarden.reader.counting.SpillStorage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Reads the offset ranges of one task, and returns their totals. */
final class TotalsTask {
  private TotalsTask() {}

  /**
   * Returns the {@link io.topicwarden.reader.counting.PartitionTotals} of each partition.
   *
   * @param task a line of the option that {@link OffsetRange#parseAll} reads
   * @param options the other options of {@link OffsetRangeSource}
   */
  static List<String> read(String task, Map<String, String> options, SpillStorage spillStorage)
      throws IOException {
    Contracts contracts = new Contracts(options.get("contracts"), options.get("registry"));
    List<String> totals = new ArrayList<>();
    try (TotalsReader reader =
        new TotalsReader(
            ConsumerSettings.from(options),
            OffsetRange.parseAll(task),
            new CountingRules(options.get("counting")),
            contracts,
            new RateLimiter(Long.parseLong(options.getOrDefault("rate", "0"))),
            spillStorage)) {
      while (reader.next()) {
        totals.add(reader.totals());
      }
    }
    return totals;
  }
}
