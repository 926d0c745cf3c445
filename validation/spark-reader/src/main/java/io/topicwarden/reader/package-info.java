/**
 * A Spark data source that reads exact offset ranges of Kafka topics, validates the records and
 * counts them. The Python package starts it: see {@code audit/scan/offset_ranges.py} and {@code
 * audit/scan/full_scan.py}.
 *
 * <ul>
 *   <li>{@code source}: the data source, and the readers of its tasks. Uses the three others.
 *   <li>{@code counting}: counts by offset block, age band and key; the key history.
 *   <li>{@code fields}: fields of records, as bytes that can be compared. Uses {@code codecs}.
 *   <li>{@code codecs}: contracts and the formats of keys and values. Does not use Spark.
 *   <li>{@code personal}: recognises personal data. Uses only Jackson.
 *   <li>{@code compatibility}: compares schemas with the checkers of a Schema Registry. Does not
 *       use Spark.
 *   <li>{@code inference}: what the records of a topic have in common, in bounded size. Uses {@code
 *       codecs}, {@code counting} and {@code personal}.
 * </ul>
 *
 * <p>Spark classes that are not public API. Each supported Spark line has a jar of its own, which
 * is compiled and tested with that line.
 *
 * <table>
 *   <caption>Spark-internal classes</caption>
 *   <tr><th>Class</th><th>Used by</th><th>Reason</th></tr>
 *   <tr><td>{@code catalyst.InternalRow}, {@code catalyst.expressions.GenericInternalRow}</td>
 *       <td>readers</td>
 *       <td>The type of rows that the public {@code PartitionReader} must return.</td></tr>
 *   <tr><td>{@code catalyst.expressions.codegen.UnsafeRowWriter}</td>
 *       <td>{@code GroupRow}</td>
 *       <td>Writes rows in Spark's memory format. Millions of rows are shuffled, and a generic row
 *       would be converted field by field.</td></tr>
 *   <tr><td>{@code unsafe.types.UTF8String}</td>
 *       <td>readers, {@code PartitionIds}</td>
 *       <td>The type of strings in internal rows and column vectors.</td></tr>
 *   <tr><td>{@code catalyst.expressions.XXH64}, {@code unsafe.Platform}</td>
 *       <td>{@code KeyHash}</td>
 *       <td>The hash of the SQL function {@code xxhash64}, with which the Python side looks for the
 *       records of a key.</td></tr>
 *   <tr><td>{@code SparkEnv}, {@code storage.DiskBlockManager}, {@code executor.TaskMetrics}</td>
 *       <td>{@code SparkSpillStorage}</td>
 *       <td>Spill files belong into Spark's local directories, and into the metrics of the
 *       task.</td></tr>
 *   <tr><td>{@code execution.QueryExecution}, {@code execution.SparkPlan}</td>
 *       <td>{@code KeyBatch}</td>
 *       <td>{@code executeColumnar} returns the columnar batches of the Parquet reader. A row object
 *       for each of many millions of earlier keys dominated the run time.</td></tr>
 * </table>
 */
package io.topicwarden.reader;
