package bench

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/lab/sample"
)

func TestMain(m *testing.M) { ingesttest.VerifyMain(m) }

func answer(key string, at time.Time, bytes int) *kafka.Message {
	return &kafka.Message{Key: []byte(key), Value: make([]byte, bytes), Time: at}
}

// TestAnswers notes answers, repeats, dead letters and messages of other visits.
func TestAnswers(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	a := newAnswers(4)
	for i, c := range []struct {
		key  string
		ms   int
		dead bool
		left int
	}{
		{"0", 10, false, 3},
		{"0", 90, false, 3}, // a repeat, whose time does not count
		{"warm2", 5, false, 3},
		{"-1", 5, false, 3},
		{"4", 5, false, 3},
		{"2", 30, true, 2},
		{"2", 31, false, 2}, // answered after it was refused
		{"3", 20, false, 1},
	} {
		if left := a.take(answer(c.key, at(c.ms), 100*(i+1)), c.dead, false); left != c.left {
			t.Errorf("answer %d: %d left, want %d", i, left, c.left)
		}
	}
	got := a.result([]time.Time{began, began, began, at(5)}, 500*time.Millisecond, 0)
	want := &StreamReport{
		Lost: 1, Repeated: 2, DeadLetters: 1, PerSecond: 6, MessageBytes: (100 + 800) / 2.,
		LatencyMS: sample.Latency{P50: 15, P99: 30, P999: 30},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// TestLiveAnswers takes the time of a reader that keeps up, not the message's.
func TestLiveAnswers(t *testing.T) {
	t.Parallel()
	a := newAnswers(1)
	before := time.Now()
	a.take(answer("0", time.Time{}, 1), false, true)
	if at := a.at[0]; at.Before(before) || at.After(time.Now()) {
		t.Errorf("an answer is of %v, want now", at)
	}
}

// TestQuantiles measures latencies of 1 to n ms.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		n    int
		want sample.Latency
	}{
		{0, sample.Latency{}},
		{1, sample.Latency{P50: 1, P99: 1, P999: 1}},
		{2, sample.Latency{P50: 2, P99: 2, P999: 2}},
		{100, sample.Latency{P50: 51, P99: 100, P999: 100}},
		{1000, sample.Latency{P50: 501, P99: 991, P999: 1000}},
		{10000, sample.Latency{P50: 5001, P99: 9901, P999: 9991}},
	} {
		a := newAnswers(c.n)
		sent := make([]time.Time, c.n)
		for i := range c.n {
			sent[i] = began
			// Not in order of their latency: 7 is prime to every n above.
			ms := (i*7)%c.n + 1
			a.take(answer(strconv.Itoa(i), began.Add(time.Duration(ms)*time.Millisecond), 1), false, false)
		}
		got := a.result(sent, time.Second, 0)
		if diff := cmp.Diff(c.want, got.LatencyMS); diff != "" || got.Lost != 0 {
			t.Errorf("n = %d, %d lost: quantiles (-want +got):\n%s", c.n, got.Lost, diff)
		}
	}
}

// TestClockResolution keeps a latency positive where a message's time, in whole milliseconds, is before the sending.
func TestClockResolution(t *testing.T) {
	t.Parallel()
	a := newAnswers(1)
	sent := time.Date(2026, 1, 1, 0, 0, 0, 900_000, time.UTC)
	a.take(answer("0", sent.Truncate(time.Millisecond), 1), false, false)
	if p50 := a.result([]time.Time{sent}, time.Second, 0).LatencyMS.P50; p50 <= 0 || p50 > 1e-9 || math.IsNaN(p50) {
		t.Errorf("a latency is %v, want a positive number of no account", p50)
	}
}
