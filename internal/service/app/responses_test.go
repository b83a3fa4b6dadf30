package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/service/app"
)

// TestScores streams responses and notes side by side and holds the scores against what `questionnaire score` makes of
// the rows.
func TestScores(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.questionnaires()
	s.config.HTTP.Listen = ingesttest.FreeAddress(t)
	r := s.start().ready()
	c, triage := s.responses(), s.stream()
	sent, table := respond(t, mind, 7, 60)
	short, shortTable := respond(t, brief, 8, 40)
	want := s.scored(mind, table)
	maps.Copy(want, s.scored(brief, shortTable))
	sent = append(sent, short...)
	sent[0].Key = []byte("another key") // the answer's is the response all the same
	c.send(sent...)
	triage.send(notes(t, 0, 20)...)
	c.answers(len(sent))
	triage.answers(20)
	_, metrics := s.get("/metrics")
	if strings.Contains(metrics, secret) {
		t.Error("the metrics name a patient")
	}
	r.stop()

	ids, beyond := map[string]bool{}, 0
	for _, m := range c.predictions {
		got, values := readScores(t, m.Value)
		if string(m.Key) != got.ResponseID || got.ParticipantID != secret {
			t.Errorf("the key of scores is %q, their response %q", m.Key, got.ResponseID)
		}
		if !slices.Equal(values, want[got.ResponseID]) {
			t.Errorf("scores %v, the row's are %v", values, want[got.ResponseID])
		}
		items := map[string]int{mind: 30, brief: 10}[got.Instrument]
		if got.Items != items || got.Answered < items/2 || got.UnknownItems == 0 || got.Model.Name != got.Instrument ||
			len(got.Scores[0].Items) != s.config.Scoring.Terms {
			t.Errorf("scores are %+v", got)
		}
		if len(got.Beyond) > 0 {
			beyond++
		}
		h := headers(m)
		ids[h[msg.HeaderID]] = true
		from := sent[slices.IndexFunc(sent,
			func(r *kgo.Record) bool { return bytes.Contains(r.Value, []byte(`"`+got.ResponseID+`"`)) })]
		fixed := map[string]string{
			msg.HeaderSpecVersion: "1.0", msg.HeaderType: msg.TypeScores, msg.HeaderSource: s.config.Scoring.Source,
			msg.HeaderContentType: "application/json",
			msg.HeaderID:          string(msg.AppendEventID(nil, from.Value, got.Model.Name, got.Model.Version)),
			msg.HeaderTime:        got.ScoredAt,
		}
		if diff := cmp.Diff(fixed, h); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	}
	if len(c.predictions) != len(sent) || len(ids) != len(sent) || len(c.dead) > 0 || len(triage.predictions) != 20 {
		t.Errorf("%d scores with %d ce_id and %d dead letters of %d responses; %d of 20 notes predicted",
			len(c.predictions), len(ids), len(c.dead), len(sent), len(triage.predictions))
	}
	if got := c.committed(); got != len(sent) {
		t.Errorf("offsets committed %d, want %d", got, len(sent))
	}
	for _, m := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"wardcast_questionnaire_scored_total", []string{mind}, 60},
		{"wardcast_questionnaire_scored_total", []string{brief}, 40},
		{"wardcast_questionnaire_beyond_training_total", nil, float64(beyond)},
		{"wardcast_questionnaire_missing_ratio", nil, 100},
		{"wardcast_ingest_records_total", []string{"answered", "questionnaires"}, 100},
		{"wardcast_ingest_records_total", []string{"answered", "triage"}, 20},
		{"wardcast_model_info", []string{"questionnaires"}, 2},
		{"wardcast_model_info", []string{mind, "questionnaires"}, 1},
	} {
		if got := s.metric(m.name, m.labels...); got != m.want {
			t.Errorf("%s of %q is %v, want %v", m.name, m.labels, got, m.want)
		}
	}
}

// TestScoresAlone runs a scorer that knows nothing of triage, with its own broker.
func TestScoresAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Models.Store = ""
	s.questionnaires()
	s.config.Kafka.Brokers, s.config.HTTP.Listen = []string{ingesttest.FreeAddress(t)}, ingesttest.FreeAddress(t)
	s.options.EmbeddedBroker = filepath.Join(s.dir, "broker")
	r := s.start().ready()
	c := s.responses()
	sent, table := respond(t, mind, 7, 30)
	c.send(sent...)
	c.answers(len(sent))
	want := s.scored(mind, table)
	for _, m := range c.predictions {
		if got, values := readScores(t, m.Value); !slices.Equal(values, want[got.ResponseID]) {
			t.Errorf("scores %v, the row's are %v", values, want[got.ResponseID])
		}
	}
	if status, body := s.get("/readyz"); status != http.StatusOK {
		t.Errorf("readyz answers %d %q", status, body)
	}
	_, metrics := s.get("/metrics")
	ready := `"msg":"ready","questionnaires":{"kafka_topic":"questionnaire.responses",` +
		`"group":"wardcast-questionnaires","models":2},"http":`
	s.await("ready", func() bool { return strings.Contains(s.log.String(), ready) })
	if strings.Contains(metrics, "triage") || strings.Contains(metrics, "wardcast_predictions_total") ||
		strings.Contains(s.log.String(), "triage") {
		t.Error("metrics or log mention triage")
	}
	topics, err := c.topics()
	if err != nil || !slices.Equal(topics,
		[]string{"questionnaire.responses", "questionnaire.responses.dlq", "questionnaire.scores"}) {
		t.Errorf("topics %q: %v", topics, err)
	}
	c.Close()
	r.stop()
}

