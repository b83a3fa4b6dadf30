package httpapi_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/signing"
	"github.com/wardcast/wardcast/models/storetest"
)

func TestModels(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	got := value[struct {
		Generation string
		Models     []struct {
			Name, Version, Method, Complaint, Trained string
			Notes, Admitted, Topics                   int
			Metrics                                   struct {
				AUROC struct{ Value, Low, High float64 }
			}
		}
	}](s, "models", s.ask("GET /v1/models", "", nil))
	set := s.set.Load()
	if got.Generation != set.Generation || len(got.Models) != 2 {
		t.Fatalf("%+v", got)
	}
	m := got.Models[1]
	if m.Name != "chest-pain" || m.Version != set.Versions["chest-pain"] || m.Complaint != "Chest pain" ||
		m.Method != "sonmf" || m.Notes != 100 || m.Admitted != 30 || m.Topics != 1 || m.Metrics.AUROC.Low != 0.7 {
		t.Errorf("%+v", m)
	}
	topics := value[struct {
		Model, Version string
		Topics         []struct {
			Topic                   int
			Label                   string
			Coefficient, Prevalence float64
			Terms                   []struct {
				Term    string
				Surface []string
				Weight  float64
			}
		}
	}](s, "topics", s.ask("GET /v1/models/chest-pain/topics", "", nil))
	if topics.Version != m.Version || len(topics.Topics) != 1 || topics.Topics[0].Prevalence != 0.5 {
		t.Fatalf("%+v", topics)
	}
	terms := topics.Topics[0].Terms
	if len(terms) != 2 || terms[0].Term != "hip" || terms[0].Weight != 1 ||
		strings.Join(terms[0].Surface, " ") != "hip hips" {
		t.Errorf("%+v", terms)
	}
	one := s.ask("GET /v1/models/chest-pain/topics?terms=1", "", nil)
	if strings.Contains(one.body, `"pain"`) {
		t.Errorf("more than one term: %s", one.body)
	}
}

type listed struct {
	InUse       string `json:"in_use"`
	Generations []struct {
		Name, Status, By string
		Models           []struct{ Model, Version string }
	}
	Damage []string
}

type change struct {
	From, To string
	DryRun   bool `json:"dry_run"`
}

func TestPromoteAndRollback(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *httpapi.Options) { o.Access = httpapi.Access{Tokens: tokens} })
	operator := bearer(operatorToken)
	all := value[listed](s, "generations", s.ask("GET /v1/generations", "", operator))
	if len(all.Generations) != 3 || len(all.Damage) != 0 || all.InUse != all.Generations[1].Name ||
		all.Generations[1].Status != "champion" || all.Generations[2].Status != "challenger" ||
		len(all.Generations[1].Models) != 2 {
		t.Fatalf("%+v", all)
	}
	first, second, third := all.Generations[0].Name, all.Generations[1].Name, all.Generations[2].Name
	promote := func(g string) string { return "POST /v1/generations/" + g + "/promote" }

	dry := value[change](s, "dry run", s.ask(promote(third), `{"reason":"look","dry_run":true}`, operator))
	if dry != (change{second, third, true}) || s.changed.Load() != 0 {
		t.Errorf("%+v", dry)
	}
	if got := value[change](s, "promotion",
		s.ask(promote(third), reason, operator)); got != (change{second, third, false}) || s.changed.Load() != 1 {
		t.Errorf("%+v", got)
	}
	if g, err := s.store.Champion(t.Context()); err != nil || g.Name != third {
		t.Errorf("champion %v, %v", g, err)
	}
	if got := value[change](s, "rollback",
		s.ask("POST /v1/rollback", reason, operator)); got != (change{third, second, false}) {
		t.Errorf("%+v", got)
	}
	if got := value[change](s, "rollback to", s.ask("POST /v1/rollback", `{"reason":"x","to":"`+first+`"}`,
		operator)); got != (change{second, first, false}) {
		t.Errorf("%+v", got)
	}
	history := value[struct{ Events []models.Event }](s, "history", s.ask("GET /v1/history", "", operator))
	last := history.Events[len(history.Events)-1]
	if last.By != "j.doe" || last.Why != "x" || last.To != first || last.Action != models.RolledBack ||
		last.Command != "POST /v1/rollback" {
		t.Errorf("%+v", last)
	}
	unserved := storetest.Add(t, s.store, newBundle(t, bundle.Other, 4)).Name
	for name, c := range map[string]struct {
		what, body string
		status     int
		code       string
	}{
		"no reason":          {promote(third), `{"reason":" "}`, 422, "bad_body"},
		"a command":          {promote(third), `{"reason":"x\u009b2J"}`, 422, "bad_body"},
		"mirrored":           {promote(third), `{"reason":"x\u202e"}`, 422, "bad_body"},
		"no object":          {promote(third), `"x"`, 400, "bad_body"},
		"unknown key":        {promote(third), `{"reason":"x","force":true}`, 400, "bad_body"},
		"long reason":        {promote(third), `{"reason":"` + strings.Repeat("x", 1001) + `"}`, 422, "bad_body"},
		"a mend of anything": {"POST /v1/rollback", `{"reason":"x","mend":true}`, 422, "bad_body"},
		"to of a promotion":  {promote(third), `{"reason":"x","to":"y"}`, 422, "bad_body"},
		"no such generation": {promote("2026-01-01T00-00-00Z-000000"), reason, 404, "unknown_generation"},
		"no name":            {promote("..%2fetc"), reason, 404, ""},
		"served already":     {promote(first), reason, 409, "served_already"},
		"never served":       {"POST /v1/rollback", `{"reason":"x","to":"` + unserved + `"}`, 409, "never_served"},
		"back to nothing":    {"POST /v1/rollback", reason, 404, "unknown_generation"},
		"too large": {
			"POST /v1/rollback", `{"reason":"` + strings.Repeat("x", 20000) + `"}`, 413, "too_large",
		},
		"with a parameter":      {"POST /v1/rollback?to=x", reason, 400, "bad_parameter"},
		"of another media type": {"POST /v1/rollback", "", 415, "wrong_media_type"},
	} {
		same(t, name, c.code, s.problem(name, s.ask(c.what, c.body, operator), c.status))
	}
}

