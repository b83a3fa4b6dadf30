package watch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/watch"
)

// secret is part of every visit's name, and may stand in no metric.
const secret = "zzsecretname"

// gathered returns all values of a collector by name and labels.
func gathered(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += "," + l.GetValue()
			}
			got[strings.TrimPrefix(name, "wardcast_")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	for name := range got {
		if strings.Contains(name, secret) {
			t.Errorf("%s names a patient", name)
		}
	}
	return got
}

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func noon() *clock { return &clock{at: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)} }

// chest is a model of two topics and one column.
func chest() watch.Model {
	return watch.Model{Name: "chest-pain", Topics: 2, Columns: []string{"sex"}, Reference: &drift.Reference{
		Scores: &drift.Histogram{Edges: []float64{.5}, Counts: []float64{50, 50}}, Topics: []float64{60, 40, 0},
		Known:  drift.Rate{Hits: 90, Of: 100},
		Levels: []drift.ColumnLevels{{Column: "sex", Unknown: drift.Rate{Hits: 1, Of: 100}}},
	}}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	time := noon()
	d := watch.NewDrift(time.now)
	if got := gathered(t, d); len(got) != 0 {
		t.Errorf("without a model: %v", got)
	}
	c := watch.NewCounter(chest())
	bare := watch.NewCounter(watch.Model{Name: "_other", Topics: 1, Columns: []string{"sex"}})
	d.Use([]*watch.Counter{c, bare})
	want := map[string]float64{
		"drift_notes,chest-pain": 0, "drift_notes,_other": 0, "known_term_training_ratio,chest-pain": .9,
		"unknown_level_training_ratio,sex,chest-pain": .01,
	}
	if diff := cmp.Diff(want, gathered(t, d)); diff != "" {
		t.Errorf("nothing counted (-want +got):\n%s", diff)
	}
	for i := range 100 {
		score, topic, level := .2, 0, drift.Known
		if i < 80 {
			score, topic, level = .8, 1, drift.Unknown
		}
		n := &drift.Note{Score: score, Topic: topic, Known: 6, Tokens: 10, Unknown: []drift.Level{level}}
		c.Add(n, time.now())
		bare.Add(n, time.now())
	}
	scores, errScores := drift.PSI([]float64{50, 50}, []float64{20, 80})
	topics, errTopics := drift.PSI([]float64{60, 40, 0}, []float64{20, 80, 0})
	if errScores != nil || errTopics != nil {
		t.Fatal(errScores, errTopics)
	}
	for _, model := range []string{"chest-pain", "_other"} {
		want["drift_notes,"+model], want["known_term_ratio,"+model], want["unknown_level_ratio,sex,"+model] = 100, .6,
			.8
	}
	want["score_psi,chest-pain"], want["score_psi_expected,chest-pain"] = scores.PSI, scores.Expected
	want["topic_psi,chest-pain"], want["topic_psi_expected,chest-pain"] = topics.PSI, topics.Expected
	if diff := cmp.Diff(want, gathered(t, d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDriftForgets: a day counts until the eighth day after it, and not again when its place is used anew.
func TestDriftForgets(t *testing.T) {
	t.Parallel()
	time := noon()
	d, c := watch.NewDrift(time.now), watch.NewCounter(chest())
	d.Use([]*watch.Counter{c})
	const day = 24 * 60 * 60 * 1e9
	for i := range 20 {
		c.Add(&drift.Note{}, time.now())
		if got, want := gathered(t, d)["drift_notes,chest-pain"], float64(min(i+1, 8)); got != want {
			t.Fatalf("day %d: %v notes, want %v", i, got, want)
		}
		time.pass(day)
	}
	time.pass(7 * day)
	if got := gathered(t, d)["drift_notes,chest-pain"]; got != 0 {
		t.Errorf("after a week without notes: %v", got)
	}
}

// TestDriftConcurrently counts from several goroutines while metrics are read; nothing is lost.
func TestDriftConcurrently(t *testing.T) {
	t.Parallel()
	time := noon()
	d, c := watch.NewDrift(time.now), watch.NewCounter(chest())
	d.Use([]*watch.Counter{c})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				c.Add(&drift.Note{Score: .1, Unknown: []drift.Level{drift.Known}}, time.now())
			}
		})
	}
	for range 10 {
		gathered(t, d)
	}
	all.Wait()
	if got := gathered(t, d)["drift_notes,chest-pain"]; got != 4000 {
		t.Errorf("%v notes, want 4000", got)
	}
}

