package app

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/wardcast/wardcast/ingest/msg"
)

// predictionMetrics describe the predictions.
type predictionMetrics struct {
	admit, notAdmit, abstained prometheus.Counter
	probability, unknown       prometheus.Histogram
}

func newPredictionMetrics(r prometheus.Registerer) *predictionMetrics {
	in := promauto.With(r)
	decisions := in.NewCounterVec(prometheus.CounterOpts{Name: "wardcast_predictions_total", Help: "Predictions made, by decision."}, []string{"decision"})
	return &predictionMetrics{
		admit:       decisions.WithLabelValues(string(msg.Admit)),
		notAdmit:    decisions.WithLabelValues(string(msg.NotAdmit)),
		abstained:   in.NewCounter(prometheus.CounterOpts{Name: "wardcast_abstentions_total", Help: "Predictions of notes in which the model knows no word."}),
		probability: in.NewHistogram(prometheus.HistogramOpts{Name: "wardcast_probability", Help: "Predicted probabilities of admission.", Buckets: prometheus.LinearBuckets(.05, .05, 19)}),
		unknown:     in.NewHistogram(prometheus.HistogramOpts{Name: "wardcast_unknown_token_ratio", Help: "Share of a note's tokens that its model does not know.", Buckets: prometheus.LinearBuckets(.1, .1, 9)}),
	}
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
func newResponseMetrics(r prometheus.Registerer, instruments []string) map[string]*responseMetrics {
	in := promauto.With(r)
	label := []string{"instrument"}
	scored := in.NewCounterVec(prometheus.CounterOpts{Name: "wardcast_questionnaire_scored_total", Help: "Responses scored."}, label)
	beyond := in.NewCounterVec(prometheus.CounterOpts{Name: "wardcast_questionnaire_beyond_training_total", Help: "Responses scored with a confound outside the range of training."}, label)
	missing := in.NewHistogramVec(prometheus.HistogramOpts{Name: "wardcast_questionnaire_missing_ratio", Help: "Share of the model's items that a response does not answer.", Buckets: prometheus.LinearBuckets(0, .1, 10)}, label)
	all := make(map[string]*responseMetrics)
	for _, name := range instruments {
		all[name] = &responseMetrics{scored.WithLabelValues(name), beyond.WithLabelValues(name), missing.WithLabelValues(name)}
	}
	return all
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
	refused       prometheus.Gauge
}

func newModelMetrics(r prometheus.Registerer) *modelMetrics {
	in := promauto.With(r)
	m := &modelMetrics{
		info:     in.NewGaugeVec(prometheus.GaugeOpts{Name: "wardcast_model_info", Help: "Constant 1 for each model in use."}, []string{"model", "version", "sha256"}),
		created:  in.NewGaugeVec(prometheus.GaugeOpts{Name: "wardcast_model_created_timestamp_seconds", Help: "When the model in use was trained."}, []string{"model"}),
		reloads:  in.NewCounterVec(prometheus.CounterOpts{Name: "wardcast_model_reloads_total", Help: "Attempts to load new models, by result."}, []string{"result"}),
		reloaded: in.NewGauge(prometheus.GaugeOpts{Name: "wardcast_model_reload_timestamp_seconds", Help: "When new models were last loaded."}),
		refused:  in.NewGauge(prometheus.GaugeOpts{Name: "wardcast_model_refused", Help: "1 while the newest models are damaged or unreadable, so that the models in use stay, or while the files of those in use are damaged."}),
	}
	m.reloads.WithLabelValues("ok")
	m.reloads.WithLabelValues("failed")
	return m
}

func (m *modelMetrics) use(models []inUse) {
	m.info.Reset()
	m.created.Reset()
	for _, model := range models {
		m.info.WithLabelValues(model.Name, model.Version, model.SHA256).Set(1)
		m.created.WithLabelValues(model.Name).Set(float64(model.created.Unix()))
	}
	m.reloads.WithLabelValues("ok").Inc()
	m.reloaded.SetToCurrentTime()
}
