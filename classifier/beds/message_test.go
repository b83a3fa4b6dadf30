package beds_test

import (
	"math"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
)

// TestMessageSaysWhatItsProbabilitiesSay: sum, mean, median and intervals follow from the probabilities as written.
func TestMessageSaysWhatItsProbabilitiesSay(t *testing.T) {
	t.Parallel()
	h := exponentials(60)
	f := forecaster(t, h)
	m := &beds.Moment{At: h.AsOf, Past: h.Visits, Since: h.From, Abstained: 3, Models: []string{"a@1"}}
	for i := range 300 {
		m.Waiting = append(m.Waiting, beds.Patient{
			Arrived: m.At.Add(-time.Duration(i) * time.Minute),
			P:       float64(i%97) / 97, Complaint: "Cough", Age: float64(i % 90),
		})
	}
	for _, forecast := range forecast(t, f, m, beds.Options{Horizon: 8 * time.Hour}) {
		sent := forecast.Message(&beds.Envelope{Site: "A", Beds: []int{50, 1000}, BedsVersion: "v"})
		var b msg.BedDemand
		if err := msg.DecodeBedDemand(sent.AppendJSON(nil), &b); err != nil {
			t.Fatal(err)
		}
		d := beds.Distribution{Offset: b.Total.PMF.Offset, P: b.Total.PMF.P}
		if mass := d.CDF(1<<20) + b.Total.Tail; math.Abs(mass-1) > 1e-12 || b.Total.Tail > 1e-12 {
			t.Errorf("%s: sums to %v with %v outside", b.Ward, mass, b.Total.Tail)
		}
		if math.Abs(d.Mean()-b.Total.Mean) > 1e-12 || math.Abs(b.Total.Mean-b.Waiting.Mean-b.Coming.Mean) > 1e-9 {
			t.Errorf("%s: mean %v of %v and %v", b.Ward, b.Total.Mean, b.Waiting.Mean, b.Coming.Mean)
		}
		want := [5]int{d.Quantile(.5), d.Quantile(.1), d.Quantile(.9), d.Quantile(.025), d.Quantile(.975)}
		if got := [5]int{
			b.Total.Median, b.Total.Interval80[0], b.Total.Interval80[1], b.Total.Interval95[0], b.Total.Interval95[1],
		}; got != want {
			t.Errorf("%s: median and intervals %v, by the probabilities %v", b.Ward, got, want)
		}
		if len(b.Exceed) != 2 || math.Abs(b.Exceed[0].Probability-d.Exceed(50)) > 1e-15 ||
			b.Exceed[1].Probability != 0 {
			t.Errorf("%s: %+v", b.Ward, b.Exceed)
		}
		if b.Waiting.Patients != 300 || b.Abstained != 3 || b.AsOf != "2026-03-06T00:00:00.000Z" || !b.UsualMean.Set {
			t.Errorf("%s: %+v", b.Ward, b)
		}
	}
}
