package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
)

// predictionMetrics describe the predictions.
type predictionMetrics struct {
	admit, notAdmit, abstained prometheus.Counter
	probability, unknown       prometheus.Histogram
	warnings                   map[msg.Warning]prometheus.Counter
}

// farFromNow is the code of arrivals more than a year from now. It is in no prediction, which depends on note and model
// alone.
const farFromNow msg.WarningCode = "far_from_now"

const year = 366 * 24 * time.Hour

func newPredictionMetrics(r prometheus.Registerer) *predictionMetrics {
	in := promauto.With(r)
	decisions := in.NewCounterVec(
		prometheus.CounterOpts{Name: "wardcast_predictions_total", Help: "Predictions made, by decision."},
		[]string{"decision"})
	warnings := in.NewCounterVec(prometheus.CounterOpts{
		Name: "wardcast_input_warnings_total",
		Help: "Values of notes that count as missing or that the model does not know, by field and what is wrong.",
	}, []string{"field", "code"})
	all := map[msg.Warning]prometheus.Counter{}
	add := func(code msg.WarningCode, fields ...string) {
		for _, field := range fields {
			all[msg.Warning{Field: field, Code: code}] = warnings.WithLabelValues(field, string(code))
		}
	}
	add(msg.ValueOutOfRange, append(msg.NumberNames(), intake.ArrivedField)...)
	add(msg.ValueUnknownLevel, append(msg.NumberNames(), msg.WordNames()...)...)
	add(msg.ValueUnknownComplaint, bundle.ComplaintColumn)
	add(msg.ValueBadTime, intake.ArrivedField)
	add(farFromNow, intake.ArrivedField)
	return &predictionMetrics{
		warnings: all,
		admit:    decisions.WithLabelValues(string(msg.Admit)),
		notAdmit: decisions.WithLabelValues(string(msg.NotAdmit)),
		abstained: in.NewCounter(prometheus.CounterOpts{
			Name: "wardcast_abstentions_total", Help: "Predictions of notes in which the model knows no word.",
		}),
		probability: in.NewHistogram(prometheus.HistogramOpts{
			Name: "wardcast_probability",
			Help: "Predicted probabilities of admission.", Buckets: prometheus.LinearBuckets(.05, .05, 19),
		}),
		unknown: in.NewHistogram(prometheus.HistogramOpts{
			Name: "wardcast_unknown_token_ratio", Help: "Share of a note's tokens that its model does not know.",
			Buckets: prometheus.LinearBuckets(.1, .1, 9),
		}),
	}
}

// observe counts a prediction made at a time.
func (m *predictionMetrics) observe(p *msg.Prediction, at time.Time) {
	for _, w := range p.Warnings {
		m.warnings[w].Inc()
	}
	if arrived, err := time.Parse(time.RFC3339, p.ArrivedAt); err == nil && at.Sub(arrived).Abs() > year {
		m.warnings[msg.Warning{Field: intake.ArrivedField, Code: farFromNow}].Inc()
	}
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
	scored := in.NewCounterVec(
		prometheus.CounterOpts{Name: "wardcast_questionnaire_scored_total", Help: "Responses scored."}, label)
	beyond := in.NewCounterVec(prometheus.CounterOpts{
		Name: "wardcast_questionnaire_beyond_training_total",
		Help: "Responses scored with a confound outside the range of training.",
	}, label)
	missing := in.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "wardcast_questionnaire_missing_ratio",
		Help:    "Share of the model's items that a response does not answer.",
		Buckets: prometheus.LinearBuckets(0, .1, 10),
	}, label)
	all := make(map[string]*responseMetrics)
	for _, name := range instruments {
		all[name] = &responseMetrics{
			scored.WithLabelValues(name), beyond.WithLabelValues(name), missing.WithLabelValues(name),
		}
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
		info: in.NewGaugeVec(
			prometheus.GaugeOpts{Name: "wardcast_model_info", Help: "Constant 1 for each model in use."},
			[]string{"model", "version", "sha256"}),
		created: in.NewGaugeVec(prometheus.GaugeOpts{
			Name: "wardcast_model_created_timestamp_seconds", Help: "When the model in use was trained.",
		}, []string{"model"}),
		reloads: in.NewCounterVec(prometheus.CounterOpts{
			Name: "wardcast_model_reloads_total", Help: "Attempts to load new models, by result.",
		}, []string{"result"}),
		reloaded: in.NewGauge(prometheus.GaugeOpts{
			Name: "wardcast_model_reload_timestamp_seconds", Help: "When new models were last loaded.",
		}),
		refused: in.NewGauge(prometheus.GaugeOpts{
			Name: "wardcast_model_refused", Help: "1 while the newest models are damaged or unreadable, so that the " +
				"models in use stay, or while the files of those in use are damaged.",
		}),
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

// NewRegistry returns a registry with the metrics of the process and of the Go runtime, and
// wardcast_build_info{version}.
func NewRegistry(version string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "wardcast_build_info", Help: "Constant 1, labelled with the version of the binary.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), info)
	return r
}
