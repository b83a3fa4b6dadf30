// Package doctor looks at everything that an installation of serve needs, and says what it lacks: brokers, topics and
// their settings, permissions, the store and its champion, clock, certificates, files that others can read, space on
// the disk. It changes nothing.
//
// It stands in internal because it knows the configuration, Kafka and the store of one process; other programs read its
// answer as JSON from `wardcast doctor`.
package doctor
