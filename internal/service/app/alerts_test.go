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

// TestLabelValues holds the values of labels by which deploy/ and the documents select metrics against docs/metrics.md.
func TestLabelValues(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := slices.Concat(documents, []string{filepath.Join(root, "docs", "commands"), filepath.Join(root, "deploy")})
	external := regexp.MustCompile(`name: (wardcast_\w+)\n +selector:\n +matchLabels: {(\w+): (\w+)}`) // of Kubernetes
	selector, part := regexp.MustCompile(`(wardcast_\w+){([^}]*)}`), regexp.MustCompile(`(\w+)[=!]~?"([^"]*)"`)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	metrics, seen := page(t), 0
	check := func(path string, _ os.DirEntry, err error) error {
		text, _ := os.ReadFile(path) //nolint:gosec // of the repository; a folder has no text
		plain := strings.ReplaceAll(external.ReplaceAllString(string(text), `$1{$2="$3"}`), `\"`, `"`)
		for _, m := range selector.FindAllStringSubmatch(plain, -1) {
			metric, ok := metrics[m[1]]
			if !ok {
				metric = metrics[suffix.ReplaceAllString(m[1], "")]
			}
			for _, l := range part.FindAllStringSubmatch(m[2], -1) {
				values := metric.labels[l[1]]
				if l[1] == "stream" {
					values = []string{"triage", "questionnaires"}
				}
				if values == nil || strings.HasPrefix(l[2], "$") {
					continue
				}
				seen++
				if !slices.ContainsFunc(values, regexp.MustCompile(`^(?:`+l[2]+`)$`).MatchString) {
					t.Errorf("%s selects %s, which no metric has: it has %v", path, m[0], values)
				}
			}
		}
		return err
	}
	for _, path := range files {
		if err := filepath.WalkDir(path, check); err != nil {
			t.Error(err)
		}
	}
	if seen < 50 {
		t.Errorf("%d values", seen)
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
