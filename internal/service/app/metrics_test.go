package app_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/textfile"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/models/train"
)

// whole is a site with all that exports metrics.
func whole(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.questionnaires()
	s.config.Shadow.Generation, s.config.HTTP.Listen = config.LatestChallenger, ingesttest.FreeAddress(t)
	s.registry = app.NewRegistry("test")
	s.options.Registry = s.registry
	return s
}

// exported returns the names of the labels of all metrics that a scorer can export, those without a value too, and of
// those that a retraining writes.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	s := whole(t)
	s.config.Kafka.Brokers = []string{"127.0.0.1:1"}
	if _, err := app.New(t.Context(), s.options); err != nil {
		t.Fatal(err)
	}
	all := make(chan *prometheus.Desc)
	go func() {
		s.registry.Describe(all)
		close(all)
	}()
	labels := map[string][]string{}
	form, value := regexp.MustCompile(`fqName: "(wardcast_\w+)".* constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`),
		regexp.MustCompile(`="[^"]*"`)
	for d := range all {
		if parts := form.FindStringSubmatch(d.String()); parts != nil {
			labels[parts[1]] = slices.Sorted(slices.Values(regexp.MustCompile(`\w+`).FindAllString(
				value.ReplaceAllString(parts[2], "")+","+parts[3], -1)))
		}
	}
	for name, f := range written(t) {
		labels[name] = nil
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[name] = append(labels[name], l.GetName())
		}
	}
	return labels
}

// written returns what a retraining writes to a file.
func written(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	path, figures := filepath.Join(t.TempDir(), "wardcast.prom"),
		gate.Figures{Challenger: &eval.Assessment{}, Champion: &eval.Assessment{}}
	done := &retrain.Result{
		Promotion: &train.Promotion{Verdict: &gate.Verdict{Decision: gate.Promote, Figures: figures}},
	}
	if err := (&textfile.Retraining{Ended: time.Now(), Result: done}).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path) //nolint:gosec // the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(file)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// entry is what docs/metrics.md says of a metric.
type entry struct {
	typ    string
	labels map[string][]string // the values of each, nil if there is no list of them
}

// page reads docs/metrics.md.
func page(t *testing.T) map[string]entry {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]entry{}
	label, value := regexp.MustCompile("`(\\w+)`(?: \\(([^)]*)\\))?"), regexp.MustCompile("`(\\w+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| `(wardcast_\\w+)` \\| (\\w+) \\| (.*?) \\| [^|]+ \\| [^|]+ \\|$").
		FindAllStringSubmatch(string(text), -1) {
		e := entry{typ: row[2], labels: map[string][]string{}}
		for _, l := range label.FindAllStringSubmatch(row[3], -1) {
			e.labels[l[1]] = nil
			if !regexp.MustCompile(`^(the|such as) `).MatchString(l[2]) { // open lists that name some of their values
				for _, v := range value.FindAllStringSubmatch(l[2], -1) {
					e.labels[l[1]] = append(e.labels[l[1]], v[1])
				}
			}
		}
		if _, twice := entries[row[1]]; twice {
			t.Errorf("%s has two rows", row[1])
		}
		entries[row[1]] = e
	}
	return entries
}

// bridgeMetrics begins the names of the metrics of `wardcast bridge`, which package internal/bridge/process holds
// against the page.
const bridgeMetrics = "wardcast_bridge_"

// TestMetricsPage holds docs/metrics.md against what a scorer that does all it can exports, and a retraining writes:
// names, types, labels and their values.
func TestMetricsPage(t *testing.T) {
	t.Parallel()
	want, got := map[string][]string{}, exported(t)
	entries := page(t)
	maps.DeleteFunc(entries, func(name string, _ entry) bool { return strings.HasPrefix(name, bridgeMetrics) })
	for name, e := range entries {
		want[name] = slices.Sorted(maps.Keys(e.labels))
	}
	check := func(f *dto.MetricFamily) {
		t.Helper()
		e := entries[f.GetName()]
		if typ := strings.ToLower(f.GetType().String()); typ != e.typ {
			t.Errorf("%s is a %s, the page says %s", f.GetName(), typ, e.typ)
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if values := e.labels[l.GetName()]; values != nil && !slices.Contains(values, l.GetValue()) {
					t.Errorf("%s has the %s %s, which the page does not list", f.GetName(), l.GetName(), l.GetValue())
				}
			}
		}
	}
	for _, f := range written(t) {
		check(f)
	}
	empty := cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })
	if d := cmp.Diff(got, want, cmp.FilterValues(func(a, b []string) bool { return a == nil || b == nil },
		empty)); d != "" {
		t.Errorf("exported and on the page (-exported +page):\n%s", d)
	}

	s := whole(t)
	s.broker()
	storetest.Add(t, s.store, generation(t, 1)...) // a challenger
	r := s.start().ready()
	c := s.stream()
	c.send(append(notes(t, 0, 400), &kgo.Record{Value: []byte(secret)})...)
	c.answers(401)
	labelled(c, 300)
	s.get("/readyz")
	families := func() map[string]*dto.MetricFamily {
		all, err := s.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]*dto.MetricFamily{}
		for _, f := range all {
			found[f.GetName()] = f
		}
		return found
	}
	s.await("all metrics", func() bool {
		found := families()
		for name := range entries {
			if found[name] == nil && !strings.HasPrefix(name, "wardcast_retrain_") {
				return false
			}
		}
		return true
	})
	for name, f := range families() {
		if strings.HasPrefix(name, "wardcast_") {
			check(f)
		}
	}
	r.stop()
}
