// Package textfile writes what a retraining came to as metrics, for the textfile collector of Prometheus'
// node_exporter: a nightly job is gone when it would be scraped.
package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
)

// Retraining is what one run of `wardcast retrain` came to.
type Retraining struct {
	Ended  time.Time
	Took   time.Duration
	Shard  string          // "" unless several processes share the training
	Result *retrain.Result // nil if it failed early
	Err    error           // nil also if the gate refused the new models
}

// successName is that of the one metric that a run which fails takes over from the file.
const successName = "wardcast_retrain_success_timestamp_seconds"

// WriteFile replaces a file for the textfile collector of Prometheus' node_exporter. With a shard, each metric has it
// as a label.
func (r *Retraining) WriteFile(path string) error {
	registry := prometheus.NewRegistry()
	var labels prometheus.Labels
	if r.Shard != "" {
		labels = prometheus.Labels{"shard": r.Shard}
	}
	in := gauges{prometheus.WrapRegistererWith(labels, registry)}
	failed, success := 0.0, seconds(r.Ended)
	if r.Err != nil {
		var err error
		if success, err = earlierSuccess(path); err != nil {
			return err
		}
		failed = 1
	}
	in.set("wardcast_retrain_end_timestamp_seconds", "When the last retraining ended.", seconds(r.Ended))
	if success > 0 {
		in.set(successName, "When the last retraining that did not fail ended.", success)
	}
	in.set("wardcast_retrain_failed", "1 if the last retraining failed. A refusal of the gate is no failure.", failed)
	in.set("wardcast_retrain_duration_seconds", "Time that the last retraining took.", r.Took.Seconds())
	in.result(r.Result)
	if err := prometheus.WriteToTextfile(path, registry); err != nil {
		return fmt.Errorf("writing metrics to %s: %w", path, err)
	}
	return nil
}

// Check returns an error if WriteFile could not write this file, or if node_exporter would not read it. "" is no file.
func Check(path string) (err error) {
	if path == "" {
		return nil
	}
	if filepath.Ext(path) != ".prom" {
		return fmt.Errorf("%s: node_exporter reads only files whose names end in .prom", path)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	// as the metrics will be written: beside the file, then renamed
	probe, err := os.CreateTemp(filepath.Dir(path), ".wardcast-*")
	if err != nil {
		return fmt.Errorf("writing into its folder: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// gauges registers metrics that are set once.
type gauges struct{ prometheus.Registerer }

func (g gauges) set(name, help string, value float64) {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	gauge.Set(value)
	g.MustRegister(gauge)
}

func (g gauges) vector(name, help, label string) func(value string, v float64) {
	all := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
	g.MustRegister(all)
	return func(value string, v float64) { all.WithLabelValues(value).Set(v) }
}

// result sets what a run came to, as far as it came.
func (g gauges) result(r *retrain.Result) {
	if r == nil {
		return
	}
	notes := g.vector("wardcast_retrain_notes", "Notes of the last retraining, by what they were used for.", "part")
	notes("train", float64(r.Counts.Split.Train))
	notes("judged", float64(r.Counts.Split.Judge))
	if r.Promotion == nil {
		return
	}
	verdict := r.Promotion.Verdict
	decision := g.vector("wardcast_retrain_decision", "1 for what the gate decided at the last retraining.", "decision")
	for _, d := range []gate.Decision{gate.Promote, gate.Recalibrate, gate.Refuse} {
		decision(string(d), 0)
	}
	decision(string(verdict.Decision), 1)
	loss := g.vector("wardcast_retrain_log_loss", "Log loss on the notes that judged the last retraining.", "of")
	f := &verdict.Figures
	if f.Challenger != nil {
		loss("challenger", f.Challenger.LogLoss.Value)
		loss("base_rate", f.BaseLogLoss)
	}
	if f.Champion != nil {
		loss("champion", f.Champion.LogLoss.Value)
	}
}

// earlierSuccess reads from the file of the run before when a run last succeeded, 0 if it does not tell.
func earlierSuccess(path string) (float64, error) {
	file, err := os.Open(filepath.Clean(path))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the metrics of the last run: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(file)
	if err != nil {
		return 0, fmt.Errorf("reading the metrics of the last run in %s: %w", path, err)
	}
	metrics := families[successName].GetMetric()
	if len(metrics) == 0 {
		return 0, nil
	}
	return metrics[0].GetGauge().GetValue(), nil
}
