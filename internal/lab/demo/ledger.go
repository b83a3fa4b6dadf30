package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/models"
)

// ledger holds every note against its predictions.
type ledger struct {
	mu       sync.Mutex
	waiting  map[string]bool // visits that were sent and have no prediction yet
	answered map[string]bool
	repeated int
	by       map[version]int    // predictions
	brought  map[version]string // the generation that brought each version
	last     Nights             // at the last settlement

	// What is served since when, what of it was not served before, and the partitions without an answer by that.
	served  map[version]bool
	changed map[version]bool
	since   time.Time
	pending map[int]bool
	took    time.Duration
	done    chan struct{}
}

// version is one of a model.
type version struct{ model, version string }

func newLedger() *ledger {
	return &ledger{
		waiting: map[string]bool{}, answered: map[string]bool{}, by: map[version]int{}, brought: map[version]string{},
	}
}

func (l *ledger) sent(visit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[visit] = true
}

// serve says that a generation is served since a time. Scorers may take it up before serve is called; their next
// answers show it then.
func (l *ledger) serve(g *models.Generation, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	served := map[version]bool{}
	l.since, l.pending, l.done, l.changed = since, map[int]bool{}, make(chan struct{}), map[version]bool{}
	for model, name := range g.Versions() {
		v := version{model, name}
		served[v] = true
		if !l.served[v] {
			l.changed[v] = true
		}
		if l.brought[v] == "" {
			l.brought[v] = g.Name
		}
	}
	l.served = served
	for p := range ingest.DefaultPartitions {
		l.pending[p] = true
	}
}

// take takes a prediction. Notes and predictions have the same keys, so that a partition is that of one scorer.
func (l *ledger) take(m *kafka.Message) error {
	now := time.Now()
	var p msg.Prediction
	if err := json.Unmarshal(m.Value, &p); err != nil {
		return fmt.Errorf("reading a prediction: %w", err)
	}
	v := version{p.Model.Name, p.Model.Version}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by[v]++
	if l.answered[p.VisitID] {
		l.repeated++
	}
	l.answered[p.VisitID] = true
	delete(l.waiting, p.VisitID)
	if l.pending[m.Partition] && l.changed[v] {
		delete(l.pending, m.Partition)
		if len(l.pending) == 0 {
			l.took = now.Sub(l.since)
			close(l.done)
		}
	}
	return nil
}

// total returns the sums so far.
func (l *ledger) total() *Nights {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := &Nights{
		Notes: len(l.answered) + len(l.waiting), Answered: len(l.answered), Lost: len(l.waiting),
		Repeated: l.repeated, By: map[string]int{},
	}
	for v, count := range l.by {
		n.By[l.brought[v]] += count
	}
	return n
}

// patience is how long the scorers have to take up a generation.
const patience = time.Minute

// swapped waits until every partition has an answer by what is served now.
func (s *simulation) swapped(ctx context.Context, n *Night) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		fmt.Errorf("the scorers did not take up generation %s in %v", n.Generation, patience))
	defer cancel()
	select {
	case <-s.ledger.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	took := s.ledger.took.Seconds()
	n.SwapSeconds = &took
	return nil
}

// settle waits for the predictions of all notes that were sent, and reports the night.
func (s *simulation) settle(ctx context.Context, n *Night) error {
	for deadline := time.Now().Add(settle); s.ledger.total().Lost > 0 && time.Now().Before(deadline); {
		if err := sample.Pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	now := s.ledger.total()
	n.Notes, n.Lost, n.Repeated = now.Notes-s.ledger.last.Notes, now.Lost, now.Repeated-s.ledger.last.Repeated
	s.ledger.last = *now
	return s.onNight(n)
}

func worth(a *eval.Assessment) *Worth {
	w := &Worth{LogLoss: a.LogLoss.Value}
	if a.AUROC != nil {
		w.AUROC = &a.AUROC.Value
	}
	return w
}