// TestNotReady names the stream that is not consumed.
func TestNotReady(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Models.Store = ""
	s.questionnaires()
	s.config.Kafka.Brokers, s.config.HTTP.Listen, s.options.CreateTopics = []string{ingesttest.FreeAddress(t)},
		ingesttest.FreeAddress(t), false
	r := s.start()
	s.await("the http listener", func() bool { status, _ := s.get("/healthz"); return status == http.StatusOK })
	if status, body := s.get("/readyz"); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, "questionnaires: the consumer has not joined") {
		t.Errorf("readyz without a broker answers %d %q", status, body)
	}
	r.stop()
}

// TestMissingTopics: a topic that one stream lacks ends the process before the other takes part in its group, where
// every start and end would move the partitions of the scorers beside it; and all that are missing are named at once.
func TestMissingTopics(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ there, missing []string }{
		"of one stream": {
			[]string{"triage.notes", "triage.predictions", "triage.notes.dlq", "questionnaire.responses"},
			[]string{"questionnaire.scores", "questionnaire.responses.dlq"},
		},
		"of both": {
			[]string{"questionnaire.responses", "triage.notes", "triage.predictions"},
			[]string{"triage.notes.dlq", "questionnaire.scores", "questionnaire.responses.dlq"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.broker()
			s.questionnaires()
			s.options.CreateTopics = false
			client, err := ingest.NewClient(ingest.Connection{Brokers: s.config.Kafka.Brokers})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			for _, topic := range c.there {
				if err := client.CreateTopics(t.Context(), ingest.Topic{Name: topic}); err != nil {
					t.Fatal(err)
				}
			}
			r := s.start()
			<-r.done
			missing, ok := errors.AsType[*ingest.MissingTopicsError](r.err)
			if !ok || !slices.Equal(missing.Topics, c.missing) {
				t.Errorf("Run: %v, want an error that names %q", r.err, c.missing)
			}
			if strings.Contains(s.log.String(), "joined the consumer group") {
				t.Error("a stream joined its group all the same")
			}
		})
	}
}

