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
)

// Values of those headers.
const (
	SpecVersion    = "1.0"
	ContentType    = "application/json"
	TypeNote       = "com.wardcast.triage.note.v1"
	TypeOutcome    = "com.wardcast.triage.outcome.v1"
	TypePrediction = "com.wardcast.triage.prediction.v1"
	TypeChampion   = "com.wardcast.triage.champion.v1"
	TypeResponse   = "com.wardcast.questionnaire.response.v1"
	TypeScores     = "com.wardcast.questionnaire.scores.v1"
)

// Names of the headers that a dead letter has in addition to those of its message.
const (
	HeaderReason       = "dlq-reason"
	HeaderField        = "dlq-field"
	HeaderStage        = "dlq-stage"
	HeaderTopic        = "dlq-source-topic"
	HeaderPartition    = "dlq-source-partition"
	HeaderOffset       = "dlq-source-offset"
	HeaderModelVersion = "dlq-model-version"
	HeaderAttempts     = "dlq-attempts"
	HeaderDeadTime     = "dlq-time"
)

// TimeFormat is the layout of scored_at, ce_time and dlq-time: RFC 3339 with milliseconds, in UTC.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// AppendEventID appends to dst the ce_id of the answer of this model and version to the visit or response id: the first 32
// hexadecimal digits of the SHA-256 of the three strings, each after its length as a varint. Equal arguments give equal
// identifiers, so that a consumer can drop repeats. It allocates only to grow dst, unless the arguments are very long.
func AppendEventID(dst []byte, id, model, version string) []byte {
	var buf [256]byte
	b := buf[:0]
	for _, s := range [...]string{id, model, version} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	sum := sha256.Sum256(b)
	return hex.AppendEncode(dst, sum[:16])
}
