package app_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/service/app"
)

// severalOutcomes returns the model of a bundle with a class beside admission.
func severalOutcomes(b *bundle.Bundle) *bundle.Bundle {
	c := *b
	c.Tensors = maps.Clone(b.Tensors)
	for name := range b.Tensors {
		if name != "intercept" && !strings.HasSuffix(name, "coefficients") {
			continue
		}
		first := b.Tensors[name].Data
		both := slices.Clone(first)
		for _, v := range first {
			both = append(both, -v/2)
		}
		shape := []int{2, len(first)}
		if name == "intercept" {
			shape = shape[:1]
		}
		c.Tensors[name] = bundle.Tensor{Shape: shape, Data: both}
	}
	c.Manifest.Classes, c.Manifest.AdmissionClasses = []string{"home", "ward", "transfer"}, []string{"ward", "transfer"}
	c.Manifest.Calibration = bundle.Calibration{Kind: bundle.Platt, Slope: 0.75, Offsets: []float64{0.25, -0.5}}
	return &c
}

// TestSeveralOutcomes asks for the reference class, and then promotes models that do not know it.
func TestSeveralOutcomes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	yesNo := generation(t, 0)
	for _, b := range generation(t, 1) {
		s.promote([]*bundle.Bundle{severalOutcomes(b)}...)
	}
	s.config.Predictions.Class = "home"
	r := s.start().ready()
	c := s.stream()
	sent := notes(t, 0, 60)
	want := s.predicted(sent)
	c.send(sent...)
	c.answers(len(sent))

	if got := mismatches(t, c.predictions, want); got > 0 {
		t.Errorf("%d of %d predictions are not those of predict", got, len(sent))
	}
	var admission float64
	for _, m := range c.predictions {
		p := decode(t, m.Value)
		checkSums(t, p)
		sum := 0.
		for _, q := range p.Classes {
			sum += q.Probability
		}
		if p.Class != "home" || p.Against != "ward" && p.Against != "transfer" || len(p.Classes) != 3 ||
			math.Abs(sum-1) > 1e-9 || p.Probability != p.Classes[0].Probability {
			t.Errorf("%q against %q at %v, of %+v", p.Class, p.Against, p.Probability, p.Classes)
		}
		admission += p.Admission()
	}
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "wardcast_probability" {
			continue
		}
		if got := f.GetMetric()[0].GetHistogram().GetSampleSum(); math.Abs(got-admission) > 1e-9*float64(len(sent)) {
			t.Errorf("wardcast_probability sums to %v, the probabilities of admission to %v", got, admission)
		}
	}

	var saved []*bundle.Bundle
	for _, b := range yesNo {
		b.Manifest.Seed++
		saved = append(saved, b)
	}
	s.promote(saved...)
	s.await("champions without the class refused, and why", func() bool {
		return strings.Contains(s.log.String(),
			`predictions.class: unknown class \"home\": the champions predict yes or no`)
	})
	if s.metric("wardcast_model_reloads_total", "failed") == 0 {
		t.Error("the metrics do not count the refusal")
	}
	r.stop()
}

// TestUnknownClass: the error at the start names what is known.
func TestUnknownClass(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Kafka.Brokers = []string{"127.0.0.1:1"}
	s.config.Predictions.Class = "hme"
	s.promote([]*bundle.Bundle{severalOutcomes(generation(t, 1)[0])}...)
	if _, err := app.New(t.Context(), s.options); err == nil || !strings.Contains(err.Error(),
		`predictions.class: unknown class "hme": the champions predict ["home" "ward" "transfer"]`) {
		t.Errorf("New: %v", err)
	}
}
