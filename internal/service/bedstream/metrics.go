package bedstream

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/internal/meter"
)

// metrics are described in docs/metrics.md.
type metrics struct {
	waiting, timedOut, stale, visits, made, damaged prometheus.Gauge
	published                                       prometheus.Counter
	skipped                                         *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	in := meter.New(r, "wardcast_beds_")
	return &metrics{
		waiting: in.Gauge("patients_waiting", "Patients who wait for a decision."),
		timedOut: in.Gauge("timed_out_patients",
			"Patients without an outcome who lately left the pool for having waited too long."),
		stale: in.Gauge("outcomes_stale",
			"1 while no outcome came for an hour, so that patients may be counted who have left."),
		visits:    in.Gauge("visits", "Visits that are remembered for forecasts of beds."),
		made:      in.Gauge("forecast_timestamp_seconds", "The moment of the latest forecasts of beds."),
		damaged:   in.Gauge("fit_damaged", "1 while the newest fit of beds in the store cannot be used."),
		published: in.Counter("published_messages_total", "Forecasts of beds published."),
		skipped: in.Counters("skipped_messages_total",
			"Predictions and outcomes left out of forecasts of beds, by reason.", "reason"),
	}
}

func (m *metrics) show(at *beds.Moment) {
	m.waiting.Set(float64(len(at.Waiting)))
	m.timedOut.Set(float64(at.TimedOut))
	m.stale.Set(meter.Bool(at.OutcomesStale))
	m.made.Set(float64(at.At.UnixMilli()) / 1000)
}
