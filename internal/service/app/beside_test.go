package app_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// list reads the topic of champions until it says what the models are, and returns how many messages that took.
func (s *site) list(c *kgo.Client, want map[string]string) (messages int) {
	s.Helper()
	got := map[string]string{}
	s.await("the list of champions", func() bool {
		fetches := c.PollRecords(s.Context(), 1)
		fetches.EachRecord(func(r *kgo.Record) {
			messages++
			if len(r.Value) == 0 {
				delete(got, string(r.Key))
				return
			}
			var m msg.Champion
			if err := msg.DecodeChampion(r.Value, &m); err != nil {
				s.Fatal(err)
			}
			if h := headers(r); h[msg.HeaderType] != msg.TypeChampion || m.Model.Name != string(r.Key) ||
				len(m.Model.SHA256) != 64 {
				s.Errorf("key %q, headers %v, %+v", r.Key, h, m)
			}
			got[string(r.Key)] = m.Generation + " " + m.Model.Version
		})
		return cmp.Equal(want, got)
	})
	return messages
}

// champion returns what the list of champions should say.
func (s *site) champion() map[string]string {
	s.Helper()
	g, err := s.store.Champion(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]string{}
	for name, version := range g.Versions() {
		all[name] = g.Name + " " + version
	}
	return all
}

// TestListOfChampions has two scorers, of which only one polls the store: it lists what is new, and so wakes the other.
func TestListOfChampions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	poller := s.start().ready()
	c := ingesttest.Reader(t, s.config.Kafka.Brokers, s.config.Kafka.Topics.Models)
	first := s.champion()
	if n := s.list(c, first); n != len(first) {
		t.Errorf("%d messages list %d models", n, len(first))
	}

	sleeper := *s
	sleeper.config.Models.Poll = time.Hour
	sleeper.registry = prometheus.NewRegistry()
	sleeper.options.Config, sleeper.options.Registry = &sleeper.config, sleeper.registry
	other := sleeper.start().ready()

	// Another generation, in which one complaint has lost its model.
	next := storetest.Add(t, s.store, generation(t, 1)...)
	g := &models.Generation{CreatedAt: next.CreatedAt, Models: maps.Clone(next.Models)}
	maps.DeleteFunc(g.Models, func(name string, _ models.Member) bool {
		return name != bundle.Other && len(g.Models) == len(first)
	})
	for name := range first {
		if _, stays := g.Models[name]; !stays {
			t.Logf("%s has no model any more", name)
		}
	}
	if err := s.store.AddGeneration(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	served := strings.Fields(first[bundle.Other])[0]
	if err := s.store.Promote(t.Context(), models.Change{To: g.Name, From: served}); err != nil {
		t.Fatal(err)
	}
	s.await("the polling scorer swaps", func() bool { return s.metric("wardcast_model_reloads_total", "ok") == 2 })
	sleeper.await("the sleeping scorer swaps",
		func() bool { return sleeper.metric("wardcast_model_reloads_total", "ok") == 2 })
	s.list(c, s.champion())
	poller.stop()
	other.stop()

	// A scorer that finds the list as it should be writes nothing.
	s.options.Registry = prometheus.NewRegistry()
	again := s.start().ready()
	ctl := s.stream()
	ctl.send(notes(t, 0, 20)...)
	ctl.answers(20)
	again.stop()
	end := ingesttest.Reader(t, s.config.Kafka.Brokers, s.config.Kafka.Topics.Models)
	before := len(first) + len(g.Models)
	for name := range first {
		if _, stays := g.Models[name]; !stays {
			before++
		}
	}
	if n := s.list(end, s.champion()); n != before {
		t.Errorf("%d messages, want %d", n, before)
	}
}

// TestNoListOfChampions does without the topic, and says so.
func TestNoListOfChampions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.options.CreateTopics = false
	topics := s.config.Kafka.Topics
	s.create(topics.Notes, topics.Predictions, topics.DeadLetters)
	r := s.start().ready()
	s.await("the log line", func() bool {
		return strings.Contains(s.log.String(), "new models are found by looking into the store every 20ms") &&
			strings.Contains(s.log.String(), topics.Models)
	})
	s.await("the log shows the outcomes",
		func() bool { return strings.Contains(s.log.String(), "the calibration is not watched") })
	s.promote(generation(t, 1)...)
	s.await("the swap", func() bool { return s.metric("wardcast_model_reloads_total", "ok") == 2 })
	c := s.stream()
	c.send(notes(t, 0, 20)...)
	c.answers(20)
	r.stop()
}