// TestOtherHands: what somebody else wrote to the history is escaped in the answer, and means the same.
func TestOtherHands(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	change := models.Change{By: "eve\u202e", Why: "better\u009b2J\u2028"}
	all, err := s.store.Generations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	change.From, change.To = all[1], all[2]
	if err := s.store.Promote(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	got := s.ask("GET /v1/history", "", nil)
	if !strings.Contains(got.body, `"better\u009b2J\u2028"`) || strings.Contains(got.body, "\u202e") {
		t.Errorf("the history says %q", got.body)
	}
	events := value[struct{ Events []models.Event }](s, "history", got).Events
	if last := events[len(events)-1]; last.By != change.By || last.Why != change.Why {
		t.Errorf("%+v", last)
	}
}

// TestMendIsAsked: a store that disagrees is told, and mended by who asks for that alone. What only keys allow is told.
func TestMendIsAsked(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	dir, key := t.TempDir(), filepath.Join(t.TempDir(), "key")
	if err := signing.NewKeyFile(key); err != nil {
		t.Fatal(err)
	}
	keys, err := signing.Read(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.store = models.OpenDir(dir).With(keys)
	first := storetest.Serve(t, s.store, newBundle(t, bundle.Other, 1)).Name
	unsigned := storetest.Add(t, models.OpenDir(dir), newBundle(t, bundle.Other, 2)).Name
	second := storetest.Serve(t, s.store, newBundle(t, bundle.Other, 3)).Name
	promote := func(what, g, body, code string) {
		t.Helper()
		same(t, what, code,
			s.problem(what, s.ask("POST /v1/generations/"+g+"/promote", body, nil), http.StatusConflict))
	}
	s.options.Triage.Store = models.OpenDir(dir).With(signing.Keys{Trust: keys.Trust})
	promote("without the key", first, reason, "no_signing_key")
	s.options.Triage.Store = s.store
	promote("what is not signed", unsigned, reason, "not_signed")
	if err := os.WriteFile(filepath.Join(dir, "champion"), []byte(first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	promote("a promotion", second, reason, "history_disagrees")
	mended := s.ask("POST /v1/generations/"+second+"/promote", `{"reason":"x","mend":true}`, nil)
	if made := value[change](s, "mend", mended); made != (change{first, second, false}) {
		t.Errorf("%+v", made)
	}
}

// TestDamage: damage is reported, does not hide the rest, and is never served.
func TestDamage(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	dir := t.TempDir()
	s.store = models.OpenDir(dir)
	storetest.Serve(t, s.store, newBundle(t, bundle.Other, 1))
	g := storetest.Add(t, s.store, newBundle(t, bundle.Other, 2))
	s.options.Triage.Store = s.store
	if err := os.WriteFile(filepath.Join(dir, bundle.Other, g.Models[bundle.Other].Version, "tensors.safetensors"),
		[]byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	same(t, "promotion", "damaged",
		s.problem("promotion", s.ask("POST /v1/generations/"+g.Name+"/promote", reason, nil), http.StatusConflict))
	if err := os.WriteFile(filepath.Join(dir, "generations", g.Name+".json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := value[listed](s, "generations", s.ask("GET /v1/generations", "", nil))
	if len(all.Generations) != 1 || len(all.Damage) != 1 || !strings.Contains(all.Damage[0], g.Name) {
		t.Errorf("%+v", all)
	}
	history := s.ask("GET /v1/history", "", nil)
	if !json.Valid([]byte(history.body)) || history.status != http.StatusOK {
		t.Errorf("%+v", history)
	}
}
