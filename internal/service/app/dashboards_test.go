package app_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/wardcast/wardcast/internal/service/app"
)

// expression is an expression of a dashboard.
type expression struct {
	place string // the dashboard, and the title of the panel or the name of the variable
	text  string
}

// expressions returns those of all dashboards, and all that they say in words.
func expressions(t *testing.T) (all []expression, words string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "deploy", "grafana", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board any
		if err := json.Unmarshal(data, &board); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		words += string(data)
		var walk func(value any, place string)
		walk = func(value any, place string) {
			switch value := value.(type) {
			case []any:
				for _, v := range value {
					walk(v, place)
				}
			case map[string]any:
				for _, name := range []string{"name", "title"} {
					if s, ok := value[name].(string); ok {
						place = filepath.Base(file) + ", " + s
					}
				}
				if s, ok := value["expr"].(string); ok {
					all = append(all, expression{place, s})
				}
				if s, ok := value["definition"].(string); ok { // of a variable: label_values(METRIC, LABEL)
					s = strings.TrimSuffix(strings.TrimPrefix(s, "label_values("), ")")
					at := strings.LastIndex(s, ", ")
					all = append(all, expression{place, "count by (" + s[at+2:] + ") (" + s[:at] + ")"})
				}
				for _, v := range value {
					walk(v, place)
				}
			}
		}
		walk(board, "")
	}
	return all, words
}

// TestDashboards holds the dashboards of Grafana against the metrics and labels that there are, and the alerts that
// they name against the rules. promtool parses their expressions: see TestDashboardsParse.
func TestDashboards(t *testing.T) {
	t.Parallel()
	labels := exported(t)
	for name, e := range page(t) {
		if strings.HasPrefix(name, bridgeMetrics) {
			labels[name] = slices.Sorted(maps.Keys(e.labels))
		}
		if e.typ == "histogram" {
			labels[name+"_bucket"] = append([]string{"le"}, labels[name]...)
			labels[name+"_sum"], labels[name+"_count"] = labels[name], labels[name]
		}
	}
	others, err := app.NewRegistry("test").Gather() // of the process and of Go
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range others {
		if labels[f.GetName()] == nil {
			labels[f.GetName()] = []string{}
		}
	}
	labels["ALERTS"] = []string{"alertname", "alertstate", "severity", "stream", "model", "reason"} // of Prometheus

	all, words := expressions(t)
	seen := map[string]bool{}
	for _, e := range all {
		known, names := []string{"job", "instance", "__name__"}, metricNames(e.text)
		for _, name := range names {
			has, ok := labels[name]
			if !ok {
				t.Errorf("%s looks at %s, which does not exist", e.place, name)
			}
			seen[name], known = true, append(known, has...)
		}
		if len(names) == 0 {
			t.Errorf("%s looks at no metric: %s", e.place, e.text)
		}
		text := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(e.text, `""`)
		used := regexp.MustCompile(`(\w+)[=!]~?""`).FindAllStringSubmatch(text, -1)
		for _, list := range regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
			for label := range strings.SplitSeq(list[1], ", ") {
				used = append(used, []string{"", label})
			}
		}
		for _, label := range used {
			if !slices.Contains(known, label[1]) {
				t.Errorf("%s has the label %s, which none of its metrics has: %s", e.place, label[1], e.text)
			}
		}
	}
	for name := range page(t) {
		if !seen[name] && !seen[name+"_bucket"] && !seen[name+"_sum"] {
			t.Errorf("no dashboard shows %s: add it to deploy/grafana", name)
		}
	}
	rules, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range regexp.MustCompile(`(?m)alert: (\w+)$`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(words, alert[1]) {
			t.Errorf("no dashboard names the alert %s", alert[1])
		}
	}
	for _, alert := range regexp.MustCompile(`\bWardcast[A-Z]\w*`).FindAllString(words, -1) {
		if !strings.Contains(string(rules), "alert: "+alert+"\n") {
			t.Errorf("a dashboard names the alert %s, which does not exist", alert)
		}
	}
}

// metricNames returns the names of the metrics of an expression: what is no word of the language, no label and no text.
func metricNames(expr string) (names []string) {
	for _, list := range regexp.MustCompile(`__name__=~"([^"]*)"`).FindAllStringSubmatch(expr, -1) {
		names = append(names, strings.Split(list[1], "|")...)
	}
	for _, part := range []string{
		`"[^"]*"`, `\{[^}]*\}`, `\[[^]]*\]`, `\b(\w+ by|on) \([^)]*\)`, `\b\w+\(`, `\b(and|or|unless)\b`,
	} {
		expr = regexp.MustCompile(part).ReplaceAllString(expr, " ")
	}
	return append(names, regexp.MustCompile(`\b[A-Za-z_:]\w*`).FindAllString(expr, -1)...)
}

// TestDashboardsParse has Prometheus itself parse the expressions of the dashboards.
func TestDashboardsParse(t *testing.T) {
	t.Parallel()
	promtool := os.Getenv("WARDCAST_PROMTOOL")
	if promtool == "" {
		t.Skip("WARDCAST_PROMTOOL does not name promtool, a program of Prometheus")
	}
	variables := strings.NewReplacer("$__rate_interval", "2m", "$job", "a|b", "$instance", "a:1|b:2", "$stream", "x")
	var records []map[string]string
	all, _ := expressions(t)
	for _, e := range all {
		expr := variables.Replace(e.text)
		if strings.Contains(expr, "$") {
			t.Errorf("%s has an unknown variable: %s", e.place, expr)
		}
		records = append(records, map[string]string{"record": "wardcast:dashboard", "expr": expr})
	}
	data, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": records}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboards.yml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", "--lint=none", file).CombinedOutput()
	if err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
	t.Logf("%d expressions", len(records))
}
