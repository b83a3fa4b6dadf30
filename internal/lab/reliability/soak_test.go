//go:build linux

package reliability_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// soakRate is the notes a second of TestSoak.
const soakRate = 100

// TestSoak: one scorer with a broker of its own at 100 notes/s, with an outcome for each, and nothing done to anybody.
// Its goroutines do not grow, and its memory no more than what it must remember of visits explains.
func TestSoak(t *testing.T) {
	total := length(t)
	c := &cluster{T: t, open: []string{fmt.Sprintf(subnet, 254) + ":9092"}}
	s := newSite(t, c)
	s.write("wardcast.yaml", fmt.Sprintf(`kafka: {brokers: [%q]}
models: {store: models}
http: {listen: %s, tokens: [{name: trial, role: operator, token_file: token}]}
`, c.open[0], webAddress))
	broker := exec.CommandContext(t.Context(), s.program, "broker", "--dir", s.path("broker"), "--listen", c.open[0],
		"--insecure")
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Wait() })
	await(t, "broker", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", c.open[0])
		return err == nil && conn.Close() == nil
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(c.open...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, topic := range []string{notesTopic, outcomesTopic, answers, letters} {
		if _, err := kadm.NewClient(client).CreateTopic(t.Context(), partitions, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	p := s.process("one", webAddress, "serve", "--config", s.path("wardcast.yaml"), "--create-topics")
	l := c.ledger(s.notes)
	stopReading := background(t, func(ctx context.Context) error { return l.read(ctx, answers, letters) })
	stopLeaving := background(t, l.discharge)
	stopFeeding := background(t, func(ctx context.Context) error { return l.feed(ctx, soakRate) })

	const readings = 30
	var goroutines []float64
	t.Log("minutes, MiB resident, MiB of heap in use, MiB that collection left, goroutines, files, visits")
	for i := range readings {
		pause(t, total/readings)
		_, m := p.get("/metrics")
		goroutines = append(goroutines, sumOf(m, "go_goroutines"))
		t.Logf("%5.1f %6.1f %6.1f %6.1f %4.0f %4.0f %7.0f", (total / readings * time.Duration(i+1)).Minutes(),
			sumOf(m, "process_resident_memory_bytes ")/(1<<20), sumOf(m, "go_memstats_heap_inuse_bytes ")/(1<<20),
			sumOf(m, "go_memstats_next_gc_bytes ")/(1<<20)/2, goroutines[i], sumOf(m, "process_open_fds "),
			sumOf(m, "wardcast_beds_visits "))
	}
	stopFeeding()
	l.everybodyLeaves()
	stopLeaving()
	stopReading()
	if lost, wrong := l.missing(); lost+wrong > 0 {
		t.Errorf("%d of %d notes are lost, %d became what they should not", lost, len(l.notes), wrong)
	}
	if first, last := goroutines[readings/3], goroutines[readings-1]; last > first+10 {
		t.Errorf("goroutines grew from %.0f to %.0f", first, last)
	}
}
