package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/obs"
	"github.com/wardcast/wardcast/models/retrain"
)

// rules and rulesTest are what a site gives to Prometheus.
var (
	rules     = filepath.Join("..", "..", "..", "deploy", "prometheus", "wardcast.rules.yml")
	rulesTest = filepath.Join("..", "..", "..", "deploy", "prometheus", "wardcast.rules_test.yml")
)

// exported returns the names of all metrics that a scorer can export, those without a value too.
func exported(s *site) map[string]bool {
	s.Helper()
	s.config.Kafka.Brokers, s.config.Shadow.Generation = []string{"127.0.0.1:1"}, config.LatestChallenger
	if _, err := app.New(s.Context(), s.options); err != nil {
		s.Fatal(err)
	}
	all := make(chan *prometheus.Desc)
	go func() {
		s.registry.Describe(all)
		close(all)
	}()
	names, fqName := map[string]bool{}, regexp.MustCompile(`fqName: "(\w+)"`)
	for d := range all {
		names[fqName.FindStringSubmatch(d.String())[1]] = true
	}
	return names
}

// written adds the names of the metrics that a retraining writes to a file.
func written(t *testing.T, names map[string]bool, read func(path string) string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wardcast.prom")
	if err := (&obs.Retraining{Ended: time.Now(), Result: &retrain.Result{}}).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`# TYPE (\w+)`).FindAllStringSubmatch(read(path), -1) {
		names[found[1]] = true
	}
}

// TestAlerts holds the alert rules against the metrics that there are, the tests of the rules, and the page that says
// what to do. promtool checks the rest: see TestPromtool.
func TestAlerts(t *testing.T) {
	t.Parallel()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      struct{ Severity string }
				Annotations struct{ Summary, Description string }
			}
		}
	}
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if err := yaml.Unmarshal([]byte(read(rules)), &file); err != nil {
		t.Fatal(err)
	}
	tests, page := read(rulesTest), read(filepath.Join("..", "..", "..", "docs", "operations.md"))
	names, seen := exported(newSite(t)), 0
	written(t, names, read)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			seen++
			metrics := regexp.MustCompile(`wardcast_\w+`).FindAllString(r.Expr, -1)
			if len(metrics) == 0 {
				t.Errorf("%s looks at no metric", r.Alert)
			}
			for _, m := range metrics {
				if !names[m] {
					t.Errorf("%s looks at %s, which neither a scorer nor a retraining exports", r.Alert, m)
				}
			}
			if r.Labels.Severity != "critical" && r.Labels.Severity != "warning" || r.Annotations.Summary == "" || r.Annotations.Description == "" {
				t.Errorf("%s: severity %q, summary %q", r.Alert, r.Labels.Severity, r.Annotations.Summary)
			}
			if !strings.Contains(page, "\n### "+r.Alert+"\n") {
				t.Errorf("docs/operations.md does not say what to do about %s", r.Alert)
			}
			if fires := regexp.MustCompile(`alertname: ` + r.Alert + `\n +eval_time: \w+\n +exp_alerts:\n +- exp_labels`); !fires.MatchString(tests) {
				t.Errorf("no test of the rules lets %s fire", r.Alert)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d alerts", seen)
	}
}

// TestPromtool has Prometheus itself check the rules and run their tests.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool := os.Getenv("WARDCAST_PROMTOOL")
	if promtool == "" {
		t.Skip("WARDCAST_PROMTOOL does not name promtool, a program of Prometheus")
	}
	for _, args := range [][]string{{"check", "rules", rules}, {"test", "rules", rulesTest}} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		if err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
