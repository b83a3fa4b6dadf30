// Package ingesttest holds test support for streams: a broker, an independent client, metrics and logs.
package ingesttest

import (
	"errors"
	"flag"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

// Patience is how long anything may take before a test gives up.
const Patience = time.Minute

// Parallel sets how many tests of a package run at once, because they wait for brokers more than they compute. Call it
// in TestMain; -parallel on the command line is read later, and counts.
func Parallel(tests int) {
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err) //nolint:forbidigo // a test of this program sets a flag that is there
	}
}

// VerifyMain is the TestMain of packages that may leave no goroutine but the workers that bleve starts as it is loaded,
// and never ends.
func VerifyMain(m goleak.TestingM) { goleak.VerifyTestMain(settled{m}, bleveWorkers) }

var bleveWorkers = goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker")

// settled waits after the tests for fetches whose readers are gone: a broker holds each for half a second.
type settled struct{ goleak.TestingM }

func (s settled) Run() int {
	status := s.TestingM.Run()
	for began := time.Now(); goleak.Find(bleveWorkers) != nil && time.Since(began) < Patience; {
		time.Sleep(50 * time.Millisecond)
	}
	return status
}

// Await returns when f is true.
func Await(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.Tick(10 * time.Millisecond)
	for !f() {
		select {
		case <-tick:
		case <-deadline.C:
			t.Fatalf("%s: not within %v", what, Patience)
		}
	}
}

// FreeAddress returns a loopback address that no other test of this machine is given until this one ends, also while
// nothing listens there: a listener at a port of its own holds it. The ports are below those of outgoing connections,
// one of which could take them before the test does, and above those of the brokers that .ci/run starts.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const lowest, n, tries = 30000, 1250, 100
	listen := func(port int) (net.Listener, error) {
		return new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	var err error
	for range tries {
		port := lowest + rand.IntN(n)
		var holder, l net.Listener
		if holder, err = listen(port + n); err != nil {
			continue
		}
		if l, err = listen(port); err != nil {
			_ = holder.Close() // another port is tried
			continue
		}
		t.Cleanup(func() { _ = holder.Close() }) // it took no connection
		_ = l.Close()                            // it only tried the port
		return l.Addr().String()
	}
	t.Fatal(err)
	return ""
}

// Reader returns a client of another library than ingest's, which reads topics from their beginning.
func Reader(t testing.TB, brokers []string, topics ...string) *kgo.Client {
	t.Helper()
	const maxMessage = 4 << 20 // what the largest record of a test needs
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ProducerBatchMaxBytes(maxMessage), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Committed returns the sum of a group's offsets.
func Committed(t testing.TB, c *kgo.Client, group string) int {
	t.Helper()
	offsets, err := kadm.NewClient(c).FetchOffsets(t.Context(), group)
	if err = errors.Join(err, offsets.Error()); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	offsets.Each(func(o kadm.OffsetResponse) { sum += max(o.At, 0) }) // -1 for no commit
	return int(sum)
}

// Metric returns the sum of a metric over all series with these label values.
func Metric(t testing.TB, g prometheus.Gatherer, name string, labels ...string) (sum float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			missing := slices.Clone(labels)
			for _, l := range m.GetLabel() {
				missing = slices.DeleteFunc(missing, func(want string) bool { return want == l.GetValue() })
			}
			if len(missing) == 0 {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// Log collects a log. It is safe for concurrent use.
type Log struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
