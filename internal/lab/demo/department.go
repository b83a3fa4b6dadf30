package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
)

// inDepartment is about the number of patients waiting in the demo. If notes came at the arrival, there would be
// thousands. So notes come late: most of the usual waiting time is over, and the decision follows within seconds.
const inDepartment = 40

// available returns the available beds by ward; the demo shows the probability that more are needed.
func available() map[string]int {
	return map[string]int{beds.All: 20, "CARD": 4, "ICU": 2, "MED": 9, "ORTHO": 4, "PAED": 3, "SURG": 4}
}

// department sends outcomes when they are due. It is safe for concurrent use.
type department struct {
	rand      *rand.Rand
	remaining time.Duration // mean time from a note to the decision

	mu  sync.Mutex
	due []due // the earliest first
}

func newDepartment(seed uint64, rate float64) *department {
	return &department{
		rand:      rand.New(rand.NewPCG(seed, inDepartment)),
		remaining: time.Duration(inDepartment / max(rate, 1) * float64(time.Second)),
	}
}

// arrive sets the arrival time of a note that comes now, and keeps the outcome until it is due.
func (d *department) arrive(g *synth.Generator, i int, n *msg.Note) {
	outcome, stay := ended(g, i, n)
	d.mu.Lock()
	defer d.mu.Unlock()
	remaining := time.Duration(d.rand.ExpFloat64() * float64(d.remaining))
	decided := time.Now().UTC().Add(min(remaining, stay))
	n.ArrivedAt = decided.Add(-stay).Format(time.RFC3339)
	outcome.DecidedAt = decided.Format(time.RFC3339)
	outcome.RecordedAt = ""
	d.due = append(d.due, due{decided, outcome})
	slices.SortStableFunc(d.due, func(a, b due) int { return a.at.Compare(b.at) })
}

// ended returns the outcome of note i, which is n, and the time from arrival to decision.
func ended(g *synth.Generator, i int, n *msg.Note) (msg.Outcome, time.Duration) {
	events := g.Outcomes(i)
	o := events[len(events)-1].Outcome
	arrived, _ := time.Parse(time.RFC3339, n.ArrivedAt) // the generator formatted both
	decided, _ := time.Parse(time.RFC3339, o.DecidedAt)
	if o.Disposition == msg.Admitted {
		o.Ward = synth.Ward(rand.New(rand.NewPCG(uint64(i), math.MaxUint64)), n)
	}
	return o, decided.Sub(arrived)
}

// send sends outcomes when they are due until ctx ends.
func (d *department) send(ctx context.Context, topic string, producer sample.Producer) error {
	for wait.For(ctx, 100*time.Millisecond) {
		if messages := d.take(time.Now()); len(messages) > 0 {
			if err := producer.Produce(ctx, topic, messages); err != nil && ctx.Err() == nil {
				return fmt.Errorf("sending outcomes: %w", err)
			}
		}
	}
	return nil
}

func (d *department) take(now time.Time) (messages []*ingest.Output) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.due) > 0 && !d.due[0].at.After(now) {
		o := &d.due[0].outcome
		messages = append(messages, &ingest.Output{Key: []byte(o.VisitID), Value: o.AppendJSON(nil)})
		d.due = d.due[1:]
	}
	return messages
}

type due struct {
	at      time.Time
	outcome msg.Outcome
}

// past is the time span of the training visits: calibration needs the forecasts of 67 days, after four weeks of data.
const past = 100 * day

// fitBeds learns times, wards and arrivals from the training visits, evaluates the forecasts of the last weeks like a
// retraining, adds the fit to the store and returns its version. The generator's arrivals are evenly spaced; here they
// are made independent of each other, as in reality.
func fitBeds(ctx context.Context, g *synth.Generator, trained *train.Trained, store *models.Store,
) (version string, err error) {
	first, _ := time.Parse(time.RFC3339, g.At(0).ArrivedAt) // the generator formatted it
	h := &beds.History{From: first, AsOf: first.Add(past)}
	arrivals := rand.New(rand.NewPCG(uint64(len(trained.OutOfFold)), inDepartment))
	for i, p := range trained.OutOfFold {
		n := g.At(i)
		o, stay := ended(g, i, &n.Note)
		v := beds.Visit{
			P: p, Complaint: beds.Complaint(n.Complaint), Age: -1,
			Admitted: o.Disposition == msg.Admitted, Ward: o.Ward,
		}
		if n.Age.Set {
			v.Age = n.Age.Value
		}
		v.Arrived = first.Add(time.Duration(arrivals.Float64() * float64(past)))
		v.Decided = v.Arrived.Add(stay)
		h.Visits = append(h.Visits, v)
	}
	fit, err := beds.Learn(h)
	var data []byte
	if err == nil {
		data, err = json.Marshal(fit)
	}
	if err != nil {
		return "", fmt.Errorf("learning the bed demand: %w", err)
	}
	return store.SaveBeds(ctx, time.Now(), data)
}
