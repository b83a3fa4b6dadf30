package app_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// rules and rulesTest are what a site gives to Prometheus.
var (
	rules     = filepath.Join("..", "..", "..", "deploy", "prometheus", "wardcast.rules.yml")
	rulesTest = filepath.Join("..", "..", "..", "deploy", "prometheus", "wardcast.rules_test.yml")
)

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
	metrics := page(t)
	tests, page := read(rulesTest), read(filepath.Join("..", "..", "..", "docs", "operations.md"))
	labels, seen := exported(t), 0
	for name, e := range metrics {
		if strings.HasPrefix(name, bridgeMetrics) {
			labels[name] = slices.Sorted(maps.Keys(e.labels))
		}
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			seen++
			known := []string{"job", "instance"} // which Prometheus adds
			selectors := regexp.MustCompile(`(wardcast_\w+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(r.Expr, -1)
			if len(selectors) == 0 {
				t.Errorf("%s looks at no metric", r.Alert)
			}
			for _, m := range selectors {
				has, ok := labels[m[1]]
				if !ok {
					t.Errorf("%s looks at %s, which neither a scorer nor a retraining exports", r.Alert, m[1])
				}
				known = append(known, has...)
				for _, l := range regexp.MustCompile(`(\w+)[=!]`).FindAllStringSubmatch(m[2], -1) {
					if !slices.Contains(has, l[1]) {
						t.Errorf("%s selects by the label %s, which %s does not have", r.Alert, l[1], m[1])
					}
				}
			}
			grouped := regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`).FindAllStringSubmatch(r.Expr, -1)
			grouped = append(grouped,
				regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations.Description, -1)...)
			for _, g := range grouped {
				for name := range strings.SplitSeq(g[1], ", ") {
					if !slices.Contains(known, name) {
						t.Errorf("%s has the label %s, which none of its metrics has", r.Alert, name)
					}
				}
			}
			if r.Labels.Severity != "critical" && r.Labels.Severity != "warning" || r.Annotations.Summary == "" ||
				r.Annotations.Description == "" {
				t.Errorf("%s: severity %q, summary %q", r.Alert, r.Labels.Severity, r.Annotations.Summary)
			}
			if !strings.Contains(page, "\n### "+r.Alert+"\n") {
				t.Errorf("docs/operations.md does not say what to do about %s", r.Alert)
			}
			if fires := regexp.MustCompile(`alertname: ` + r.Alert +
				`\n +eval_time: \w+\n +exp_alerts:\n +- exp_labels`); !fires.MatchString(tests) {
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
