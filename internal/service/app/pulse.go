package app

import (
	"context"
	"sync"
	"time"

	"github.com/wardcast/wardcast/ingest"
)

// pulseEvery is how often Kafka is asked whether it answers, and how long that may take: pages say within 15 s that it
// does not.
const pulseEvery = 3 * time.Second

// pulse knows whether Kafka answers.
type pulse struct {
	mu       sync.Mutex
	answered time.Time // last, or when asking began
	err      error     // of the last attempt, nil if it answered
}

// run asks until ctx ends.
func (p *pulse) run(ctx context.Context, client *ingest.Client) {
	for p.record(nil); ctx.Err() == nil; {
		asking, cancel := context.WithTimeout(ctx, pulseEvery)
		err := client.Probe(asking)
		cancel()
		p.record(err)
		select {
		case <-ctx.Done():
		case <-time.After(pulseEvery):
		}
	}
}

func (p *pulse) record(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err = err; err == nil {
		p.answered = time.Now()
	}
}

// away returns why Kafka does not answer, nil if it does, and when it last did.
func (p *pulse) away() (since time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered, p.err
}
