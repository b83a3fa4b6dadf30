package app_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver"
)

// The instrument of the tests, and another whose items are some of the first one's.
const (
	mind  = "mind"
	brief = "brief"
)

// factors of the models.
const factors = 5

// fits are two fits to the items of mind, of different participants, and one to those of brief.
var fits = map[string]func() (*model.Fitted, error){
	mind:    sync.OnceValues(func() (*model.Fitted, error) { return fitAnswers(1, []string{"*_?"}) }),
	"later": sync.OnceValues(func() (*model.Fitted, error) { return fitAnswers(2, []string{"*_?"}) }),
	brief:   sync.OnceValues(func() (*model.Fitted, error) { return fitAnswers(1, []string{"*_1", "*_2"}) }),
}

func fitAnswers(seed uint64, items []string) (*model.Fitted, error) {
	text, err := plantAnswers(seed, 200)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "wardcast-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of the system's temporary files
	path := filepath.Join(dir, "answers.csv")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	return fit.Fit(context.Background(), fit.Options{
		Input: path, Factors: []int{factors}, Betas: []float64{0.1},
		Learning: model.Learning{RelTol: solver.DefaultRelTol, Seed: seed}, Columns: answers.Columns{
			Items: items, Range: &questionnaire.Range{Low: 0, High: synth.QuestionnaireTop}, Reversed: items[:1],
			Confounds: []questionnaire.Confound{
				{Name: "age", Kind: questionnaire.Numeric}, {Name: "sex", Kind: questionnaire.Categorical},
			},
		},
	})
}

// plantAnswers returns the answers of so many participants, as CSV.
func plantAnswers(seed uint64, participants int) ([]byte, error) {
	var b bytes.Buffer
	err := synth.WriteQuestionnaire(context.Background(), &b, synth.QuestionnaireAnswers,
		synth.QuestionnaireSettings{Participants: participants, Seed: seed, Missing: 0.1})
	return b.Bytes(), err
}

// refit writes one of fits into the folder of an instrument's model, as `questionnaire fit` does.
func (s *site) refit(instrument, fit string) {
	s.Helper()
	f, err := fits[fit]()
	if err != nil {
		s.Fatal(err)
	}
	own := *f // Write notes in it where the answers are from the folder
	if err := folder.Write(s.Context(), s.config.Questionnaires.Models[instrument], &own); err != nil {
		s.Fatal(err)
	}
}

// questionnaires turns the scoring of responses to mind and brief on.
func (s *site) questionnaires() {
	s.Helper()
	s.config.Questionnaires.Models = map[string]string{mind: filepath.Join(s.dir, mind), brief: filepath.Join(s.dir,
		brief)}
	for instrument, path := range s.config.Questionnaires.Models {
		written, err := outputs[instrument]()
		if err == nil {
			err = os.CopyFS(path, os.DirFS(written))
		}
		if err != nil {
			s.Fatal(err)
		}
	}
}

// outputs are the folders of the first fit of each instrument, for sites to copy: the figures take longest.
var outputs = map[string]func() (string, error){
	mind:  sync.OnceValues(func() (string, error) { return output(mind) }),
	brief: sync.OnceValues(func() (string, error) { return output(brief) }),
}

func output(instrument string) (string, error) {
	path := filepath.Join(scratch, instrument)
	f, err := fits[instrument]()
	if err != nil {
		return "", err
	}
	own := *f
	return path, folder.Write(context.Background(), path, &own)
}

// responses returns a client that reads the scores from their beginning.
func (s *site) responses() *stream {
	s.Helper()
	t := s.config.Questionnaires.Topics
	return s.client(t.Scores, &stream{group: s.config.Questionnaires.Group, input: t.Responses, dlq: t.DeadLetters})
}

// respond returns the responses of so many participants, whose ids begin with the secret, and the table that holds
// them.
func respond(t testing.TB, instrument string, seed uint64, participants int) (records []*kgo.Record, table string) {
	t.Helper()
	text, err := plantAnswers(seed, participants)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows[1:] {
		row[0] = fmt.Sprintf("%s-%s-%d-%d", secret, instrument, seed, i)
		answers, confounds := map[string]float64{}, map[string]any{}
		for j, name := range rows[0] {
			v, err := strconv.ParseFloat(row[j], 64)
			switch {
			case name == "age":
				confounds[name] = v
			case name == "sex":
				confounds[name] = row[j]
			case err == nil:
				answers[name] = v
			}
		}
		data, err := json.Marshal(map[string]any{
			"schema_version": "1", "response_id": row[0], "participant_id": secret,
			"instrument": instrument, "answers": answers, "confounds": confounds,
		})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, &kgo.Record{Key: []byte(row[0]), Value: data})
	}
	table = filepath.Join(t.TempDir(), "responses.csv")
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(table, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return records, table
}

// scored returns what `questionnaire score` makes of a table, by the model of the instrument as it is now.
func (s *site) scored(instrument, table string) map[string][]float64 {
	s.Helper()
	m, err := model.Load(s.config.Questionnaires.Models[instrument])
	if err != nil {
		s.Fatal(err)
	}
	scores, err := fit.Score(m, table, fit.Scoring{})
	if err != nil {
		s.Fatal(err)
	}
	want := map[string][]float64{}
	for i, id := range scores.IDs {
		want[id] = scores.Values.RawRowView(i)
	}
	return want
}

// readScores returns a message of scores, and the scores alone.
func readScores(t *testing.T, value []byte) (*msg.Scores, []float64) {
	t.Helper()
	s := &msg.Scores{}
	if err := json.Unmarshal(value, s); err != nil {
		t.Fatalf("the scores are not JSON: %v", err)
	}
	var values []float64
	for _, x := range s.Scores {
		values = append(values, x.Score)
	}
	return s, values
}

// handle returns a worker's answer.
func handle(t *testing.T, w ingest.Worker, value []byte) []byte {
	t.Helper()
	var out ingest.Output
	if err := w.Handle(&ingest.Record{Value: value}, &out); err != nil {
		t.Error(err)
	}
	return out.Value
}