// TestForeignList: messages that nobody should have written wake the scorer, and change nothing that is served.
func TestForeignList(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	r := s.start().ready()
	c := ingesttest.Reader(t, s.config.Kafka.Brokers, s.config.Kafka.Topics.Models)
	s.list(c, s.champion())
	m := msg.Champion{Generation: "2026-01-01T00-00-00Z-aaaaaa", Model: msg.Model{
		Name: bundle.Other, Version: "2026-01-01T00-00-00Z-bbbbbb",
	}}
	for _, record := range []*kgo.Record{{
		Key: []byte(bundle.Other), Value: m.AppendJSON(nil),
	}, {Key: []byte("x"), Value: []byte(secret)}, {Value: []byte("{}")}, {Key: []byte("y")}} {
		record.Topic = s.config.Kafka.Topics.Models
		if err := c.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	stream := s.stream()
	sent := notes(t, 0, 50)
	stream.send(sent...)
	stream.answers(len(sent))
	r.stop()
	if got := mismatches(t, stream.predictions, s.predicted(sent)); got > 0 ||
		s.metric("wardcast_model_reloads_total") != 1 {
		t.Errorf("%d of %d predictions are not those of the champion; %v reloads", got, len(sent),
			s.metric("wardcast_model_reloads_total"))
	}
}

// TestShadow streams notes past a champion and a challenger. The predictions are the champion's alone, and those of the
// shadow the challenger's alone.
func TestShadow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.Shadow.Generation = config.LatestChallenger
	challenger := storetest.Add(t, s.store, generation(t, 1)...)
	r := s.start().ready()
	s.await("the challenger", func() bool { return s.metric("wardcast_shadow_info", challenger.Name) == 1 })
	c := s.stream()
	shadow := s.client(s.config.Kafka.Topics.Shadow,
		&stream{group: "none", input: s.config.Kafka.Topics.Notes, dlq: s.config.Kafka.Topics.DeadLetters})
	sent := notes(t, 0, 100)
	want := s.predicted(sent)
	// a dead letter casts no shadow
	c.send(append(slices.Clone(sent), &kgo.Record{Key: []byte("x"), Value: []byte(secret)})...)
	c.answers(101)
	shadow.until("shadow predictions", func() bool { return len(shadow.predictions) >= 100 })
	if got := mismatches(t, c.predictions, want); got > 0 || len(c.predictions) != 100 {
		t.Errorf("%d of %d predictions are not the champion's", got, len(c.predictions))
	}
	g, err := s.store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Promote(t.Context(), models.Change{To: challenger.Name, From: g.Name}); err != nil {
		t.Fatal(err)
	}
	theirs := s.predicted(sent)
	if got := mismatches(t, shadow.predictions, theirs); got > 0 || len(shadow.predictions) != 100 {
		t.Errorf("%d of %d shadow predictions are not the challenger's", got, len(shadow.predictions))
	}
	for _, m := range shadow.predictions {
		if h := headers(m); h[msg.HeaderSource] != s.config.Scoring.Source+"/shadow" {
			t.Fatalf("headers of a shadow prediction: %v", h)
		}
	}
	if got := s.metric("wardcast_shadow_predictions_total"); got != 100 ||
		s.metric("wardcast_shadow_dropped_total") != 0 {
		t.Errorf("%v shadow predictions, %v dropped", got, s.metric("wardcast_shadow_dropped_total"))
	}
	// Promoted, it casts no shadow any more.
	s.await("no challenger", func() bool { return s.metric("wardcast_shadow_info") == 0 })
	r.stop()
}

// TestShadowInTrouble: a challenger whose topic is missing, or that has more notes than it can take, costs no
// prediction.
func TestShadowInTrouble(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.options.CreateTopics = false
	topics := s.config.Kafka.Topics
	s.create(topics.Notes, topics.Predictions, topics.DeadLetters)
	challenger := storetest.Add(t, s.store, generation(t, 1)...)
	s.config.Shadow.Generation = challenger.Name
	s.options.ShortenShadow(100 * time.Millisecond)
	r := s.start().ready()
	s.await("the challenger", func() bool { return s.metric("wardcast_shadow_info") == 1 })
	c := s.stream()
	const n = 3000
	sent := notes(t, 0, n)
	began := time.Now()
	c.send(sent...)
	c.answers(n)
	t.Logf("%d notes answered in %v", n, time.Since(began))
	if len(c.predictions) != n {
		t.Errorf("%d predictions of %d notes", len(c.predictions), n)
	}
	s.await("all left out", func() bool { return s.metric("wardcast_shadow_dropped_total") == n })
	if got := s.metric("wardcast_shadow_dropped_total", "backlog"); got == 0 ||
		s.metric("wardcast_shadow_dropped_total", "unwritten") == 0 {
		t.Errorf("%v of %d notes left out for the backlog", got, n)
	}
	r.stop()
}

