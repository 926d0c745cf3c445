package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;

/** An offset range that is being read, with its contract and its summary. */
final class RangeCursor {
  final OffsetRange range;
  final Contracts.TopicContract contract;
  final RangeSummary summary;

  /** The first offset that has not been read. */
  long nextOffset;

  RangeCursor(OffsetRange range, Contracts contracts, long blockSize) {
    this.range = range;
    this.contract = contracts.forTopic(range.partition().topic());
    this.summary = new RangeSummary(range, contract, blockSize);
    this.nextOffset = range.start();
  }
}
