package topicwarden;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** What was counted, added up: a row of {@link Totals} a part, when all of the task was read. */
final class TotalsReader extends CountingReader {
  static final StructType SCHEMA = StructType.fromDDL("totals STRING");

  private final Totals totals;
  private final GenericInternalRow row = new GenericInternalRow(1);
  private Iterator<String> told;

  TotalsReader(
      Map<String, Object> settings, List<OffsetRange> ranges, Counting counting, Contracts contracts, Pace pace) {
    super(settings, ranges, counting, contracts, pace);
    totals = new Totals(counting);
  }

  @Override
  protected void counted(int part, long number, int band, Block block) {
    totals.add(part, band, block);
  }

  @Override
  protected boolean ready() {
    return false;
  }

  @Override
  protected boolean told(Cursor one) {
    leave(one);
    totals.note(one.range.part(), one.notes.told(one.range));
    return false;
  }

  @Override
  protected boolean rest() throws IOException {
    if (told == null) {
      while (keys != null && keys.next()) {
        totals.keys(keys.part()).add(keys);
      }
      told = totals.told();
    }
    if (!told.hasNext()) {
      return false;
    }
    row.update(0, UTF8String.fromString(told.next()));
    return true;
  }

  @Override
  public InternalRow get() {
    return row;
  }
}
