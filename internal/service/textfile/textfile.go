// Package textfile writes the result of a retraining as metrics for the textfile collector of Prometheus'
// node_exporter, since a nightly job has ended when it would be scraped.
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

	"github.com/wardcast/wardcast/internal/meter"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
)

// Retraining is the result of one run of `wardcast retrain`.
type Retraining struct {
	Ended  time.Time
	Took   time.Duration
	Result *retrain.Result // nil if it failed early
	Err    error           // nil also if the gate refused the new models
}

// successName is the metric that a failed run copies from the previous file.
const successName = "success_timestamp_seconds"

// WriteFile replaces the file of metrics.
func (r *Retraining) WriteFile(path string) error {
	registry := prometheus.NewRegistry()
	in := meter.New(registry, "wardcast_retrain_")
	success := seconds(r.Ended)
	if r.Err != nil {
		var err error
		if success, err = earlierSuccess(path); err != nil {
			return err
		}
	}
	in.Gauge("end_timestamp_seconds", "When the last retraining ended.").Set(seconds(r.Ended))
	if success > 0 {
		in.Gauge(successName, "When the last retraining that did not fail ended.").Set(success)
	}
	in.Gauge("failed", "1 if the last retraining failed. A refusal of the gate is not a failure.").
		Set(meter.Bool(r.Err != nil))
	in.Gauge("duration_seconds", "Time that the last retraining took.").Set(r.Took.Seconds())
	record(in, r.Result)
	if err := prometheus.WriteToTextfile(path, registry); err != nil {
		return fmt.Errorf("writing metrics to %s: %w", path, err)
	}
	return nil
}

// Check returns an error if WriteFile could not write this file, or node_exporter would not read it. "" is no file.
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
	// like the metrics: written next to the file, then renamed
	probe, err := os.CreateTemp(filepath.Dir(path), ".wardcast-*")
	if err != nil {
		return fmt.Errorf("writing into its folder: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// record sets the metrics of the result, as far as the run got.
func record(in meter.Meter, r *retrain.Result) {
	if r == nil {
		return
	}
	notes := in.Gauges("notes", "Notes of the last retraining, by what they were used for.", "part")
	notes.WithLabelValues("train").Set(float64(r.Counts.Split.Train))
	notes.WithLabelValues("judged").Set(float64(r.Counts.Split.Judge))
	if r.Promotion == nil {
		return
	}
	verdict := r.Promotion.Verdict
	decision := in.Gauges("decision", "1 for what the gate decided at the last retraining.", "decision")
	for _, d := range []gate.Decision{gate.Promote, gate.Recalibrate, gate.Refuse} {
		decision.WithLabelValues(string(d)).Set(meter.Bool(d == verdict.Decision))
	}
	loss := in.Gauges("log_loss", "Log loss on the notes that judged the last retraining.", "of")
	f := &verdict.Figures
	if f.Challenger != nil {
		loss.WithLabelValues("challenger").Set(f.Challenger.LogLoss.Value)
		loss.WithLabelValues("base_rate").Set(f.BaseLogLoss)
	}
	if f.Champion != nil {
		loss.WithLabelValues("champion").Set(f.Champion.LogLoss.Value)
	}
}

// earlierSuccess reads the time of the last success from the previous file, 0 if there is none.
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
	metrics := families["wardcast_retrain_"+successName].GetMetric()
	if len(metrics) == 0 {
		return 0, nil
	}
	return metrics[0].GetGauge().GetValue(), nil
}
