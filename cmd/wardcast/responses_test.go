package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// instrument is the questionnaire of the tests.
const instrument = "mind"

// fitted returns the folder of a model of answers that the commands made.
func fitted(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	answers, codebook := clitest.File(t, "answers.csv", succeed(t, "", "synth", "questionnaire", "--count", "300")),
		clitest.File(t, "codebook.csv", succeed(t, "", "synth", "questionnaire", "--part", "codebook"))
	succeed(t, "", "questionnaire", "fit", answers, "--codebook", codebook, "--confounds",
		"age:numeric,sex:categorical", "--factors", "5", "--beta", "0.1", "--out", dir)
	return dir
}

// participants is how many a stream of responses may send.
const participants = 5000

// newResponses makes the topics and the configuration for scorers of responses alone, by the model in this folder.
func newResponses(t *testing.T, bootstrap, model string) *stream {
	t.Helper()
	s := openStream(t, bootstrap)
	s.config = clitest.File(t, "wardcast.yaml", fmt.Sprintf(`kafka:
  brokers: [%s]
models: {store: ""}
questionnaires:
  models: {%s: %s}
  group: %s
  topics: {responses: %s, scores: %s, dead_letters: %s}
http: {listen: ""}
`, strings.ReplaceAll(bootstrap, ",", ", "), instrument, model, s.group, s.input, s.answered, s.dlq))
	rows, err := csv.NewReader(strings.NewReader(succeed(t, "", "synth", "questionnaire", "--count",
		strconv.Itoa(participants), "--seed", "2"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	s.message = func(i int) (string, []byte) {
		row := rows[1+i]
		row[0] = fmt.Sprintf("%s-%d", secret, i)
		answers, confounds := map[string]float64{}, map[string]any{}
		for j, name := range rows[0] {
			v, err := strconv.ParseFloat(row[j], 64)
			switch {
			case name == "sex":
				confounds[name] = row[j]
			case name == "age":
				confounds[name] = v
			case err == nil:
				answers[name] = v
			}
		}
		data, err := json.Marshal(map[string]any{
			"schema_version": "1", "response_id": row[0], "instrument": instrument,
			"answers": answers, "confounds": confounds,
		})
		if err != nil {
			t.Fatal(err)
		}
		return row[0], data
	}
	s.want = func(good []string) map[string]string {
		whole := [][]string{rows[0]}
		for _, row := range rows[1:] {
			if slices.Contains(good, row[0]) {
				whole = append(whole, row)
			}
		}
		var table strings.Builder
		if err := csv.NewWriter(&table).WriteAll(whole); err != nil {
			t.Fatal(err)
		}
		printed, err := csv.NewReader(strings.NewReader(succeed(t, "", "questionnaire", "score", "--model", model,
			clitest.File(t, "responses.csv", table.String())))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, row := range printed[1:] {
			want[row[0]] = strings.Join(row[1:slices.Index(printed[0], "answered")], ",")
		}
		return want
	}
	s.essence = func(answer string) string {
		var got msg.Scores
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatal(err)
		}
		var scores []string
		for _, x := range got.Scores {
			scores = append(scores, strconv.FormatFloat(x.Score, 'g', -1, 64)) // as in a table
		}
		return strings.Join(scores, ",")
	}
	return s
}

// TestServeQuestionnaires fits a model, serves it with the scorer's own broker, and fits it anew while it serves.
func TestServeQuestionnaires(t *testing.T) {
	t.Parallel()
	model, address := fitted(t), ingesttest.FreeAddress(t)
	config := clitest.File(t, "wardcast.yaml", fmt.Sprintf("kafka: {brokers: [%q]}\nmodels: {store: '', poll: "+
		"20ms}\nquestionnaires: {models: {%s: %s}}\nhttp: {listen: ''}\n", address, instrument, model))
	if out := succeed(t, "", "check-config", config); !strings.Contains(out, "is valid") {
		t.Errorf("check-config says %q", out)
	}
	p := launch(t, "serve", "--config", config, "--embedded-broker", filepath.Join(t.TempDir(), "broker"),
		"--create-topics").ready()
	s := newResponses(t, address, model)
	// The topics that serve has made.
	s.Close()
	s.input, s.answered, s.dlq = "questionnaire.responses", "questionnaire.scores", "questionnaire.responses.dlq"
	s.Client = reader(t, address, s)
	s.send(200)
	s.settle()
	if repeats := s.verdict(); repeats != 0 || len(s.dead) != 2 {
		t.Errorf("%d repeats, %d dead letters; want 0 and 2", repeats, len(s.dead))
	}

	before := s.want(s.order[:1])
	answers := clitest.File(t, "answers.csv", succeed(t, "", "synth", "questionnaire", "--count", "300", "--seed", "3"))
	succeed(t, "", "questionnaire", "fit", answers, "--items", "*_?", "--range", "0:4", "--confounds",
		"age:numeric,sex:categorical", "--factors", "4", "--beta", "0.1", "--out", model)
	p.says("new models in use")
	if maps.Equal(before, s.want(s.order[:1])) {
		t.Error("the new fit scores as the first")
	}
	again := *s
	again.predictions, again.dead = nil, nil
	again.sent, again.order = map[string]*kgo.Record{}, nil
	again.send(200)
	again.settle()
	again.verdict()
	again.Close()
	p.stop()
}

// TestCheckConfigQuestionnaires: what is wrong with a model is told before anything starts.
func TestCheckConfigQuestionnaires(t *testing.T) {
	t.Parallel()
	config := func(models string) string {
		return clitest.File(t, "wardcast.yaml",
			"kafka: {brokers: [127.0.0.1:1]}\nquestionnaires: {models: {"+models+"}}\n")
	}
	visits := filepath.Join(t.TempDir(), "visits")
	answers := clitest.File(t, "visits.csv",
		succeed(t, "", "synth", "questionnaire", "--count", "100", "--visits", "2"))
	succeed(t, "", "questionnaire", "longitudinal", answers, "--time", "age", "--bins", "6,12,24", "--items", "mood_*",
		"--range", "0:4", "--confounds", "sex:categorical", "--factors", "2", "--beta", "0.1", "--out", visits)
	damaged := fitted(t)
	path := filepath.Join(damaged, "model.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		models string
		want   []string
	}{
		"no folder": {"mind: nowhere", []string{"questionnaires.models.mind", "nowhere", "SHA256SUMS"}},
		"damaged":   {"mind: " + damaged, []string{"questionnaires.models.mind", "model.json"}},
		"of visits": {"mind: " + visits, []string{"questionnaires.models.mind", "longitudinal"}},
		"all":       {"a: nowhere, b: " + visits, []string{"questionnaires.models.a", "questionnaires.models.b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, cli.ExitFailed, []string{"check-config", config(c.models)}, c.want...)
		})
	}
}