// TestShadowIsChecked: check-config names a challenger that cannot be read; the scorer scores without it.
func TestShadowIsChecked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	check := func(generation string) error {
		s.config.Shadow.Generation = generation
		return app.Check(t.Context(), &s.config, s.options.Logger)
	}
	if err := check(config.LatestChallenger); err != nil {
		t.Errorf("no challenger yet: %v", err)
	}
	challenger := storetest.Add(t, s.store, generation(t, 1)...)
	if err := check(challenger.Name); err != nil {
		t.Errorf("a sound challenger: %v", err)
	}
	bad := filepath.Join(s.config.Models.Store, bundle.Other, challenger.Models[bundle.Other].Version,
		"tensors.safetensors")
	write(t, bad, []byte("cut"))
	for _, generation := range []string{challenger.Name, config.LatestChallenger} {
		if err := check(generation); err == nil || !strings.Contains(err.Error(), "shadow.generation") ||
			!strings.Contains(err.Error(), "tensors.safetensors") {
			t.Errorf("a damaged challenger: %v", err)
		}
	}
	if err := check("2026-01-01T00-00-00Z-aaaaaa"); err == nil || !strings.Contains(err.Error(), "aaaaaa") {
		t.Errorf("a challenger that is not there: %v", err)
	}
	r := s.start().ready()
	s.await("the log line", func() bool { return strings.Contains(s.log.String(), "the challenger cannot be read") })
	c := s.stream()
	c.send(notes(t, 0, 20)...)
	c.answers(20)
	r.stop()
	if len(c.predictions) != 20 || strings.Count(s.log.String(), "the challenger cannot be read") != 1 {
		t.Errorf("%d predictions", len(c.predictions))
	}
}

// TestDriftOfTheStream: notes of the training's kind are no drift, and others are.
func TestDriftOfTheStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	r := s.start().ready()
	c := s.stream()
	c.send(notes(t, 0, 400)...)
	c.answers(400)
	if got := s.metric("wardcast_drift_notes"); got != 400 {
		t.Errorf("%v notes counted", got)
	}
	psi := func(name string) (value, expected float64) {
		return s.metric("wardcast_"+name+"_psi", bundle.Other), s.metric("wardcast_"+name+"_psi_expected", bundle.Other)
	}
	for _, name := range []string{"score", "topic"} {
		if v, e := psi(name); !(v > 0) || v > 4*e {
			t.Errorf("%s psi of notes as in training: %v, by chance %v", name, v, e)
		}
	}
	known := s.metric("wardcast_known_term_ratio", bundle.Other)
	var strange []*kgo.Record
	for i := range 800 {
		n := note(t, 400+i)
		n.Text, n.Sex = "ankle injury "+strings.Repeat("xyzzy ", 9), "not said"
		strange = append(strange, record(n))
	}
	c.send(strange...)
	c.answers(1200)
	if v, e := psi("topic"); v < 4*e || v < .25 {
		t.Errorf("topic psi of strange notes: %v, by chance %v", v, e)
	}
	if now := s.metric("wardcast_known_term_ratio", bundle.Other); now > known-.2 {
		t.Errorf("share of known terms %v, before %v", now, known)
	}
	if got := s.metric("wardcast_unknown_level_ratio", bundle.Other, "sex"); got < .5 {
		t.Errorf("share of unknown values of sex: %v", got)
	}
	// What the models count goes on when a generation takes them over, and begins anew for other models.
	s.promote(generation(t, 1)[1:]...)
	s.await("the swap", func() bool { return s.metric("wardcast_model_reloads_total", "ok") == 2 })
	if got := s.metric("wardcast_drift_notes", bundle.Other); got == 0 {
		t.Error("the model of all complaints forgot its notes")
	}
	for _, b := range generation(t, 1)[1:] {
		if got := s.metric("wardcast_drift_notes", b.Manifest.Name); got != 0 {
			t.Errorf("the new %s counts %v notes", b.Manifest.Name, got)
		}
	}
	r.stop()
}

