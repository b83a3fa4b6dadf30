// Package sample is shared by the demo and the benchmarks: it trains models on generated notes, sends messages at a
// rate, and reads the answers.
package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
)

// Aux returns the auxiliary features of generated notes.
func Aux() []train.Aux {
	return []train.Aux{
		{Name: "age", Kind: bundle.Numeric},
		{Name: "sex", Kind: bundle.Categorical},
		{Name: "acuity", Kind: bundle.Numeric},
		{Name: "vitals.hr", Kind: bundle.Numeric},
		{Name: "vitals.spo2", Kind: bundle.Numeric},
	}
}

// Rows returns the first n notes of the generator as rows to train on.
func Rows(g *synth.Generator, n int) ([]train.Row, error) {
	rows := make([]train.Row, 0, n)
	for i := range n {
		n := g.At(i)
		arrived, err := time.Parse(time.RFC3339, n.ArrivedAt)
		if err != nil {
			return nil, fmt.Errorf("reading a generated note: %w", err)
		}
		row := train.Row{
			Patient: n.PatientID, Visit: n.VisitID, Complaint: n.Complaint, Site: n.Site, Text: n.Text,
			Arrived: arrived, Positive: n.Admitted,
		}
		for _, a := range Aux() {
			row.Aux = append(row.Aux, scoring.Value(&n.Note, a.Name))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Notes is the usual number of generated notes to train on.
const Notes = 6000

// Options controls Train.
type Options struct {
	Notes    int            // to train on; 0: Notes
	Progress train.Progress // may be nil
	// Beds returns the version of the fit of beds that belongs to the models; nil for none.
	Beds func(*train.Trained) (string, error)
}

// Train trains on the first notes of the generator, saves the models in the store and promotes them: first
// the model of all complaints alone, so that there is a generation to go back to, then all of them. The settings are
// the defaults without phrases, which would double the time to the first prediction.
func Train(ctx context.Context, g *synth.Generator, store *models.Store, o Options) (*train.Trained, error) {
	rows, err := Rows(g, cmp.Or(o.Notes, Notes))
	if err != nil {
		return nil, err
	}
	settings := train.Default()
	settings.Text.NGrams = 1
	data := train.Data{Rows: rows, Aux: Aux()}
	data.Clean(settings.Text)
	trained, err := train.Train(ctx, data, settings,
		train.Job{Created: time.Now().UTC().Truncate(time.Second), Version: "sample", Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	if err := trained.Describe(data); err != nil {
		return nil, err
	}
	if o.Beds != nil {
		if trained.Beds, err = o.Beds(trained); err != nil {
			return nil, err
		}
	}
	const by = "sample"
	generation, err := trained.Save(ctx, store, by)
	if err != nil {
		return nil, err
	}
	change := models.Change{To: generation.Name, By: by, Why: "generated notes"}
	if len(generation.Models) > 1 {
		first := &models.Generation{
			CreatedAt: generation.CreatedAt.Add(-time.Second), By: by,
			Models: map[string]models.Member{bundle.Other: generation.Models[bundle.Other]}, Beds: generation.Beds,
		}
		if err := store.AddGeneration(ctx, first); err != nil {
			return nil, err
		}
		change.From = first.Name
		if err := store.Promote(ctx, models.Change{
			To: first.Name, By: by, Why: "generated notes: the model for all complaints alone",
		}); err != nil {
			return nil, err
		}
	}
	return trained, store.Promote(ctx, change)
}

const (
	batch = 1000            // messages sent at once without a rate
	grace = 5 * time.Second // for messages to arrive after the context has ended
)

// Stream describes messages to send.
type Stream struct {
	Topic   string
	Count   int
	Rate    float64                    // messages per second; 0 is as fast as possible
	Message func(i int) *ingest.Output // called with 0 to Count-1 when the message is due
}

// Producer writes messages and returns when they are acknowledged.
type Producer interface {
	Produce(ctx context.Context, topic string, messages []*ingest.Output) error
}

// Send produces the messages. It returns when all are acknowledged, or with the error of ctx.
func (s *Stream) Send(ctx context.Context, p Producer) error {
	// A message that was made is still sent after ctx has ended, since the caller expects an answer to it.
	produce, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, abandon) })()
	began := time.Now()
	for from := 0; from < s.Count; {
		to := min(from+batch, s.Count)
		if s.Rate > 0 {
			// All messages that are due now, at least one.
			to = min(max(from+1, int(time.Since(began).Seconds()*s.Rate)), s.Count)
			due := began.Add(time.Duration(float64(to) / s.Rate * float64(time.Second)))
			if !wait.For(ctx, time.Until(due)) {
				return ctx.Err()
			}
		}
		out := make([]*ingest.Output, 0, to-from)
		for i := from; i < to; i++ {
			out = append(out, s.Message(i))
		}
		if err := p.Produce(produce, s.Topic, out); err != nil {
			return fmt.Errorf("sending notes: %w", err)
		}
		from = to
	}
	return nil
}

// Read calls take, from several goroutines, with every message of the topics until ctx ends.
func Read(ctx context.Context, brokers []string, take func(m *kafka.Message) error, topics ...string) error {
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	known, err := (&kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport}).Metadata(ctx,
		&kafka.MetadataRequest{Topics: topics})
	if err != nil {
		return fmt.Errorf("reading predictions: %w", err)
	}
	readers, ctx := errgroup.WithContext(ctx)
	for _, topic := range known.Topics {
		for _, partition := range topic.Partitions {
			readers.Go(func() error {
				reader := kafka.NewReader(kafka.ReaderConfig{
					Brokers: brokers, Topic: topic.Name,
					Partition: partition.ID, MinBytes: 1, MaxBytes: 10 << 20, MaxWait: 500 * time.Millisecond,
				})
				defer func() { _ = reader.Close() }() // nothing is left to read
				for {
					m, err := reader.ReadMessage(ctx)
					if errors.Is(err, io.EOF) || ctx.Err() != nil {
						return nil
					}
					if err != nil {
						return fmt.Errorf("reading predictions: %w", err)
					}
					if err := take(&m); err != nil {
						return err
					}
				}
			})
		}
	}
	return readers.Wait()
}

// Latency holds quantiles in milliseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
}

// Quantiles sorts latencies in milliseconds and returns their quantiles, 0 if there are none.
func Quantiles(ms []float64) Latency {
	if len(ms) == 0 {
		return Latency{}
	}
	slices.Sort(ms)
	at := func(q float64) float64 { return ms[min(int(q*float64(len(ms))), len(ms)-1)] }
	return Latency{at(.5), at(.99), at(.999)}
}
