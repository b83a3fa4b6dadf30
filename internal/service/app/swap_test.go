package app_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// TestSwap promotes new champions under a stream that never stops.
func TestSwap(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	next := generation(t, 1)
	r := s.start().ready()
	c := s.stream()

	// The stream: batches of the same notes until the test has seen enough.
	const batch = 50
	all := notes(t, 0, 10*batch)
	before := s.predicted(all)
	producer := s.stream()
	var sent atomic.Int64
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for i := 0; ; i = (i + batch) % len(all) {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			records := make([]*kgo.Record, batch)
			for k, r := range all[i : i+batch] {
				records[k] = &kgo.Record{Topic: s.config.Kafka.Topics.Notes, Key: r.Key, Value: r.Value}
			}
			if err := producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
				stopped <- err
				return
			}
			sent.Add(batch)
		}
	}()
	end := sync.OnceFunc(func() {
		close(stop)
		if err := <-stopped; err != nil {
			t.Errorf("sending notes: %v", err)
		}
	})
	defer end()

	c.answers(3 * batch)
	s.promote(next...)
	after := s.predicted(all)
	champion := map[string]string{}
	for _, b := range next {
		champion[b.Manifest.Name] = b.Version
	}
	swapped, read := 0, 0
	c.until("answers by each new champion", func() bool {
		for ; read < len(c.predictions); read++ {
			if p := decode(t, c.predictions[read].Value); champion[p.Model.Name] == p.Model.Version {
				swapped++
			}
		}
		return swapped >= 3*batch
	})
	end()
	n := int(sent.Load())
	c.answers(n)
	r.stop()

	if len(c.predictions) != n || len(c.dead) > 0 {
		t.Errorf("%d notes have %d predictions and %d dead letters", n, len(c.predictions), len(c.dead))
	}
	old := 0
	for _, m := range c.predictions {
		p := decode(t, m.Value)
		want := before[p.VisitID]
		if champion[p.Model.Name] == p.Model.Version {
			want = after[p.VisitID]
		} else {
			old++
		}
		if bare(m.Value) != want {
			t.Fatalf("a prediction by model %s, version %s, is neither the old champion's nor the new one's",
				p.Model.Name, p.Model.Version)
		}
	}
	if old == 0 || old == n {
		t.Errorf("%d of %d notes were scored by the old champions, want some by each", old, n)
	}
	if got := s.metric("wardcast_ingest_rebalances_total"); got != 1 {
		t.Errorf("the group was joined %v times, want once: a swap restarts nothing", got)
	}
	for _, b := range next {
		if got := s.metric("wardcast_model_info", b.Manifest.Name); got != 1 {
			t.Errorf("wardcast_model_info of %s is %v, want 1", b.Manifest.Name, got)
		}
	}
}

