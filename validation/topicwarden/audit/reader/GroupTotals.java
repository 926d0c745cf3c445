package topicwarden;

import java.util.Iterator;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;

/**
 * Adds up groups that Spark brought together: rows of {@link GroupReader#SCHEMA}, a row a group. A column may follow:
 * how many of a block's records were {@code read} now, where it is known from before.
 */
public final class GroupTotals implements MapPartitionsFunction<Row, String> {
  private static final long serialVersionUID = 1;
  private static final int READ = GroupReader.SCHEMA.size();

  private final String counting;

  /** {@code counting}: how it was counted, as {@link Counting} takes it. */
  public GroupTotals(String counting) {
    this.counting = counting;
  }

  @Override
  public Iterator<String> call(Iterator<Row> groups) {
    Counting how = new Counting(counting);
    Totals totals = new Totals(how);
    groups.forEachRemaining(group -> {
      int part = group.getInt(0);
      if (!group.isNullAt(1)) {
        totals.note(part, group.getString(1));
      } else if (group.getBoolean(2)) {
        key(group, totals.keys(part));
      } else {
        Block block = Block.of(group);
        totals.add(part, how.band(block.lastTimestamp()), block);
        if (group.size() > READ) {
          totals.read(part, group.getLong(READ));
        }
      }
    });
    return totals.told();
  }

  private static void key(Row group, KeyTotals keys) {
    long last = group.getLong(9);
    boolean deleted = !group.isNullAt(10) && group.getLong(10) == last;
    int fits = group.isNullAt(11) ? Keys.UNASKED : group.getInt(11);
    keys.add(
        group.getLong(3), group.getLong(4), group.getLong(5), group.getLong(6), group.getInt(7), group.getLong(8), last,
        deleted, fits);
  }
}
