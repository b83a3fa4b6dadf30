// Package bench measures the product's speed and that of a reference in the same run, so that their ratio is comparable
// across machines. The reference of the stream is a bare kafka-go loop that writes uncompressed messages of the same
// mean size; that of the scorer is encoding/json, which reads and writes the same messages.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/scoring"
)

// ScoreReport holds rates in notes per second, on one goroutine.
type ScoreReport struct {
	Notes          int     `json:"notes"`
	NoteBytes      float64 `json:"note_bytes"`       // mean
	PredictBytes   float64 `json:"prediction_bytes"` // mean
	JSONPerSecond  float64 `json:"json_per_second"`  // JSON in, explained JSON out
	TextPerSecond  float64 `json:"text_per_second"`  // text and auxiliary values to probability
	ReferenceCodec float64 `json:"encoding_json_per_second"`
	Ratio          float64 `json:"ratio"` // of json_per_second to encoding_json_per_second
}

// passes is the number of repetitions. The fastest one counts, since other work on the machine only slows it.
const passes = 3

// Score scores messages on one goroutine, several times, and reports the rates. The reference does not score.
func Score(ctx context.Context, set *scoring.Set, limits classifier.Limits, messages [][]byte) (*ScoreReport, error) {
	r := &ScoreReport{Notes: len(messages)}
	decoded := make([]msg.Note, len(messages))
	predictions := make([]msg.Prediction, len(messages))
	scorer := set.Scorer(classifier.Options{Limits: limits})
	for i, m := range messages {
		if err := msg.DecodeNote(m, &decoded[i]); err != nil {
			return nil, fmt.Errorf("reading note %d: %w", i+1, err)
		}
		if err := scorer.Score(&decoded[i], stamp(), &predictions[i]); err != nil {
			return nil, fmt.Errorf("scoring note %d: %w", i+1, err)
		}
		r.NoteBytes += float64(len(m)) / float64(len(messages))
		r.PredictBytes += float64(len(predictions[i].AppendJSON(nil))) / float64(len(messages))
	}
	var note msg.Note
	var prediction msg.Prediction
	var out []byte
	for range passes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.JSONPerSecond = max(r.JSONPerSecond, rate(len(messages), func(i int) {
			if msg.DecodeNote(messages[i], &note) == nil && scorer.Score(&note, stamp(), &prediction) == nil {
				out = prediction.AppendJSON(out[:0])
			}
		}))
		r.TextPerSecond = max(r.TextPerSecond, rate(len(messages), func(i int) { scorer.Probability(&decoded[i]) }))
		r.ReferenceCodec = max(r.ReferenceCodec, rate(len(messages), func(i int) {
			var n msg.Note
			if json.Unmarshal(messages[i], &n) == nil {
				out, _ = json.Marshal(&predictions[i]) // cannot fail: it was written before
			}
		}))
	}
	r.Ratio = r.JSONPerSecond / r.ReferenceCodec
	return r, nil
}

func rate(n int, work func(i int)) float64 {
	began := time.Now()
	for i := range n {
		work(i)
	}
	return float64(n) / time.Since(began).Seconds()
}

func stamp() string { return time.Now().UTC().Format(msg.TimeFormat) }