// prediction returns a message about visit i that was scored at a time.
func prediction(i int, p float64, at time.Time) []byte {
	return (&msg.Prediction{
		VisitID: fmt.Sprintf("%s-%d", secret, i), ScoredAt: at.Format(msg.TimeFormat),
		Model: msg.Model{Name: "_other"}, Probability: p,
	}).AppendJSON(nil)
}

// outcome returns a message about visit i.
func outcome(i int, d msg.Disposition, s msg.OutcomeStatus, at time.Time) []byte {
	o := msg.Outcome{
		VisitID: fmt.Sprintf("%s-%d", secret, i), Disposition: d, Status: s, RecordedAt: at.Format(time.RFC3339),
	}
	return o.AppendJSON(nil)
}

// TestLabels plants a calibration and finds it, whatever comes first: predictions or outcomes.
func TestLabels(t *testing.T) {
	t.Parallel()
	for name, outcomesFirst := range map[string]bool{"predictions first": false, "outcomes first": true} {
		clock := noon()
		l := watch.NewLabels(clock.now)
		scored := clock.now().Add(-48 * time.Hour)
		const n, intercept, slope = 20000, 0.6, 0.7
		random := rand.New(rand.NewPCG(1, 2))
		var messages [2][][]byte
		admissions, undecided := 0., 0.
		for i := range n {
			x := random.NormFloat64() * 1.5
			messages[0] = append(messages[0], prediction(i, 1/(1+math.Exp(-x)), scored))
			d := msg.Discharged
			if random.Float64() < 1/(1+math.Exp(-intercept-slope*x)) {
				d = msg.Admitted
			}
			if i%10 == 0 {
				undecided++
				continue
			}
			if d == msg.Admitted {
				admissions++
			}
			messages[1] = append(messages[1], outcome(i, d, msg.Final, scored.Add(time.Hour)))
		}
		feed := func(which int) {
			for _, m := range messages[which] {
				if which == 0 {
					l.Prediction(m, scored)
				} else {
					l.Outcome(m, scored)
				}
			}
		}
		if outcomesFirst {
			feed(1)
			feed(0)
		} else {
			feed(0)
			feed(1)
		}
		l.Measure()
		got := gathered(t, l)
		if got["labelled_notes,_other"] != n-undecided || got["labelled_admissions,_other"] != admissions ||
			got["undecided_notes,_other"] != undecided {
			t.Errorf("%s: %v", name, got)
		}
		if v, se := got["calibration_slope,_other"],
			got["calibration_slope_standard_error,_other"]; !(math.Abs(v-slope) < 4*se) || !(se < .05) {
			t.Errorf("%s: slope %v ± %v, planted %v", name, v, se, slope)
		}
		if v, se := got["calibration_intercept,_other"],
			got["calibration_intercept_standard_error,_other"]; !(v > .4 && v < .8) || !(se > 0 && se < .05) {
			t.Errorf("%s: intercept %v ± %v", name, v, se)
		}
		if got["label_messages_total,used"] != 2*n-undecided {
			t.Errorf("%s: %v messages used", name, got["label_messages_total,used"])
		}
	}
}