// TestResponseDeadLetters streams what cannot be scored among responses.
func TestResponseDeadLetters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.Models.Store = ""
	s.questionnaires()
	r := s.start().ready()
	c := s.responses()
	good, _ := respond(t, brief, 9, 30)
	version := ""
	response := func(instrument, answers, confounds string) []byte {
		return fmt.Appendf(nil, `{"schema_version":"1","response_id":%q,"participant_id":%q,"instrument":%q,`+
			`"answers":{%s},"confounds":{%s}}`, secret, secret, instrument, answers, confounds)
	}
	const known = `"age":9,"sex":"F"`
	bad := map[string]struct {
		value                []byte
		reason, field, stage string
	}{
		"not JSON": {[]byte(secret), "not_json", "", "decode"},
		"version": {
			bytes.Replace(response(brief, `"mood_1":1`, known), []byte(`"1"`), []byte(`"2"`), 1),
			"unknown_schema_version", "schema_version", "decode",
		},
		"text":          {response(brief, `"mood_1":"4"`, known), "wrong_type", "answers.mood_1", "score"},
		"no answers":    {response(brief, ``, known), "no_answers", "answers", "decode"},
		"no such model": {response(secret, `"mood_1":1`, known), "no_model", "instrument", "score"},
		"none of ours":  {response(brief, `"mood_6":1`, known), "no_answers", "answers", "score"},
		"out of range": {
			response(brief, `"mood_1":1,"mood_2":5`, known), "out_of_range", "answers.mood_2", "score",
		},
		"no sex": {response(brief, `"mood_1":1`, `"age":9`), "missing_field", "confounds.sex", "score"},
		"a new sex": {
			response(brief, `"mood_1":1`, fmt.Sprintf(`"age":9,"sex":%q`, secret)), "unknown_level",
			"confounds.sex", "score",
		},
		"age is no number": {
			response(brief, `"mood_1":1`, `"age":"9","sex":"F"`), "wrong_type", "confounds.age", "score",
		},
	}
	var sent []*kgo.Record
	for i, name := range slices.Sorted(maps.Keys(bad)) {
		good[i].Key = []byte(name) // the same partition
		sent = append(sent, &kgo.Record{
			Key: []byte(name), Value: bad[name].value, Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte(name)}},
		}, good[i])
	}
	sent = append(sent, good[len(bad):]...)
	c.send(sent...)
	c.answers(len(sent))
	r.stop()
	if len(c.predictions) != len(good) {
		t.Errorf("%d good responses answered, want %d", len(c.predictions), len(good))
	}
	for _, m := range c.predictions {
		got, _ := readScores(t, m.Value)
		version = got.Model.Version
	}
	for _, m := range c.dead {
		want, ok := bad[string(m.Key)]
		if !ok {
			t.Errorf("%s: a dead letter too many", m.Key)
		}
		delete(bad, string(m.Key))
		if !bytes.Equal(m.Value, want.value) {
			t.Errorf("%s: the dead letter does not hold the original", m.Key)
		}
		h := headers(m)
		wanted := map[string]string{
			"trace": string(m.Key), "dlq-reason": want.reason, "dlq-stage": want.stage,
			"dlq-attempts": "1", "dlq-source-topic": c.input,
		}
		if want.field != "" {
			wanted["dlq-field"] = want.field
		}
		if want.stage == "score" && want.reason != "no_model" {
			wanted["dlq-model-version"] = version
		}
		for _, name := range []string{"dlq-time", "dlq-source-partition", "dlq-source-offset"} {
			if h[name] == "" {
				t.Errorf("%s: no %s", m.Key, name)
			}
			delete(h, name)
		}
		if diff := cmp.Diff(wanted, h); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", m.Key, diff)
		}
	}
	for name := range bad {
		t.Errorf("%s: no dead letter", name)
	}
	if got := s.metric("wardcast_ingest_dead_letters_total", "out_of_range", "questionnaires"); got != 1 {
		t.Errorf("%v dead letters out of range, want 1", got)
	}
	if got := c.committed(); got != len(sent) {
		t.Errorf("offsets committed %d, want %d", got, len(sent))
	}
}

// TestRefitReadsOneModel: the model of an instrument that was not refitted is not read again, so that damage to it is
// not met.
func TestRefitReadsOneModel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.questionnaires()
	h, err := app.NewResponseHandler(t.Context(), &s.config, s.registry)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.config.Questionnaires.Models[brief], model.ModelFile), []byte("damaged"))
	if changed, errs := app.Renew(t.Context(), h); changed || errs != nil {
		t.Errorf("without a refit: %t, %v", changed, errs)
	}
	s.refit(mind, "later")
	if changed, errs := app.Renew(t.Context(), h); !changed || errs != nil {
		t.Errorf("after a refit: %t, %v", changed, errs)
	}
}

// TestRefit fits the model of one instrument anew under a stream, and leaves a folder half-written meanwhile.
func TestRefit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.Models.Store = ""
	s.questionnaires()
	r := s.start().ready()
	c := s.responses()
	sent, table := respond(t, mind, 7, 100)
	short, shortTable := respond(t, brief, 7, 100)
	sent = append(sent, short...)
	before := s.scored(mind, table)
	maps.Copy(before, s.scored(brief, shortTable))
	hold := func(what string, want map[string][]float64) {
		t.Helper()
		c.predictions = nil
		c.send(sent...)
		c.answers(len(sent))
		for _, m := range c.predictions {
			if got, values := readScores(t, m.Value); !slices.Equal(values, want[got.ResponseID]) {
				t.Fatalf("%s: %s scores %v by model %s, want %v", what, got.Instrument, values, got.Model.Version,
					want[got.ResponseID])
			}
		}
	}
	hold("the first models", before)

	// The sums are those of another model, as when a copy is on its way; the other instrument's model is whole.
	sums := filepath.Join(s.config.Questionnaires.Models[brief], model.SumsFile)
	whole, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	write(t, sums, bytes.ToUpper(whole))
	s.await("the half-written model refused several times",
		func() bool { return s.metric("wardcast_model_reloads_total", "failed") >= 3 })
	s.refit(mind, "later")
	s.await("the refitted model taken up", func() bool { return s.metric("wardcast_model_reloads_total", "ok") == 2 })
	after := maps.Clone(before)
	maps.Copy(after, s.scored(mind, table))
	hold("one refitted, one refused", after)
	if maps.EqualFunc(before, after, slices.Equal) {
		t.Error("the refitted model scores as the first")
	}
	var lines []string
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "new models refused; still using the current ones") && strings.Contains(line, brief) {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "questionnaires.models.brief: ") ||
		!strings.Contains(lines[0], model.ModelFile) {
		t.Errorf("the log shows the refusal %q, want one line that names the instrument and the file", lines)
	}

	write(t, sums, append(bytes.Clone(whole), "\n"...)) // whole, and another file all the same
	s.await("the mended model taken up", func() bool { return s.metric("wardcast_model_reloads_total", "ok") == 3 })
	refused := s.metric("wardcast_model_reloads_total", "failed")
	hold("the mended model", after)
	if err := os.Rename(sums, sums+".away"); err != nil {
		t.Fatal(err)
	}
	s.await("the lost model refused",
		func() bool { return s.metric("wardcast_model_reloads_total", "failed") > refused })
	hold("the lost model", after)
	r.stop()
	if got := s.metric("wardcast_ingest_rebalances_total"); got != 1 || len(c.dead) > 0 {
		t.Errorf("the group was joined %v times, %d dead letters; want once, for a swap restarts nothing, and none",
			got, len(c.dead))
	}
}

