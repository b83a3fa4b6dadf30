// Package embedded is a broker that speaks Kafka's protocol, inside the process and without other software: for the
// demo, for tests, and for a single site that needs no cluster. It is twmb/franz-go's kfake, stored in a folder.
//
// Any Kafka client can use it: producers, consumers, groups, and tools that manage topics. There is one node, so the
// replication is 1. Topics must be created. A topic takes batches of up to 4 MiB unless it is created with another
// max.message.bytes. Topics without their own retention.ms keep records for a week.
//
// What the broker has acknowledged (records, topics, committed offsets) is in files before it answers, and survives the
// end of the process by any signal. A power failure or a crash of the machine can lose the last seconds, which the
// system had not yet written to disk, unless Config.Sync is set. A file that a crash cut off is read up to its last
// whole batch.
//
// It does not replace a cluster: there is one process and one disk, and requests are handled one at a time.
package embedded
