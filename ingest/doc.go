// Package ingest reads records from one Kafka topic, hands each to a Handler, and writes the answers to a second topic.
// Records that the handler refuses go to a third, the dead letters. The package knows the reasons and headers of
// package msg, but not what a record means.
//
// # Delivery
//
// Delivery is at least once. Nothing is lost.
//
//   - Each record is answered or becomes a dead letter. If the handler panics, its record becomes a dead letter, and a
//     new worker takes over.
//   - An offset is committed only when all in-sync replicas have acknowledged the answers or dead letters of its record
//     and of all records before it. kafka-go has no idempotent producer: an answer whose acknowledgement was lost is
//     written again. Readers must drop repeats by a stable identifier, which the handler provides.
//   - Producing and fetching are retried for as long as it takes, with growing pauses. A killed process leaves at most
//     the answers of its last 100 ms uncommitted; the next owner of the partition gives them again.
//   - Progress belongs to one generation of the consumer group and is committed with it. The broker refuses a late
//     commit, so it cannot move an offset that belongs to another member.
//   - Records of one partition are answered in order. All records with one key are in one partition if the producers
//     use Java's default partitioner, as this package does.
//   - A group without an offset begins with the oldest record. If records were deleted before they were read, they are
//     counted and logged, and reading continues with the oldest that is left.
//
// # Memory
//
// It is bounded, whatever is sent. For each partition this package holds one fetched response: 1 MiB, less if there are
// more than eight partitions, or one larger batch. At most 16 partitions, or four for each processor, have a batch in
// hand at once: up to 512 records, 1 MiB of input and 800 KiB of answers (or one larger record), and what package
// recordset decompresses, record by record. A partition whose answers are refused keeps its batch, and makes room for
// another. A failed attempt at producing keeps its batch until its request ends. There are as many workers as
// processors.
//
// # Records that cannot be read
//
// A record of more than 1 MiB, after decompression, becomes a dead letter with reason too_large and stage read. That is
// what a topic takes without compression by default, so a site that raised max.message.bytes has no larger ones
// answered either. A batch that cannot be decompressed in bounded memory, or at all, becomes one dead letter with
// reason too_large or unreadable for all its records that were not read. Such a letter has an empty value, no headers
// of the message, the message's key if that is short, its offset, how many offsets it stands for (dlq-lost-offsets),
// and the size if it is known (dlq-size). The records before and after it are answered in order. Replay and Follow
// leave such records out, count and log them.
//
// # Dead letters
//
// A dead letter is the original key, value and headers, with headers dlq-* added, in place of any it had. It can
// therefore exceed the limit of its topic although the record was within the limit of its own. Dead letters are
// compressed, which is nearly always enough. Create their topic with DeadLetterMaxMessageBytes; Run warns if its limit
// is not above the input's. A dead letter that is refused nevertheless blocks its partition until the limit is raised.
// An answer that is refused as too large becomes a dead letter with reason scoring_failed and stage produce. A dead
// letter whose record has no key gets topic/partition/offset as its key.
//
// # Errors of brokers
//
// A *DeniedError names a permission that is missing. Errors that pass by themselves are retried within a second, for as
// long as it takes. One that does not (a permission, a setting of a topic) blocks its partition, and only that one: it
// is logged once, counted by Kafka's code, and tried again every 5 s, so that it is enough to mend the cause. Nothing
// is published twice meanwhile. Requests that fail are no stall, after which the group is joined again: that would not
// mend them. Check reports them after Config.ReadyAfterStall.
//
// # Logins
//
// A login that ends after a time (KIP-368) is renewed on its connection. Each login and each new connection uses what
// the files of passwords and certificates hold then.
//
// # Metrics
//
// Those of docs/metrics.md whose names begin with wardcast_ingest_.
package ingest