// TestLabelsOfOneVisit: which prediction and which outcome of a visit count.
func TestLabelsOfOneVisit(t *testing.T) {
	t.Parallel()
	clock := noon()
	now := clock.now()
	two := now.Add(-48 * time.Hour)
	type want struct{ labelled, admitted, undecided float64 }
	for name, c := range map[string]struct {
		feed func(l *watch.Labels)
		want want
	}{
		"admitted": {func(l *watch.Labels) { l.Outcome(outcome(1, msg.Admitted, "", two), two) }, want{1, 1, 0}},
		"died":     {func(l *watch.Labels) { l.Outcome(outcome(1, msg.Died, "", two), two) }, want{1, 0, 0}},
		"cancelled": {func(l *watch.Labels) {
			l.Outcome(outcome(1, msg.Admitted, "", two), two)
			l.Outcome(outcome(1, msg.Admitted, msg.Cancelled, now), now)
		}, want{0, 0, 1}},
		"corrected": {func(l *watch.Labels) {
			l.Outcome(outcome(1, msg.Discharged, msg.Corrected, now), now)
			l.Outcome(outcome(1, msg.Admitted, "", two), two) // comes late, and was overtaken
		}, want{1, 0, 0}},
		"of another visit": {
			func(l *watch.Labels) { l.Outcome(outcome(2, msg.Admitted, "", two), two) }, want{0, 0, 1},
		},
		"a repeat": {func(l *watch.Labels) {
			l.Prediction(prediction(1, .9, two), two)
			l.Outcome(outcome(1, msg.Admitted, "", two), two)
		}, want{1, 1, 0}},
		"no messages": {func(l *watch.Labels) {
			l.Outcome([]byte(secret), two)
			l.Prediction([]byte(secret), two)
			l.Prediction((&msg.Prediction{VisitID: "v", Model: msg.Model{Name: "Mr " + secret}}).AppendJSON(nil), two)
		}, want{0, 0, 1}},
	} {
		l := watch.NewLabels(clock.now)
		l.Prediction(prediction(1, .3, two), two)
		c.feed(l)
		l.Measure()
		got := gathered(t, l)
		if d := cmp.Diff(c.want,
			want{got["labelled_notes,_other"], got["labelled_admissions,_other"], got["undecided_notes,_other"]},
			cmp.AllowUnexported(want{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if refused := got["label_messages_total,refused"]; (refused == 3) != (name == "no messages") {
			t.Errorf("%s: %v messages refused", name, refused)
		}
	}
}

// TestLabelsRipen: a prediction counts from one day on until eight days are over.
func TestLabelsRipen(t *testing.T) {
	t.Parallel()
	clock := noon()
	l := watch.NewLabels(clock.now)
	l.Prediction(prediction(1, .3, clock.now()), clock.now())
	l.Outcome(outcome(1, msg.Admitted, "", clock.now()), clock.now())
	l.Outcome(outcome(2, msg.Admitted, "", clock.now().AddDate(1, 0, 0)), clock.now()) // of a clock that is wrong
	for hour := range 10 * 24 {
		l.Measure()
		want := 0.
		if age := time.Duration(hour) * time.Hour; age >= watch.Maturity && age <= watch.Horizon {
			want = 1
		}
		if got := gathered(t, l)["labelled_notes,_other"]; got != want {
			t.Fatalf("after %d hours: %v, want %v", hour, got, want)
		}
		clock.pass(time.Hour)
	}
}

func BenchmarkCounterAdd(b *testing.B) {
	c := watch.NewCounter(chest())
	n, at := &drift.Note{Score: .3, Topic: 1, Known: 7, Tokens: 9, Unknown: []drift.Level{drift.Known}}, time.Now()
	b.ReportAllocs()
	for b.Loop() {
		c.Add(n, at)
	}
}

func BenchmarkLabelsPrediction(b *testing.B) {
	l := watch.NewLabels(time.Now)
	m := prediction(1, .3, time.Now())
	b.ReportAllocs()
	for b.Loop() {
		l.Prediction(m, time.Now())
	}
}
