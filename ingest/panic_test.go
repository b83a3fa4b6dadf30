package ingest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest"
)

// scratch is a worker that leaves its memory half-written when it panics.
type scratch struct{ spoilt bool }

func (s *scratch) Model() (name, version string) {
	if s.spoilt {
		return "m", "v7"
	}
	return "", ""
}

func (s *scratch) Handle(r *ingest.Record, out *ingest.Output) error {
	if s.spoilt {
		return errors.New("the scratch is spoilt")
	}
	if string(r.Value) == "panic" {
		s.spoilt = true
		panic(patient)
	}
	return echo(r, out)
}

type scratchHandler struct{}

func (scratchHandler) NewWorker() ingest.Worker { return &scratch{} }

func TestPanicEndsItsWorker(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	messages := numbered(0, 100)
	for _, i := range []int{0, 20, 21, 50} {
		messages[i].Value = []byte("panic")
	}
	c.send(messages...)
	m := c.start(scratchHandler{})
	c.awaitAnswers(100)
	m.stop()
	c.wantAll(100, true)
	dead := c.read(c.dlq)
	if len(dead) != 4 {
		t.Errorf("%d dead letters, want the 4 that panicked", len(dead))
	}
	for _, x := range dead {
		if x.headers["dlq-model-version"] != "v7" || x.headers["dlq-reason"] != "scoring_failed" ||
			x.headers["dlq-stage"] != "handle" {
			t.Errorf("headers of a dead letter %v, want the model that panicked", x.headers)
		}
	}
}

// TestPanicStorm: a fault that every record meets is a line or two, which count all of them and name the model, and
// never what the records hold.
func TestPanicStorm(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	messages := numbered(0, 300)
	for _, x := range messages {
		x.Value = []byte("panic")
	}
	c.send(messages...)
	m := c.start(scratchHandler{})
	c.awaitAnswers(300)
	m.stop()
	lines, panics := m.logged(`msg="the handler panicked" component=ingest records=(\d+) partition=\d offset=\d+ ` +
		`model=m model_version=v7 panic=string`)
	if panics != 300 || lines > 20 {
		t.Errorf("%d lines report %d panics, want few of 300", lines, panics)
	}
	if lines, refused := m.logged(
		`msg="record refused" component=ingest records=(\d+) reason=scoring_failed `); refused != 300 || lines > 20 {
		t.Errorf("%d lines report %d records refused, want few of 300", lines, refused)
	}
	if strings.Contains(m.log.String(), patient) {
		t.Error("the log holds what a panic held")
	}
}
