package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
)

// champions keeps the compacted KafkaTopic that lists the champions, and learns of new ones from it.
//
// Only scorers write to it: the first scorer that sees a change in the model store informs the others, so the commands
// need no Kafka and no change is forgotten. A message is only a hint to look into the store, which alone decides what
// is served: late, lost or wrong messages do no harm.
type champions struct {
	client *ingest.Client
	topic  string
	source string // ce_source
	stream *stream
	triage *triage
	log    *slog.Logger

	mu     sync.Mutex
	listed map[string]msg.Champion // by model; empty if unreadable
}

// publishTimeout bounds an attempt to write the list.
const publishTimeout = 10 * time.Second

// run reads the list, corrects it now and whenever new models are in use, and follows it until ctx ends.
func (c *champions) run(ctx context.Context) error {
	c.mu.Lock()
	c.listed = map[string]msg.Champion{}
	c.mu.Unlock()
	if _, err := c.client.Replay(ctx, ingest.Replay{Topic: c.topic, Logger: c.log},
		func(r *ingest.Record) error { c.read(r); return nil }); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() {
		followed <- guarded(func() error {
			return c.client.Follow(ctx, ingest.Follow{Topic: c.topic, Logger: c.log}, func(r *ingest.Record) {
				if c.read(r) {
					c.stream.hint()
				}
			})
		})
	}()
	for {
		writing, done := context.WithTimeout(ctx, publishTimeout)
		err := ingest.NewProducer(c.client, c.log).Produce(writing, c.topic, c.changes())
		done()
		if err == nil {
			select {
			case <-c.stream.swapped:
				continue
			case err = <-followed:
				cancel()
				return err
			case <-ctx.Done():
			}
		}
		cancel()
		return errors.Join(err, <-followed)
	}
}

// read records a message and reports whether it names another generation than the one in use.
func (c *champions) read(r *ingest.Record) bool {
	var m msg.Champion
	unread := msg.DecodeChampion(r.Value, &m) != nil
	if unread {
		m = msg.Champion{} // differs from what is in use, so it is rewritten
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(r.Value) == 0 {
		delete(c.listed, string(r.Key))
	} else {
		c.listed[string(r.Key)] = m
	}
	return !unread && m.Generation != c.triage.set().Generation
}

// changes returns the messages that update the list to the models in use.
func (c *champions) changes() (messages []*ingest.Output) {
	set, now := c.triage.set(), time.Now().UTC().Format(msg.TimeFormat)
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, model := range set.Models {
		m := msg.Champion{SchemaVersion: msg.SchemaVersion, Generation: set.Generation, Model: model.Info()}
		if c.listed[name] == m {
			continue
		}
		out := &ingest.Output{Key: []byte(name), Value: m.AppendJSON(nil)}
		address(out, &ingest.Record{Key: out.Key},
			&event{id: name, model: &m.Model, typ: msg.TypeChampion, source: c.source, time: now})
		messages = append(messages, out)
	}
	for name := range c.listed {
		if set.Models[name] == nil {
			messages = append(messages, &ingest.Output{Key: []byte(name)}) // the model is gone
		}
	}
	return messages
}