// TestDamagedChampion points at a version of which a file is damaged, as a copy that has not come whole is, and
// then mends the file.
func TestDamagedChampion(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.HTTP.Listen = ingesttest.FreeAddress(t)
	r := s.start().ready()
	c := s.stream()
	sent := notes(t, 0, 40)
	before := s.predicted(sent)

	next := generation(t, 1)[0]
	damagedGeneration := storetest.Add(t, s.store, next)
	file := filepath.Join(s.config.Models.Store, next.Manifest.Name, next.Version, "tensors.safetensors")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-1] ^= 1
	write(t, file, damaged)
	// A copy of the store, where the generation was promoted before its file was damaged, comes file by file.
	elsewhere := t.TempDir()
	if err := os.CopyFS(elsewhere, os.DirFS(s.config.Models.Store)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(elsewhere, next.Manifest.Name, next.Version, "tensors.safetensors"), whole)
	change := models.Change{To: damagedGeneration.Name, From: damagedGeneration.Parent}
	if err := models.OpenDir(elsewhere).Promote(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"head.json", "history.jsonl", "champion"} {
		data, err := os.ReadFile(filepath.Join(elsewhere, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.config.Models.Store, name), data)
	}
	s.await("the damaged champion refused several times",
		func() bool { return s.metric("wardcast_model_reloads_total", "failed") >= 3 })
	var lines []string
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "new models refused; still using the current ones") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "tensors.safetensors") ||
		!strings.Contains(lines[0], next.Version) {
		t.Errorf("the log shows the refusal %q, want one line that names the file", lines)
	}
	if got := s.metric("wardcast_model_refused", "triage"); got != 1 {
		t.Errorf("wardcast_model_refused is %v, want 1: the alert looks at it", got)
	}
	if status, body := s.get("/readyz"); status != http.StatusOK ||
		!strings.Contains(body, "ready\ntriage: new models refused") || !strings.Contains(body, "tensors.safetensors") {
		t.Errorf("readyz answers %d %q, want 200 and the damaged file", status, body)
	}
	c.send(sent...)
	c.answers(len(sent))
	if got := mismatches(t, c.predictions, before); got > 0 {
		t.Errorf("%d of %d predictions are not those of the champions that ran before", got, len(sent))
	}

	write(t, file, whole)
	s.await("the mended champion taken up", func() bool { return s.metric("wardcast_model_reloads_total", "ok") == 2 })
	s.await("no refusal", func() bool { return s.metric("wardcast_model_refused", "triage") == 0 })
	if status, body := s.get("/readyz"); status != http.StatusOK || body != "ready\n" {
		t.Errorf("readyz answers %d %q", status, body)
	}
	after := s.predicted(sent)
	c.predictions = nil
	c.send(sent...)
	c.answers(len(sent))
	r.stop()
	if got := mismatches(t, c.predictions, after); got > 0 {
		t.Errorf("%d of %d predictions are not those of the mended champion", got, len(sent))
	}
}

// TestDamageInUse flips a bit in a file of the models that are in use, which are in memory: they go on scoring, and the
// damage is reported until it is repaired.
func TestDamageInUse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.HTTP.Listen = ingesttest.FreeAddress(t)
	s.options.VerifyOften()
	g, err := s.store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := s.start().ready()
	s.await("the generation in the log",
		func() bool { return strings.Contains(s.log.String(), `"generation":"`+g.Name+`"`) })
	file := filepath.Join(s.config.Models.Store, bundle.Other, g.Models[bundle.Other].Version, "tensors.safetensors")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	write(t, file, damaged)
	s.await("the damage", func() bool { return s.metric("wardcast_model_refused", "triage") == 1 })
	if status, body := s.get("/readyz"); status != http.StatusOK || !strings.Contains(body, "a restart would fail") ||
		!strings.Contains(body, "tensors.safetensors") {
		t.Errorf("readyz answers %d %q", status, body)
	}
	c := s.stream()
	c.send(notes(t, 0, 20)...)
	c.answers(20)
	s.await("the log",
		func() bool { return strings.Contains(s.log.String(), "the models in use are damaged in the store") })
	write(t, file, whole)
	s.await("the mended file", func() bool { return s.metric("wardcast_model_refused", "triage") == 0 })
	if status, body := s.get("/readyz"); status != http.StatusOK || body != "ready\n" {
		t.Errorf("readyz answers %d %q", status, body)
	}
	// A generation that is taken up is named.
	next := storetest.Serve(t, s.store, generation(t, 1)...)
	s.await("the next generation", func() bool { return strings.Contains(s.log.String(), `"msg":"new models in use"`) })
	if log := s.log.String(); !strings.Contains(log, `"generation":"`+next.Name+`"`) {
		t.Error("the log does not name the next generation")
	}
	r.stop()
}

// write replaces a file as a whole.
func write(t *testing.T, path string, data []byte) {
	t.Helper()
	temporary := filepath.Join(t.TempDir(), filepath.Base(path)) // a stranger in a version's folder is refused too
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

func mismatches(t *testing.T, got []*kgo.Record, want map[string]string) int {
	t.Helper()
	n := 0
	for _, m := range got {
		if bare(m.Value) != want[decode(t, m.Value).VisitID] {
			n++
		}
	}
	return n
}
