// Package ingest reads records from a Kafka topic, hands each to a Handler, and writes the answers to a second topic.
// Records that the handler refuses go to a third, the dead letters. The package knows the reasons and headers of
// package msg, but not the meaning of a record.
//
// # Delivery
//
// Delivery is at least once. Nothing is lost.
//
//   - Each record is answered or becomes a dead letter, also if the handler panics; a new worker then takes over. Only
//     a tombstone, whose value is null, is neither: it erases a record, and is counted.
//   - An offset is committed only when all in-sync replicas have acknowledged the answers or dead letters of its record
//     and of all records before it. kafka-go has no idempotent producer: an answer whose acknowledgement was lost is
//     written again. Readers must drop repeats by a stable identifier, which the handler provides.
//   - Producing and fetching are retried with growing pauses until they succeed. A killed process leaves at most the
//     answers of its last 100 ms uncommitted; the next owner of the partition writes them again.
//   - Progress belongs to one generation of the consumer group and is committed with it. The broker refuses a late
//     commit, so it cannot move an offset that belongs to another member.
//   - Records of a partition are answered in order. Records with the same key share a partition if the producers use
//     Java's default partitioner, as this package does.
//   - A group without an offset begins with the oldest record. Records that were deleted before they were read are
//     counted and logged, and reading continues with the oldest that is left.
//
// # Memory
//
// Memory is bounded for any input. Each partition holds one fetched response: 1 MiB, less with more than eight
// partitions, or one larger batch. At most 16 partitions, or four per processor, have a batch in progress: up to 512
// records, 1 MiB of input and 800 KiB of answers (or one larger record), and what package recordset decompresses,
// record by record. A partition whose answers are refused keeps its batch and makes room for another. A failed attempt
// at producing keeps its batch until its request ends. There are as many workers as processors.
//
// # Records that cannot be read
//
// A record of more than 1 MiB, after decompression, becomes a dead letter with reason too_large and stage read. This is
// the default limit of a topic; raising max.message.bytes does not change it. A batch that cannot be decompressed in
// bounded memory, or at all, becomes one dead letter with reason too_large or unreadable for all its records that were
// not read. Such a letter has an empty value, no headers of the message, the key if it is short, the offset, the number
// of offsets that it stands for (dlq-lost-offsets), and the size if known (dlq-size). The records before and after it
// are answered in order. Replay and Follow skip, count and log such records.
//
// # Dead letters
//
// A dead letter is the original key, value and headers, with headers dlq-* that replace any it had. It can therefore
// exceed the limit of its topic although the record did not exceed that of its own. Dead letters are compressed, which
// is nearly always enough; one that is still refused as too large is written without the message, like that of a record
// that cannot be read. Create their topic with DeadLetterMaxMessageBytes; Run warns if its limit is not above the
// input's. If its headers and key alone are refused, its partition is blocked until the limit is raised. An answer that
// is refused as too large becomes a dead letter with reason scoring_failed and stage produce. A dead letter whose
// record has no key gets topic/partition/offset as its key.
//
// # Errors of brokers
//
// A *DeniedError names a missing permission. Temporary errors are retried within a second until they pass. An error
// that somebody must fix (a permission, a setting of a topic) blocks its partition and no other: it is logged once,
// counted by Kafka's code, and the request is retried every 5 s, without publishing anything twice. Failing requests
// are not a stall, after which the group is rejoined. Check reports them after Config.ReadyAfterStall.
//
// # Logins
//
// A login that expires (KIP-368) is renewed on its connection. Each login and each new connection uses the current
// contents of the files of passwords and certificates. docs/metrics.md lists the metrics, wardcast_ingest_*.
package ingest