// TestLateLabels: predictions of two days ago meet outcomes that come now.
func TestLateLabels(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	r := s.start().ready()
	c := s.stream()
	const n = 300
	labelled(c, n)
	s.await("the calibration", func() bool { return s.metric("wardcast_labelled_notes", bundle.Other) == n })
	if got := s.metric("wardcast_labelled_admissions", bundle.Other); got != 2*n/3 {
		t.Errorf("%v admissions", got)
	}
	if v, se := s.metric("wardcast_calibration_slope"),
		s.metric("wardcast_calibration_slope_standard_error"); math.Abs(v) > 4*se || !(se < .2) {
		t.Errorf("slope %v ± %v, want 0", v, se)
	}
	if got := s.metric("wardcast_label_messages_total", "refused"); got != 1 {
		t.Errorf("%v messages refused, want that which is no outcome", got)
	}
	r.stop()
}

// labelled sends n predictions of two days ago with their outcomes, and two messages that are none.
func labelled(c *stream, n int) {
	c.s.Helper()
	s, scored := c.s, time.Now().Add(-48*time.Hour)
	var records []*kgo.Record
	for i := range n {
		visit := fmt.Sprintf("%s-%d", secret, i)
		p := msg.Prediction{
			VisitID: visit, ScoredAt: scored.UTC().Format(msg.TimeFormat),
			Model: msg.Model{Name: bundle.Other}, Probability: .2 + .6*float64(i%2),
		}
		// Of those at .2 and at .8, two thirds are admitted: the slope is nearly 0.
		o := msg.Outcome{VisitID: visit, Disposition: msg.Discharged, DecidedAt: scored.Add(time.Hour).
			Format(time.RFC3339)}
		if i%3 > 0 {
			o.Disposition = msg.Admitted
		}
		records = append(records, &kgo.Record{
			Topic: s.config.Kafka.Topics.Predictions, Key: []byte(visit), Value: p.AppendJSON(nil), Timestamp: scored,
		},
			&kgo.Record{Topic: s.config.Kafka.Topics.Outcomes, Key: []byte(visit), Value: o.AppendJSON(nil)})
	}
	records = append(records, &kgo.Record{Topic: s.config.Kafka.Topics.Outcomes, Value: []byte(secret)},
		&kgo.Record{Topic: s.config.Kafka.Topics.Outcomes, Key: []byte("v")})
	if err := c.ProduceSync(s.Context(), records...).FirstErr(); err != nil {
		s.Fatal(err)
	}
}

// TestNewerVersion: a generation that a newer major version of the program made is refused, and the running one stays.
func TestNewerVersion(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.HTTP.Listen = ingesttest.FreeAddress(t)
	r := s.start().ready()
	next := storetest.Add(t, s.store, generation(t, 1)...)
	file := filepath.Join(s.config.Models.Store, "generations", next.Name+".json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	newer := regexp.MustCompile(`"format": "1.1"`).ReplaceAll(data, []byte(`"format": "2"`))
	name := bundle.VersionName(next.CreatedAt, sum(newer))
	write(t, filepath.Join(s.config.Models.Store, "generations", name+".json"), newer)
	// What a newer program does when it promotes; the head may say what is served.
	serve := func(from, to string) {
		t.Helper()
		head := filepath.Join(s.config.Models.Store, "head.json")
		data, err := os.ReadFile(head)
		if err != nil {
			t.Fatal(err)
		}
		write(t, head, bytes.ReplaceAll(data, []byte(from), []byte(to)))
		write(t, filepath.Join(s.config.Models.Store, "champion"), []byte(to+"\n"))
	}
	serve(next.Parent, name)
	s.await("the refusal logged", func() bool {
		return strings.Contains(s.log.String(), "new models refused; still using the current ones")
	})
	if log := s.log.String(); !strings.Contains(log, name+".json") || !strings.Contains(log, `format \"2\"`) ||
		!strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the log is %q", log)
	}
	if s.metric("wardcast_model_refused", "triage") != 1 {
		t.Error("wardcast_model_refused is not 1")
	}
	if status, body := s.get("/readyz"); status != http.StatusOK || !strings.Contains(body, name+".json") {
		t.Errorf("readyz answers %d %q", status, body)
	}
	c := s.stream()
	c.send(notes(t, 0, 20)...)
	c.answers(20)
	serve(name, next.Name)
	s.await("the mended champion", func() bool { return s.metric("wardcast_model_refused", "triage") == 0 })
	r.stop()
}
