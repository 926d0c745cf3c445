package topicwarden;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** A row a record, of the columns that were asked for, and a row of notes a range where those were. */
final class RecordReader extends RangeReader {
  // Columns, by their number in KafkaRanges.SCHEMA.
  private static final int PART = 0;
  private static final int OFFSET = 1;
  private static final int TIME = 2;
  private static final int KEY = 3;
  private static final int VALUE = 4;
  private static final int FITS = 5;
  private static final int NOTE = 6;
  private static final int MURMUR2 = 7;
  private static final int CRC32 = 8;
  private static final int FNV1A = 9;

  private final int[] columns;
  private final GenericInternalRow row;
  private Cursor last;

  RecordReader(
      Map<String, Object> settings, List<OffsetRange> ranges, String[] names, Contracts contracts, Pace pace) {
    super(settings, ranges, Arrays.asList(names).contains("note"), contracts, pace);
    columns = Arrays.stream(names).mapToInt(KafkaRanges.SCHEMA::fieldIndex).toArray();
    row = new GenericInternalRow(columns.length);
  }

  @Override
  protected boolean taken(ConsumerRecord<byte[], byte[]> record) {
    for (int at = 0; at < columns.length; at++) {
      row.update(at, column(columns[at], record));
    }
    return true;
  }

  private Object column(int number, ConsumerRecord<byte[], byte[]> record) {
    return switch (number) {
      case PART -> cursor.range.part();
      case OFFSET -> record.offset();
      case TIME -> record.timestamp();
      case KEY -> record.key();
      case VALUE -> record.value();
      case FITS -> record.key() == null || cursor.terms.partitions() == 0 ? null
          : Partitioners.fits(record.key(), record.partition(), cursor.terms.partitions());
      case MURMUR2 -> record.key() == null ? null : Partitioners.murmur2(record.key());
      case CRC32 -> record.key() == null ? null : Partitioners.crc32(record.key());
      case FNV1A -> record.key() == null ? null : Partitioners.fnv1a(record.key());
      default -> null;
    };
  }

  @Override
  protected boolean told(Cursor one) {
    if (one == last) {
      return false;
    }
    last = one;
    for (int at = 0; at < columns.length; at++) {
      row.update(at, switch (columns[at]) {
        case PART -> one.range.part();
        case NOTE -> UTF8String.fromString(one.notes.told(one.range));
        default -> null;
      });
    }
    return true;
  }

  @Override
  public InternalRow get() {
    return row;
  }
}
