package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest/msg"
)

// predictionMetrics describe the predictions.
type predictionMetrics struct {
	admit, notAdmit, abstained prometheus.Counter
	probability, unknown       prometheus.Histogram
}

func newPredictionMetrics(r prometheus.Registerer) (*predictionMetrics, error) {
	decisions := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "wardcast_predictions_total", Help: "Predictions made, by decision."}, []string{"decision"})
	m := &predictionMetrics{
		admit:       decisions.WithLabelValues(string(msg.Admit)),
		notAdmit:    decisions.WithLabelValues(string(msg.NotAdmit)),
		abstained:   prometheus.NewCounter(prometheus.CounterOpts{Name: "wardcast_abstentions_total", Help: "Predictions of notes in which the model knows no word."}),
		probability: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "wardcast_probability", Help: "Predicted probabilities of admission.", Buckets: prometheus.LinearBuckets(.05, .05, 19)}),
		unknown:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "wardcast_unknown_token_ratio", Help: "Share of a note's tokens that its model does not know.", Buckets: prometheus.LinearBuckets(.1, .1, 9)}),
	}
	return m, register(r, decisions, m.abstained, m.probability, m.unknown)
}

func (m *predictionMetrics) observe(p *msg.Prediction) {
	if p.Decision == msg.Admit {
		m.admit.Inc()
	} else {
		m.notAdmit.Inc()
	}
	if p.Abstained {
		m.abstained.Inc()
	}
	m.probability.Observe(p.Admission())
	m.unknown.Observe(1 - p.KnownTermShare)
}

// responseMetrics describe the responses to one instrument.
type responseMetrics struct {
	scored, beyond prometheus.Counter
	missing        prometheus.Observer
}

// newResponseMetrics returns the metrics of each instrument.
func newResponseMetrics(r prometheus.Registerer, instruments []string) (map[string]*responseMetrics, error) {
	label := []string{"instrument"}
	scored := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "wardcast_questionnaire_scored_total", Help: "Responses scored."}, label)
	beyond := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "wardcast_questionnaire_beyond_training_total", Help: "Responses scored with a confound outside the range of training."}, label)
	missing := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "wardcast_questionnaire_missing_ratio", Help: "Share of the model's items that a response does not answer.", Buckets: prometheus.LinearBuckets(0, .1, 10)}, label)
	all := make(map[string]*responseMetrics)
	for _, name := range instruments {
		all[name] = &responseMetrics{scored.WithLabelValues(name), beyond.WithLabelValues(name), missing.WithLabelValues(name)}
	}
	return all, register(r, scored, beyond, missing)
}

func (m *responseMetrics) observe(s *msg.Scores) {
	m.scored.Inc()
	if len(s.Beyond) > 0 {
		m.beyond.Inc()
	}
	m.missing.Observe(float64(s.Items-s.Answered) / float64(s.Items))
}

// modelMetrics describe the models in use.
type modelMetrics struct {
	info, created *prometheus.GaugeVec
	reloads       *prometheus.CounterVec
	reloaded      prometheus.Gauge
}

func newModelMetrics(r prometheus.Registerer) (*modelMetrics, error) {
	m := &modelMetrics{
		info:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "wardcast_model_info", Help: "Constant 1 for each model in use."}, []string{"model", "version", "sha256"}),
		created:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "wardcast_model_created_timestamp_seconds", Help: "When the model in use was trained."}, []string{"model"}),
		reloads:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "wardcast_model_reloads_total", Help: "Attempts to load new models, by result."}, []string{"result"}),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{Name: "wardcast_model_reload_timestamp_seconds", Help: "When new models were last loaded."}),
	}
	m.reloads.WithLabelValues(resultOK)
	m.reloads.WithLabelValues(resultFailed)
	return m, register(r, m.info, m.created, m.reloads, m.reloaded)
}

func register(r prometheus.Registerer, all ...prometheus.Collector) error {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	return nil
}

// The results of a reload.
const (
	resultOK     = "ok"
	resultFailed = "failed"
)

func (m *modelMetrics) use(models []inUse) {
	m.info.Reset()
	m.created.Reset()
	for _, model := range models {
		m.info.WithLabelValues(model.Name, model.Version, model.SHA256).Set(1)
		m.created.WithLabelValues(model.Name).Set(float64(model.created.Unix()))
	}
	m.reloads.WithLabelValues(resultOK).Inc()
	m.reloaded.SetToCurrentTime()
}
