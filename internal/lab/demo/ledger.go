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
	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models"
)

// ledger matches notes with their predictions.
type ledger struct {
	mu       sync.Mutex
	waiting  map[string]bool // visits sent without a prediction yet
	answered map[string]bool
	repeated int
	by       map[version]int    // predictions
	brought  map[version]string // first generation of each version
	last     Nights             // at the last call of settle

	served  map[version]bool // now
	changed map[version]bool // those of served that were not served before
	since   time.Time        // of the change
	pending map[int]bool     // partitions without an answer by a changed version
	took    time.Duration
	done    chan struct{}
}

type version struct{ model, version string }

func (l *ledger) sent(visit string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[visit] = true
}

// serve records that a generation is served since a time. Scorers may already have loaded it.
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

// take records a prediction. Its key is that of the note, so each partition belongs to one scorer.
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

// patience is the time limit for the scorers to load a generation.
const patience = time.Minute

// swapped waits until every partition has an answer by the generation served now.
func (s *simulation) swapped(ctx context.Context, n *Night) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		fmt.Errorf("the scorers did not load generation %s in %v", n.Generation, patience))
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

// settle waits for the predictions of all notes sent, and reports the night.
func (s *simulation) settle(ctx context.Context, n *Night) error {
	for deadline := time.Now().Add(settle); s.ledger.total().Lost > 0 && time.Now().Before(deadline); {
		if !wait.For(ctx, 10*time.Millisecond) {
			return ctx.Err()
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
