package beds

import (
	"slices"

	"github.com/wardcast/wardcast/ingest/msg"
)

// Envelope is what the message of a forecast says besides the forecast itself.
type Envelope struct {
	Site        string
	Beds        []int // for which P(more than so many) is told
	Calibration Calibration
	BedsVersion string // of the Fit
}

const tailMass = 1e-12 // how much of a distribution its message leaves out

// Message returns the forecast as a message, whose figures are those of the probabilities it holds.
func (c *Forecast) Message(e *Envelope) msg.BedDemand {
	pmf, tail := c.Total.Trim(tailMass)
	b := msg.BedDemand{
		SchemaVersion: msg.SchemaVersion, Site: e.Site, Ward: c.Ward, AsOf: c.At.UTC().Format(msg.TimeFormat),
		HorizonHours: c.Horizon.Hours(),
		Waiting:      msg.DemandWaiting{Patients: c.Patients, Mean: c.Waiting.Mean()},
		Coming:       msg.DemandComing{Mean: c.Coming.Mean()},
		Total: msg.DemandTotal{
			Mean: pmf.Mean(), Median: pmf.Quantile(0.5),
			Interval80: [2]int{pmf.Quantile(low80), pmf.Quantile(high80)},
			Interval95: [2]int{pmf.Quantile(0.025), pmf.Quantile(0.975)},
			PMF:        msg.PMF{Offset: pmf.Offset, P: slices.Clone(pmf.P)}, Tail: tail,
		},
		Exceed: []msg.DemandAbove{}, Abstained: c.Abstained, TimedOut: c.TimedOut, OutcomesStale: c.OutcomesStale,
		Calibrated: e.Calibration.Calibrated,
		Coverage80: msg.DemandCoverage{N: e.Calibration.N, Share: e.Calibration.Coverage80},
		Sigma:      c.Dispersion.Sigma, K: c.Dispersion.K, Delta: c.Delta, Models: slices.Clone(c.Models),
		BedsVersion: e.BedsVersion,
	}
	for _, n := range e.Beds {
		b.Exceed = append(b.Exceed, msg.DemandAbove{Beds: n, Probability: min(pmf.Exceed(n), 1)})
	}
	if c.UsualKnown {
		b.UsualMean = msg.Some(c.Usual)
	}
	return b
}
