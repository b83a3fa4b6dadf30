// Package ingest carries records from one Kafka topic through a handler to
// another, and what the handler refuses to the dead letters. Of triage it knows
// the reasons and headers of package msg, not what a record says: see Handler.
//
// # Delivery
//
// Delivery is at least once and loses nothing:
//
//   - Each record ends in exactly one of: an answer, a dead letter, another
//     attempt, or the end of Run with an error. Disposition decides which. A
//     panic of the handler makes its record a dead letter and ends its worker.
//   - The offset of a record is committed only when its answer or dead letter,
//     and those of all records before it, are acknowledged by all in-sync
//     replicas. kafka-go has no idempotent producer, so that an answer whose
//     acknowledgement was lost is written again: readers must drop repeats by
//     a stable identifier, which is the handler's to give.
//   - Producing and fetching are tried again, at growing intervals, for as long
//     as it takes. A process that is killed leaves at most the answers of the
//     last 100 ms uncommitted; they are given again by the next owner.
//   - Progress belongs to one generation of the consumer group and is committed
//     with it, so that a late commit cannot move an offset that belongs to
//     another member by now: the broker refuses it.
//   - Records of one partition are answered in order. Everything about one key
//     is in one partition if the producers use Java's default partitioner, as
//     this package does.
//   - A group without an offset begins with the oldest record. Where records
//     were deleted before they were read, that is counted and logged, and
//     reading goes on with the oldest.
//
// What this package holds is bounded: for each partition one fetched response
// (1 MiB, or one larger batch) and one batch of at most 512 records, 1 MiB of
// input and 512 KiB of answers (or one larger record). What kafka-go adds is
// not: it decompresses a whole batch of the response at once, however large
// that is, and an attempt at producing that failed keeps its batch until its
// request has ended.
//
// A dead letter is the original key, value and headers with headers dlq-*, so
// it can exceed the limit of its topic where the record did not exceed that of
// its own. Dead letters are compressed, which is nearly always enough, and
// DeadLetterMaxMessageBytes is the limit to create the topic with; a limit not
// above the input's is warned of at the start. A dead letter that is refused
// all the same blocks its partition, and only that one, with an error in the
// log every few seconds, until the limit is raised. A blocked partition does
// not count as stalled (Config.StallTimeout). An answer that is refused
// as too large becomes a dead letter with reason scoring_failed and stage produce.
//
// # Metrics
//
//	wardcast_ingest_consumed_records_total{partition}   records read and answered or refused
//	wardcast_ingest_records_total{disposition}          answered, dead_letter; retry counts attempts
//	wardcast_ingest_dead_letters_total{reason}          reasons of ingest/msg, or other
//	wardcast_ingest_handle_seconds                      histogram, one record in the handler
//	wardcast_ingest_end_to_end_seconds                  histogram, record's timestamp to acknowledged answer
//	wardcast_ingest_in_flight_records                   handled, not yet acknowledged
//	wardcast_ingest_lag_records{partition}              in the input, not yet answered
//	wardcast_ingest_assigned_partitions                 owned by this process
//	wardcast_ingest_rebalances_total                    generations joined
//	wardcast_ingest_commits_total{result}               ok, stale (refused after a rebalance), failed
//	wardcast_ingest_produce_retries_total               produce requests tried again
//	wardcast_ingest_fetch_errors_total                  fetch requests that failed
//	wardcast_ingest_skipped_offsets_total{cause}        retention (records lost to it), absent (nothing was there)
//	wardcast_ingest_stalls_total                        generations left for lack of progress
//	wardcast_ingest_blocked_partitions                  waiting for a larger limit of the dead letters
//	wardcast_ingest_handler_panics_total                panics recovered
package ingest
