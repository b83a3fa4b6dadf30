package msg

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Names of the record headers of CloudEvents 1.0 in Kafka binary mode.
const (
	HeaderSpecVersion = "ce_specversion"
	HeaderID          = "ce_id"
	HeaderType        = "ce_type"
	HeaderSource      = "ce_source"
	HeaderTime        = "ce_time"
	HeaderContentType = "content-type"
	HeaderTraceParent = "traceparent" // that of W3C Trace Context, copied from a message to its answer
)

// Values of those headers.
const (
	SpecVersion    = "1.0"
	ContentType    = "application/json"
	TypeNote       = "com.wardcast.triage.note.v1"
	TypeOutcome    = "com.wardcast.triage.outcome.v1"
	TypePrediction = "com.wardcast.triage.prediction.v1"
	TypeChampion   = "com.wardcast.triage.champion.v1"
	TypeBedDemand  = "com.wardcast.triage.bed-demand.v1"
	TypeScores     = "com.wardcast.questionnaire.scores.v1"
)

// Names of the headers that a dead letter adds to those of its message.
const (
	HeaderReason    = "dlq-reason"
	HeaderField     = "dlq-field"
	HeaderDetail    = "dlq-detail" // in words, what the reason does not say: Framing, or why the value is missing
	HeaderStage     = "dlq-stage"
	HeaderTopic     = "dlq-source-topic"
	HeaderPartition = "dlq-source-partition"
	HeaderOffset    = "dlq-source-offset"
	// number of offsets, from that one on, of a letter without the message's value and headers.
	HeaderLost         = "dlq-lost-offsets"
	HeaderSize         = "dlq-size" // in bytes, of a message whose value is missing
	HeaderModelVersion = "dlq-model-version"
	HeaderAttempts     = "dlq-attempts"
	HeaderDeadTime     = "dlq-time"
	DeadHeaderPrefix   = "dlq-" // of all these
)

// HeaderReplays is the header of a dead letter that was sent back: how often the message became one.
const HeaderReplays = "wardcast-replays"

// TimeFormat is the layout of scored_at, ce_time and dlq-time: RFC 3339 with milliseconds, in UTC.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// AppendEventID appends to dst the ce_id of a model version's answer to a message: the first 32 hexadecimal digits of
// the SHA-256 of the SHA-256 of the message's bytes and of the names of model and version, each after its length as a
// varint. Equal arguments give equal identifiers, so that a consumer can drop repeats; a corrected message is another
// event. It allocates only to grow dst, unless the names are very long.
func AppendEventID(dst, message []byte, model, version string) []byte {
	var buf [256]byte
	sum := sha256.Sum256(message)
	b := append(buf[:0], sum[:]...)
	for _, s := range [...]string{model, version} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	sum = sha256.Sum256(b)
	return hex.AppendEncode(dst, sum[:16])
}

// IsTraceParent reports whether value has the format of W3C Trace Context: version, trace, parent and flags in
// lower-case hexadecimal digits. Other text in that header could hold anything.
func IsTraceParent(value []byte) bool {
	const layout = "00-00000000000000000000000000000000-0000000000000000-00"
	if len(value) != len(layout) {
		return false
	}
	for i, c := range value {
		digit := '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		if layout[i] == '-' && c != '-' || layout[i] != '-' && !digit {
			return false
		}
	}
	return true
}
