// Package embedded is a broker that speaks Kafka's protocol, in the process
// and without any other software: for the demo, for tests and for a single
// site that wants no cluster. It is twmb/franz-go's kfake on a folder.
//
// Any Kafka client can use it: producers, consumers and groups, and the
// administration of topics. There is one node, so the replication is 1.
// Topics are not created by themselves. A topic takes batches of up to 4 MiB
// unless it is created with another max.message.bytes. Topics without a
// retention.ms of their own keep records for Config.Retention.
//
// What it has acknowledged (records, topics, committed offsets) is in files
// before it answers, and survives the end of the process by whatever signal.
// A power failure or a crash of the machine can lose the last seconds, which
// the system had not written to the disk yet, unless Config.Sync is set. A
// file whose end was cut off by a crash is read up to the last whole batch.
//
// It is no replacement for a cluster: one process, one disk, and requests are
// handled one after the other.
package embedded
