package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/meter"
)

type predictionMetrics struct {
	admit, discharge, abstained prometheus.Counter
	probability, unknown        prometheus.Histogram
	warnings                    map[msg.Warning]prometheus.Counter
}

// farFromNow is the code of arrivals more than a year from now. Predictions do not depend on the time, so none has it.
const farFromNow msg.WarningCode = "far_from_now"

const year = 366 * 24 * time.Hour

func newPredictionMetrics(r prometheus.Registerer) *predictionMetrics {
	in := meter.New(r, "wardcast_")
	decisions := in.Counters("predictions_total", "Predictions made, by decision.", "decision")
	warnings := in.Counters("input_warnings_total",
		"Values of notes that count as missing or that the model does not know, by field and what is wrong.",
		"field", "code")
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
	// The fields that a site has beside share a label, so that a message cannot make new ones.
	for _, code := range []msg.WarningCode{
		msg.ValueLeftOut, msg.ValueUnknownLevel, msg.ValueNotNumber, msg.ValueOutOfRange,
	} {
		add(code, msg.FieldsField)
	}
	return &predictionMetrics{
		warnings:  all,
		admit:     decisions.WithLabelValues(string(msg.Admit)),
		discharge: decisions.WithLabelValues(string(msg.Discharge)),
		abstained: in.Counter("abstentions_total",
			"Predictions of notes in which the model knows no word."),
		probability: in.Histogram("probability", "Predicted probabilities of admission.",
			prometheus.LinearBuckets(.05, .05, 19)),
		unknown: in.Histogram("unknown_token_ratio", "Share of a note's tokens that its model does not know.",
			prometheus.LinearBuckets(.1, .1, 9)),
	}
}

func (m *predictionMetrics) observe(p *msg.Prediction, at time.Time) {
	for _, w := range p.Warnings {
		if m.warnings[w] == nil {
			w.Field = msg.FieldsField
		}
		m.warnings[w].Inc()
	}
	if arrived, err := time.Parse(time.RFC3339, p.ArrivedAt); err == nil && at.Sub(arrived).Abs() > year {
		m.warnings[msg.Warning{Field: intake.ArrivedField, Code: farFromNow}].Inc()
	}
	if p.Decision == msg.Admit {
		m.admit.Inc()
	} else {
		m.discharge.Inc()
	}
	if p.Abstained {
		m.abstained.Inc()
	}
	m.probability.Observe(p.Admission())
	m.unknown.Observe(1 - p.KnownTermShare)
}

type responseMetrics struct {
	scored, beyond prometheus.Counter
	missing        prometheus.Observer
}

func newResponseMetrics(r prometheus.Registerer, instruments []string) map[string]*responseMetrics {
	in := meter.New(r, "wardcast_questionnaire_")
	scored := in.Counters("scored_total", "Responses scored.", "instrument")
	beyond := in.Counters("beyond_training_total",
		"Responses scored with a confound outside the range of training.", "instrument")
	missing := in.Histograms("missing_ratio", "Share of the model's items that a response does not answer.",
		prometheus.LinearBuckets(0, .1, 10), "instrument")
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

type modelMetrics struct {
	info, created *prometheus.GaugeVec
	reloads       *prometheus.CounterVec
	reloaded      prometheus.Gauge
	refused       prometheus.Gauge
	disagrees     prometheus.Gauge
}

func newModelMetrics(r prometheus.Registerer) *modelMetrics {
	in := meter.New(r, "wardcast_model_")
	m := &modelMetrics{
		info:     in.Gauges("info", "Constant 1 for each model in use.", "model", "version", "sha256"),
		created:  in.Gauges("created_timestamp_seconds", "When the model in use was trained.", "model"),
		reloads:  in.Counters("reloads_total", "Attempts to load new models, by result.", "result"),
		reloaded: in.Gauge("reload_timestamp_seconds", "When new models were last loaded."),
		refused: in.Gauge("refused", "1 while the newest models are damaged or unreadable, so that older ones "+
			"are still in use, or while the files of those in use are damaged."),
		disagrees: in.Gauge("history_disagrees", "1 while the store's champion and its history disagree."),
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

// NewRegistry returns a registry with the metrics of the process, the Go runtime and wardcast_build_info{version}.
func NewRegistry(version string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	meter.New(r, "wardcast_").Gauges("build_info", "Constant 1, labelled with the version of the binary.", "version").
		WithLabelValues(version).Set(1)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}
