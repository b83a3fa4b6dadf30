// Package reliability_test tries the built program on three real brokers that misbehave: docs/reliability.md has what
// came out.
package reliability_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// length is how long a trial lasts: WARDCAST_TRIAL. It needs WARDCAST_SHARED too, whose script starts the brokers.
func length(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("WARDCAST_TRIAL")
	if text == "" || os.Getenv("WARDCAST_SHARED") == "" {
		t.Skip("it takes minutes and a real Kafka: WARDCAST_TRIAL is how long, such as 5m, and WARDCAST_SHARED has " +
			"the script that starts one")
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Minute {
		t.Fatalf("WARDCAST_TRIAL is %q and no duration of a minute or more", text)
	}
	return d
}

// background runs f until stop, which waits for its end.
func background(t *testing.T, f func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all errgroup.Group
	all.Go(func() error { return f(ctx) })
	return func() {
		t.Helper()
		cancel()
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReliability: two scorers at 500 notes/s, of which one or the other is restarted every minute, while brokers are
// killed, a scorer is halted, permissions go and come back, and the output is deleted and made anew. Every note is
// answered, and whatever is answered twice is answered alike.
func TestReliability(t *testing.T) {
	total := length(t)
	const rate = 500
	c := startCluster(t)
	s := newSite(t, c)
	l := c.ledger(s.notes)
	scorers := []*scorer{s.scorer("one"), s.scorer("two")}
	stopReading := background(t, func(ctx context.Context) error { return l.read(ctx, answers) })
	stopLetters := background(t, func(ctx context.Context) error { return l.read(ctx, letters) })
	stopFeeding := background(t, func(ctx context.Context) error { return l.feed(ctx, rate) })

	// What lasts is long enough in a trial of five minutes to end a session of the group, and longer in one of thirty.
	short := min(total/15, time.Minute)
	var happened []event
	do := func(what string, f func()) {
		happened = append(happened, event{what, time.Now()})
		f()
	}
	kill := func(id string) func() {
		return func() { c.broker("kill", id); pause(t, short/2); c.broker("up", id) }
	}
	deny := func(topic string, op kadm.ACLOperation) func() {
		return func() { giveBack := c.deny(topic, op); pause(t, short); giveBack() }
	}
	faults := []struct {
		what string
		do   func()
	}{
		{"broker 1 is killed and comes back", kill("1")},
		{"a scorer is halted (SIGSTOP) and goes on", func() {
			scorers[0].signal(syscall.SIGSTOP)
			pause(t, short)
			scorers[0].signal(syscall.SIGCONT)
		}},
		{"predictions may not be written", deny(answers, kadm.OpWrite)},
		{"broker 2 is killed and comes back", kill("2")},
		{"notes may not be read", deny(notesTopic, kadm.OpRead)},
		{"the topic of predictions is deleted and made anew", func() {
			// What the brokers have deleted nobody can read, so nothing is under way when it goes.
			stopFeeding()
			ingesttest.Await(t, "answers to all that was sent", func() bool { return l.waiting() == 0 })
			stopReading()
			c.delete(answers)
			stopFeeding = background(t, func(ctx context.Context) error { return l.feed(ctx, rate) })
			pause(t, short)
			c.create(answers, nil)
			stopReading = background(t, func(ctx context.Context) error { return l.read(ctx, answers) })
		}},
		{"broker 3 is killed and comes back", kill("3")},
	}
	round := min(time.Minute, total/time.Duration(len(faults)))
	for i, end := 0, time.Now().Add(total); time.Now().Before(end); i++ {
		next := time.Now().Add(round)
		for _, r := range scorers {
			do("a scorer is restarted", r.restart)
		}
		f := faults[i%len(faults)]
		do(f.what, f.do)
		pause(t, time.Until(next))
	}
	stopFeeding()
	ingesttest.Await(t, "answers to all that was sent", func() bool { return l.waiting() == 0 })
	pause(t, 5*time.Second) // for repeats
	stopReading()
	stopLetters()

	t.Logf("%d notes, %d lost, %d repeated, of which %d unlike", len(l.notes), l.waiting(), l.repeated, l.unalike)
	t.Logf("waits: %s", summary(l.waits(func(*note) bool { return true })))
	happened = append(happened, event{"the end", time.Now()})
	for i, e := range happened[:len(happened)-1] {
		next := happened[i+1].began
		t.Logf("%-50s %4.0f s, without any answer for %s, waits: %s", e.what, next.Sub(e.began).Seconds(),
			l.gap(e.began, next).Round(time.Millisecond),
			summary(l.waits(func(n *note) bool { return n.sent.After(e.began) && n.sent.Before(next) })))
	}
	if l.waiting() > 0 || l.unalike > 0 {
		t.Error("notes were lost or answered in two ways")
	}
}

// event is something that was done to the cluster or the scorers. It lasts until the next.
type event struct {
	what  string
	began time.Time
}

// summary tells of sorted durations.
func summary(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	at := func(q float64) time.Duration { return d[int(q*float64(len(d)-1))].Round(time.Millisecond) }
	return fmt.Sprintf("median %s, 99 %% %s, longest %s", at(.5), at(.99), at(1))
}

func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// TestPermanentErrors: two scorers may not write dead letters, and one partition has a note, without a key, that must
// become one. Only that partition waits. It is named in log, metric and readiness, and goes on soon after the
// permission is given.
func TestPermanentErrors(t *testing.T) {
	total := length(t)
	const rate, stuck = 12, 0
	c := startCluster(t)
	s := newSite(t, c)
	l := c.ledger(s.notes)
	scorers := []*scorer{s.scorer("one"), s.scorer("two")}
	defer background(t, func(ctx context.Context) error { return l.read(ctx, answers, letters) })()
	stopFeeding := background(t, func(ctx context.Context) error { return l.feed(ctx, rate) })
	pause(t, 10*time.Second)
	sum := func(metric string) (n float64) {
		for _, r := range scorers {
			n += r.metric(metric)
		}
		return n
	}
	generations := sum("wardcast_ingest_rebalances_total")

	giveBack := c.deny(letters, kadm.OpWrite)
	began := time.Now()
	if err := l.producer.ProduceSync(t.Context(),
		&kgo.Record{Value: []byte("no note"), Partition: stuck}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var blocked *scorer
	ingesttest.Await(t, "a scorer that names the partition in its readiness", func() bool {
		for _, r := range scorers {
			if code, body := r.get("/readyz"); code == http.StatusServiceUnavailable &&
				strings.Contains(body, fmt.Sprintf("partition %d ", stuck)) {
				blocked = r
			}
		}
		return blocked != nil
	})
	if !blocked.logged("ERROR", fmt.Sprintf("partition=%d", stuck), "[29]") &&
		!blocked.logged(`"ERROR"`, fmt.Sprintf(`"partition":%d`, stuck), "[29]") {
		t.Error("no line of the log names the partition and the broker's code")
	}
	if n, waiting := blocked.metric(`wardcast_ingest_permanent_errors_total{code="29"`),
		blocked.metric("wardcast_ingest_blocked_partitions"); n == 0 || waiting != 1 {
		t.Errorf("the metrics tell of %g permanent errors and %g blocked partitions", n, waiting)
	}
	pause(t, time.Until(began.Add(total-30*time.Second)))
	mended := time.Now()
	giveBack()
	ingesttest.Await(t, "the dead letter", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.dead > 0
	})
	took := time.Since(mended)
	stopFeeding()
	ingesttest.Await(t, "answers to all that was sent", func() bool { return l.waiting() == 0 })
	pause(t, 5*time.Second) // for repeats

	healthy := l.waits(func(n *note) bool { return n.partition != stuck })
	rejoined := sum("wardcast_ingest_rebalances_total") - generations
	t.Logf("%d notes, %d lost, %d repeated; the members joined the group again %.0f times; the partition went on "+
		"%.1f s after the mend",
		len(l.notes), l.waiting(), l.repeated, rejoined, took.Seconds())
	t.Logf("waits of the other partitions: %s", summary(healthy))
	switch {
	case l.waiting() > 0 || l.repeated > 0:
		t.Error("notes were lost or answered twice")
	case rejoined > 0:
		t.Error("members joined the group again, which mends nothing")
	case sum("wardcast_ingest_blocked_partitions") != 0 || sum("wardcast_ingest_lag_records") != 0:
		t.Error("the metrics tell of trouble that is over")
	case took > 30*time.Second:
		t.Error("the partition did not go on soon")
	case healthy[len(healthy)-1] > time.Second:
		t.Error("the partitions that nothing blocks had to wait")
	}
}