// TestModelsOfQuestionnaires holds what is wrong with a model against what New and Check say.
func TestModelsOfQuestionnaires(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *site)
		want   []string // in the error; none for no error
	}{
		"as configured": {func(*site) {}, nil},
		"no folder": {
			func(s *site) { s.config.Questionnaires.Models[mind] += "x" },
			[]string{"questionnaires.models.mind", "mindx", "no such file"},
		},
		"both": {func(s *site) {
			s.config.Questionnaires.Models[mind] += "x"
			s.config.Questionnaires.Models[brief] += "y"
		}, []string{"questionnaires.models.mind", "questionnaires.models.brief"}},
		"damaged": {
			func(s *site) { write(s.T, filepath.Join(s.dir, mind, model.LoadingsFile), []byte("x")) },
			[]string{"questionnaires.models.mind", model.LoadingsFile, "sha256"},
		},
		"of visits": {func(s *site) {
			f, err := fits[mind]()
			if err != nil {
				s.Fatal(err)
			}
			visits := *f
			visits.Visits, visits.VisitItems = &questionnaire.Visits{Time: "age", Edges: []float64{6, 18}}, f.Items
			if err := folder.Write(s.Context(), s.config.Questionnaires.Models[brief], &visits); err != nil {
				s.Fatal(err)
			}
		}, []string{"questionnaires.models.brief", "longitudinal", "one visit"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.config.Kafka.Brokers, s.config.Models.Store = []string{"127.0.0.1:1"}, ""
			s.questionnaires()
			c.change(s)
			_, err := app.New(t.Context(), s.options)
			for what, err := range map[string]error{"New": err, "Check": app.Check(t.Context(), &s.config,
				slog.New(slog.DiscardHandler))} {
				if (err != nil) != (c.want != nil) {
					t.Errorf("%s: %v, want an error with %q", what, err, c.want)
				}
				for _, want := range c.want {
					if err != nil && !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v, want an error with %q", what, err, want)
					}
				}
			}
		})
	}
}

// TestWorkersShareNothing runs workers side by side, as those of the partitions are, on the same responses.
func TestWorkersShareNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Models.Store = ""
	s.questionnaires()
	records, table := respond(t, mind, 7, 50)
	want := s.scored(mind, table)
	h, err := app.NewResponseHandler(t.Context(), &s.config, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			w := h.NewWorker()
			for _, r := range records {
				got, values := readScores(t, handle(t, w, r.Value))
				if !slices.Equal(values, want[got.ResponseID]) {
					t.Errorf("scores %v, the row's are %v", values, want[got.ResponseID])
				}
				if at, err := time.Parse(msg.TimeFormat, got.ScoredAt); err != nil ||
					math.Abs(time.Since(at).Seconds()) > ingesttest.Patience.Seconds() {
					t.Errorf("scored_at is %q: %v", got.ScoredAt, err)
				}
			}
		})
	}
	all.Wait()
}

// TestFactorsAreFound: the factors of the questionnaires in use are found next to the topics of notes, and follow
// another fit.
func TestFactorsAreFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.questionnaires()
	s.config.HTTP.Listen, s.config.Models.Poll = ingesttest.FreeAddress(t), 50*time.Millisecond
	s.start().ready()
	version := func() (found string) {
		s.await("a factor of mind", func() bool {
			status, body := s.get("/v1/topics/history?topic=" + mind + "/1")
			var got struct {
				Steps []struct{ Model, Version string }
			}
			if err := json.Unmarshal([]byte(body), &got); status != http.StatusOK || err != nil ||
				len(got.Steps) != 1 || got.Steps[0].Model != mind {
				return false
			}
			found = got.Steps[0].Version
			return true
		})
		return found
	}
	before := version()
	s.refit(mind, "later")
	s.await("a factor of the later fit", func() bool { return version() != before })
}
