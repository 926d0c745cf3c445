package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.topicwarden.reader.counting.GroupRow;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.Test;

class OffsetRangeSourceTest {
  private static final String TASKS = "0:orders:0:5:9 1:orders.v1:11:0:3\n2:events:4:7:8";
  private static final StructType OFFSETS = StructType.fromDDL("offset BIGINT");

  private final OffsetRangeSource source = new OffsetRangeSource();

  private Table table(Map<String, String> options) {
    CaseInsensitiveStringMap caseInsensitive = new CaseInsensitiveStringMap(options);
    return source.getTable(source.inferSchema(caseInsensitive), new Transform[0], caseInsensitive);
  }

  private Scan scan(Map<String, String> options) {
    var builder =
        (SupportsPushDownRequiredColumns)
            ((SupportsRead) table(options)).newScanBuilder(CaseInsensitiveStringMap.empty());
    builder.pruneColumns(OFFSETS);
    return builder.build();
  }

  @Test
  void parsesAnOffsetRange() {
    assertEquals(
        new OffsetRange(1, new TopicPartition("orders.v1", 11), 0, 3),
        OffsetRange.parse("1:orders.v1:11:0:3"));
  }

  @Test
  void aTaskReadsTheRangesOfALine() {
    var partitions = scan(Map.of("tasks", TASKS)).toBatch().planInputPartitions();
    assertEquals(2, partitions.length);
  }

  @Test
  void theSchemaDependsOnWhatIsCounted() {
    assertEquals(RecordReader.SCHEMA, source.inferSchema(CaseInsensitiveStringMap.empty()));
    var groups = new CaseInsensitiveStringMap(Map.of("counted", "groups"));
    assertEquals(GroupRow.SCHEMA, source.inferSchema(groups));
    var totals = new CaseInsensitiveStringMap(Map.of("counted", "totals"));
    assertEquals(OffsetRangeSource.TOTALS, source.inferSchema(totals));
  }

  @Test
  void theTableHasTheColumnsOfTheSchema() {
    assertArrayEquals(
        RecordReader.SCHEMA.fieldNames(),
        Arrays.stream(table(Map.of()).columns()).map(column -> column.name()).toArray());
  }

  @Test
  void onlyColumnsOfRecordsArePruned() {
    assertEquals(OFFSETS, scan(Map.of("tasks", TASKS)).readSchema());
    assertEquals(GroupRow.SCHEMA, scan(Map.of("tasks", TASKS, "counted", "groups")).readSchema());
  }

  @Test
  void planDescriptionsHoldNoPassword() {
    Map<String, String> options =
        Map.of("tasks", TASKS, "kafka.sasl.jaas.config", "password=secret", "rate", "5");
    Scan scan = scan(options);
    for (Object shown :
        new Object[] {
          table(options),
          table(options).name(),
          scan,
          scan.description(),
          scan.toBatch().createReaderFactory()
        }) {
      assertFalse(shown.toString().contains("secret"), shown::toString);
    }
  }
}
