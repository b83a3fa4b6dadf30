package watch

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/meter"
)

const (
	// Maturity is the minimum age of a prediction that counts: most visits are decided then.
	Maturity = 24 * time.Hour
	// Horizon is the maximum age of a prediction.
	Horizon = 8 * 24 * time.Hour

	// maxVisits bounds the memory to about 60 MB. A department has some thousand visits in a week.
	maxVisits = 500_000
	// maxModels bounds the series. A store has about a model per complaint.
	maxModels = 200
	// nameLetters are the characters of model names. Other text could quote a patient.
	nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
)

// Labels joins predictions with outcomes of visits, under 64-bit hashes of their identifiers, and measures calibration.
type Labels struct {
	now  func() time.Time
	seed maphash.Seed

	used, refused, full prometheus.Counter
	messages            *prometheus.CounterVec
	readings            prometheus.Collector

	mu       sync.Mutex
	visits   map[uint64]visit
	models   []string // by visit.model
	measures map[string]measure
}

// visit is what is known of a visit. Times are in milliseconds since 1970.
type visit struct {
	scored    int64 // 0 without a prediction
	decided   int64 // of the latest outcome; 0 without
	admission float64
	model     int32
	state     state
}

type state uint8

const (
	undecided state = iota
	admitted
	notAdmitted
)

// NewLabels returns Labels that have read nothing. now is the clock.
func NewLabels(now func() time.Time) *Labels {
	l := &Labels{now: now, seed: maphash.MakeSeed(), visits: map[uint64]visit{}}
	in := meter.New(nil, "wardcast_")
	l.readings = in.Readings(l.measured,
		[]string{"labelled_notes", "Visits predicted one to eight days ago whose outcome is known.", "model"},
		[]string{"labelled_admissions", "Visits predicted one to eight days ago that were admitted.", "model"},
		[]string{"undecided_notes", "Visits predicted one to eight days ago whose outcome is not known.", "model"},
		[]string{"calibration_intercept", "Calibration in the large, on the log-odds scale: 0 is right, above 0 more " +
			"are admitted than predicted.", "model"},
		[]string{"calibration_intercept_standard_error", "Standard error of wardcast_calibration_intercept.", "model"},
		[]string{"calibration_slope", "Calibration slope: 1 is right, below 1 predictions are too extreme.", "model"},
		[]string{"calibration_slope_standard_error", "Standard error of wardcast_calibration_slope.", "model"})
	l.messages = in.Counters("label_messages_total",
		"Predictions and outcomes read to measure the calibration, by result.", "result")
	l.used, l.refused, l.full = l.messages.WithLabelValues("used"), l.messages.WithLabelValues("refused"),
		l.messages.WithLabelValues("full")
	return l
}

// Prediction records a message of predictions written at a time. The first one for a visit counts, as in training.
func (l *Labels) Prediction(value []byte, written time.Time) {
	var p msg.Scored
	if msg.DecodeScored(value, &p) != nil {
		l.refused.Inc()
		return
	}
	at := l.timeOf(written, p.ScoredAt)
	l.mu.Lock()
	defer l.mu.Unlock()
	model, ok := l.model(p.Model.Name)
	if !ok {
		l.refused.Inc()
		return
	}
	l.change(p.VisitID, func(v *visit) {
		if v.scored == 0 || at < v.scored {
			v.scored, v.admission, v.model = at, p.Admission, model
		}
	})
}

// Outcome records a message of outcomes written at a time. The latest event of a visit counts, as in training: all
// dispositions but admitted count as not admitted, and a cancelled event leaves the visit undecided.
func (l *Labels) Outcome(value []byte, written time.Time) {
	var o msg.Outcome
	if msg.DecodeOutcome(value, &o) != nil {
		l.refused.Inc()
		return
	}
	at := l.timeOf(written, o.RecordedAt, o.DecidedAt)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change(o.VisitID, func(v *visit) {
		if at < v.decided {
			return
		}
		v.decided, v.state = at, notAdmitted
		switch {
		case o.Status == msg.Cancelled:
			v.state = undecided
		case o.Disposition == msg.Admitted:
			v.state = admitted
		}
	})
}

// timeOf returns the first valid time, or that of writing, but no future one, in milliseconds.
func (l *Labels) timeOf(written time.Time, times ...string) int64 {
	at := written
	for _, s := range times {
		if t, err := time.Parse(time.RFC3339, s); err == nil {
			at = t
			break
		}
	}
	return min(at.UnixMilli(), l.now().UnixMilli())
}

// change updates a visit. The caller holds mu.
func (l *Labels) change(id string, f func(v *visit)) {
	key := maphash.String(l.seed, id)
	v, known := l.visits[key]
	if !known && len(l.visits) >= maxVisits {
		l.full.Inc()
		return
	}
	f(&v)
	l.visits[key] = v
	l.used.Inc()
}

// model returns the number of a model's name, or false for an invalid name. The caller holds mu.
func (l *Labels) model(name string) (int32, bool) {
	at := slices.Index(l.models, name)
	if at >= 0 {
		return int32(at), true
	}
	if name == "" || strings.Trim(name, nameLetters) != "" || len(l.models) == maxModels {
		return 0, false
	}
	l.models = append(l.models, strings.Clone(name)) // do not retain the message
	return int32(len(l.models) - 1), true
}

type measure struct {
	labelled, admitted, undecided int
	intercept, slope              *eval.Estimate
}

// Measure drops visits older than Horizon and measures the calibration. It takes a moment per ten thousand visits.
func (l *Labels) Measure() {
	type sample struct {
		y []bool
		p []float64
		measure
	}
	now := l.now()
	oldest, ripe := now.Add(-Horizon).UnixMilli(), now.Add(-Maturity).UnixMilli()
	samples := map[string]*sample{}
	l.mu.Lock()
	for key, v := range l.visits {
		if max(v.scored, v.decided) < oldest || v.scored != 0 && v.scored < oldest {
			delete(l.visits, key)
			continue
		}
		if v.scored == 0 || v.scored > ripe {
			continue
		}
		s := samples[l.models[v.model]]
		if s == nil {
			s = &sample{}
			samples[l.models[v.model]] = s
		}
		if v.state == undecided {
			s.undecided++
			continue
		}
		s.y, s.p = append(s.y, v.state == admitted), append(s.p, v.admission)
	}
	l.mu.Unlock()
	measures := map[string]measure{}
	for name, s := range samples {
		s.labelled = len(s.y)
		s.admitted += eval.Positives(s.y)
		// It is nil unless visits have different outcomes.
		s.intercept, s.slope, _ = eval.Calibration(s.y, s.p)
		measures[name] = s.measure
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.measures = measures
}

// Describe implements prometheus.Collector.
func (l *Labels) Describe(ch chan<- *prometheus.Desc) {
	l.readings.Describe(ch)
	l.messages.Describe(ch)
}

// Collect implements prometheus.Collector.
func (l *Labels) Collect(ch chan<- prometheus.Metric) { l.readings.Collect(ch); l.messages.Collect(ch) }

func (l *Labels) measured(set meter.Set) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, m := range l.measures {
		set("labelled_notes", float64(m.labelled), name)
		set("labelled_admissions", float64(m.admitted), name)
		set("undecided_notes", float64(m.undecided), name)
		for of, e := range map[string]*eval.Estimate{"intercept": m.intercept, "slope": m.slope} {
			if e != nil {
				set("calibration_"+of, e.Value, name)
				set("calibration_"+of+"_standard_error", e.StandardError, name)
			}
		}
	}
}
