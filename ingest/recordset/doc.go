// Package recordset reads the records of a Kafka fetch response one by one, in a bounded amount of memory: a batch of a
// few kilobytes can hold gigabytes once it is decompressed.
//
// A record of more than Limits.Record bytes is passed over. What is left of it is a Record with Lost, its offset, time
// and size, and its key if that is short. The records before and after it, in the same batch too, are read as ever. A
// batch that cannot be decompressed in that memory, or is damaged behind its checksum, is one such Record for all the
// offsets that could not be read.
//
// # Memory
//
// A Reader refers to the response and holds a buffer of 16 KiB. While it is in a compressed batch, it also holds what
// that has decompressed: 32 KiB for gzip; a block for snappy (32 KiB from Java, at most 4 MiB) and lz4 (at most 4 MiB);
// for zstd the batch, or if that has more than 4 MiB the window of its encoder, at most 8 MiB.
//
// # Formats
//
// It reads batches of message format v2, and messages of v0 and v1, which topics from before Kafka 0.11 may hold.
// Records of aborted transactions and their markers are left out. A record has the broker's time if its topic is set to
// LogAppendTime. A Reader is not safe for concurrent use.
package recordset
