package bedstream

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier/beds"
)

// metrics are described in docs/metrics.md.
type metrics struct {
	waiting, timedOut, stale, visits, made, damaged prometheus.Gauge
	published                                       prometheus.Counter
	skipped                                         *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "wardcast_beds_" + name, Help: help})
	}
	m := &metrics{
		waiting: gauge("patients_waiting", "Patients who wait for a decision."),
		timedOut: gauge("timed_out_patients",
			"Patients without an outcome who lately left the pool for having waited too long."),
		stale: gauge("outcomes_stale",
			"1 while no outcome came for an hour, so that patients may be counted who have left."),
		visits:  gauge("visits", "Visits that are remembered for forecasts of beds."),
		made:    gauge("forecast_timestamp_seconds", "The moment of the latest forecasts of beds."),
		damaged: gauge("fit_damaged", "1 while the newest fit of beds in the store cannot be used."),
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "wardcast_beds_published_messages_total", Help: "Forecasts of beds published.",
		}),
		skipped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wardcast_beds_skipped_messages_total",
			Help: "Predictions and outcomes left out of forecasts of beds, by reason.",
		}, []string{"reason"}),
	}
	for _, c := range []prometheus.Collector{
		m.waiting, m.timedOut, m.stale, m.visits, m.made, m.damaged, m.published, m.skipped,
	} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return m, nil
}

// show shows what a moment knew.
func (m *metrics) show(at *beds.Moment) {
	m.waiting.Set(float64(len(at.Waiting)))
	m.timedOut.Set(float64(at.TimedOut))
	m.stale.Set(0)
	if at.OutcomesStale {
		m.stale.Set(1)
	}
	m.made.Set(float64(at.At.UnixMilli()) / 1000)
}
