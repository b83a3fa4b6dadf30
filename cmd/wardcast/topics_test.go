package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// shownTopic is a topic as JSON output holds it.
type shownTopic struct {
	Model       string   `json:"model"`
	Version     string   `json:"version"`
	Topic       int      `json:"topic"`
	Label       string   `json:"label"`
	Coefficient float64  `json:"coefficient"`
	Prevalence  *float64 `json:"prevalence"`
	Direction   string   `json:"direction"`
	Terms       []struct {
		Term    string   `json:"term"`
		Surface []string `json:"surface"`
		Weight  float64  `json:"weight"`
	} `json:"terms"`
}

func TestTopics(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	var list []shownTopic
	if err := json.Unmarshal([]byte(succeed(t, "", "topics", "list", "--model-dir", dir, "--output=json")),
		&list); err != nil {
		t.Fatal(err)
	}
	if len(list) != trainedTopics {
		t.Fatalf("%d topics, want 6", len(list))
	}
	var shown struct {
		Model, Version string
		Topics         []shownTopic
	}
	if err := json.Unmarshal([]byte(succeed(t, "", "topics", "show", "--model-dir", dir, "_other", "--terms", "3",
		"--output=json")), &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown.Topics) != len(list) {
		t.Fatalf("%d topics shown, %d listed", len(shown.Topics), len(list))
	}
	total := 0.0
	for i, s := range shown.Topics {
		l := list[i]
		if l.Model != "_other" || l.Version != shown.Version || l.Topic != i+1 || s.Topic != l.Topic ||
			s.Label != l.Label || l.Label == "" || s.Coefficient != l.Coefficient {
			t.Errorf("listed %+v, shown %+v", l, s)
		}
		direction := map[bool]string{true: "admission", false: "discharge"}[s.Coefficient > 0]
		if s.Coefficient == 0 {
			direction = "none"
		}
		if s.Direction != direction || l.Direction != direction {
			t.Errorf("topic %d, coefficient %v: direction %q and %q", s.Topic, s.Coefficient, s.Direction, l.Direction)
		}
		total += *s.Prevalence
		positive, largest := 0, math.Inf(1)
		for _, w := range s.Terms {
			if w.Weight > 0 {
				positive++
			}
			if w.Term == "" || len(w.Surface) == 0 || w.Weight == 0 || math.Abs(w.Weight) > largest {
				t.Errorf("topic %d: terms %+v are not whole, or not by |weight|", s.Topic, s.Terms)
			}
			largest = math.Abs(w.Weight)
		}
		if positive != 3 || len(s.Terms) != 6 {
			t.Errorf("topic %d: %d terms, %d of them positive; want 3 of each sign", s.Topic, len(s.Terms), positive)
		}
	}
	if total <= 0.5 || total > 1+1e-12 {
		t.Errorf("prevalences sum to %v", total)
	}

	// A prediction names the topics as the list does.
	prediction := clitest.Object(t, succeed(t, "", "predict", "--model-dir", dir, "--text", "fall, hip pain",
		"--complaint", "Fall"))
	entries, _ := prediction["topics"].([]any)
	if len(entries) == 0 {
		t.Fatal("a prediction without topics")
	}
	for _, e := range entries {
		topic, _ := e.(map[string]any)
		at, _ := topic["topic"].(float64)
		if at == 0 { // the rest
			continue
		}
		if l := list[int(at)-1]; topic["label"] != l.Label || topic["coefficient"] != l.Coefficient {
			t.Errorf("predicted %v, listed %+v", topic, l)
		}
	}

	if got := succeed(t, "", "topics", "list", "--model-dir", dir, "--model",
		"_other"); !strings.HasPrefix(got, "MODEL ") || strings.Count(got, "\n") != 1+trainedTopics {
		t.Errorf("topics list prints %q", got)
	}
	got := succeed(t, "", "topics", "show", "--model-dir", dir, "_other", "--topic", "2", "--terms", "3",
		"--version", shown.Version)
	if !strings.HasPrefix(got, "Topic 2: "+list[1].Label+"\n") || strings.Count(got, "\n") != 6 ||
		!strings.Contains(got, "POSITIVE") || !strings.Contains(got, "NEGATIVE") {
		t.Errorf("topics show prints %q", got)
	}

	fail(t, cli.ExitUsage, []string{"topics", "show", "--model-dir", dir, "_other", "--topic", "7"}, "has 6 topics")
	fail(t, cli.ExitUsage, []string{"topics", "show", "--model-dir", dir, "_other", "--topic", "0"}, "has 6 topics")
	fail(t, cli.ExitUsage, []string{"topics", "show", "--model-dir", dir, "_other", "--terms", "0"}, "--terms 0")
	fail(t, cli.ExitFailed, []string{"topics", "show", "--model-dir", dir, "nobody"}, "nobody")
	fail(t, cli.ExitFailed, []string{"topics", "list", "--model-dir", dir, "--model", "nobody"}, "nobody")
}

func TestTopicsSearch(t *testing.T) {
	t.Parallel()
	dir, index := trained(t), filepath.Join(t.TempDir(), "index")
	search := func(args ...string) string {
		return succeed(t, "", append([]string{"topics", "search", "--model-dir", dir, "--index", index}, args...)...)
	}
	type results struct {
		Total   int          `json:"total"`
		Results []shownTopic `json:"results"`
		Facets  map[string][]struct {
			Value string
			Count int
		}
	}
	found := func(args ...string) (r results) {
		if err := json.Unmarshal([]byte(search(append(args, "--output=json")...)), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := found()
	if all.Total != trainedTopics || len(all.Results) != trainedTopics || len(all.Facets["model"]) != 1 ||
		all.Facets["model"][0].Count != trainedTopics {
		t.Fatalf("all topics: %+v", all)
	}
	// The heaviest word of a topic finds it before the others.
	for _, topic := range all.Results {
		if got := found(topic.Terms[0].Surface[0]); got.Total == 0 || got.Results[0].Topic != topic.Topic {
			t.Errorf("%q finds %+v, want topic %d first", topic.Terms[0].Surface[0], got.Results, topic.Topic)
		}
	}
	if got := search(all.Results[0].Terms[0].Surface[0], "--limit", "1"); !strings.HasPrefix(got, "MODEL ") ||
		!strings.Contains(got, all.Results[0].Label) {
		t.Errorf("a search prints %q", got)
	}
	if got := search("--since-word", all.Results[0].Terms[0].Surface[0]); strings.Count(got, "\n") != 2 ||
		!strings.Contains(got, "_other") {
		t.Errorf("--since-word prints %q", got)
	}
	if got := found("--like", "_other/1"); got.Total >= trainedTopics {
		t.Errorf("like topic 1: %+v", got)
	}
	failing := []string{"topics", "search", "--model-dir", dir, "--index", index}
	fail(t, cli.ExitUsage, append(failing, "--limit", "0"), "--limit 0")
	fail(t, cli.ExitFailed, []string{"topics", "search", "--model-dir", dir, "--index", "/dev/null/x"}, "--index")
	fail(t, cli.ExitUsage, append(failing, "--like", "_other"), "MODEL/TOPIC")
	fail(t, cli.ExitUsage, append(failing, "--like", "_other/9"), "not found")
}
