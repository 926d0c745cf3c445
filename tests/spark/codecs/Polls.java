package topicwarden;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;

/** What a range reader does with a consumer of which no record comes; each scenario prints a line. */
public final class Polls {
  private static final TopicPartition PLACE = new TopicPartition("t", 0);
  private static final List<OffsetRange> RANGES = List.of(new OffsetRange(0, PLACE, 0, 10));

  private static Silent consumer;
  private static long clock;

  private Polls() {}

  /** Takes ten seconds of each poll, and moves by {@code step} offsets in it. */
  private static final class Silent extends MockConsumer<byte[], byte[]> {
    private final long step;
    private final boolean refuses;

    Silent(long step, boolean refuses) {
      super(OffsetResetStrategy.EARLIEST);
      this.step = step;
      this.refuses = refuses;
    }

    @Override
    public synchronized void seek(TopicPartition place, long offset) {
      if (refuses) {
        throw new KafkaException("refused");
      }
      super.seek(place, offset);
    }

    @Override
    public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
      clock += Duration.ofSeconds(10).toNanos();
      super.seek(PLACE, position(PLACE) + step);
      return ConsumerRecords.empty();
    }
  }

  private static final class Reader extends RangeReader {
    Reader(Contracts contracts) {
      super(Map.of(), RANGES, false, contracts, new Pace(0));
    }

    @Override
    Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
      return consumer;
    }

    @Override
    long now() {
      return clock;
    }

    @Override
    protected boolean taken(ConsumerRecord<byte[], byte[]> record) {
      return true;
    }

    @Override
    protected boolean told(Cursor one) {
      return false;
    }

    @Override
    public InternalRow get() {
      return null;
    }
  }

  public static void main(String[] arguments) throws Exception {
    consumer = new Silent(1, false);
    try (Reader reader = new Reader(new Contracts(null, null))) {
      System.out.println("aborted records: " + reader.next() + " at " + consumer.position(PLACE));
    }
    consumer = new Silent(0, false);
    try (Reader reader = new Reader(new Contracts(null, null))) {
      reader.next();
    } catch (IOException error) {
      System.out.println("silence: " + error.getMessage());
    }
    System.out.println("closed: " + consumer.closed());
    consumer = new Silent(0, true);
    try {
      new Reader(new Contracts(null, null));
    } catch (KafkaException error) {
      System.out.println(error.getMessage() + " and closed: " + consumer.closed());
    }
    consumer = null;
    try {
      new Reader(null);
    } catch (NullPointerException error) {
      System.out.println("no consumer before the contracts: " + error.getStackTrace()[0].getClassName());
    }
  }
}
