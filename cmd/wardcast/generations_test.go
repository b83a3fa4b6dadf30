package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/models"
)

// twoGenerations returns a store that serves its second generation, which lacks all models but that of all complaints
// if there are others, and the names of both.
func twoGenerations(t *testing.T) (dir string, s *models.Store, names []string) {
	t.Helper()
	dir = trained(t)
	s = models.OpenDir(dir)
	first, err := s.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Load(t.Context(), bundle.Other, first.Models[bundle.Other].Version)
	if err != nil {
		t.Fatal(err)
	}
	b.Manifest.CreatedAt = b.Manifest.CreatedAt.Add(time.Hour)
	b.Card += "\nOwner: \x1b[2J\u202e\n" // as somebody else may have written it
	if _, err := s.Save(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	second := &models.Generation{
		Parent: first.Name, CreatedAt: b.Manifest.CreatedAt, By: "test", Models: maps.Clone(first.Models),
	}
	second.Models[bundle.Other] = models.Member{Version: b.Version, Reason: "later notes"}
	if err := s.AddGeneration(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	return dir, s, []string{first.Name, second.Name}
}

// served returns the generation that a store serves.
func served(t *testing.T, s *models.Store) string {
	t.Helper()
	g, err := s.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g.Name
}

func TestGenerations(t *testing.T) {
	t.Parallel()
	dir, s, names := twoGenerations(t)
	at := []string{"--model-dir", dir}
	run := func(args ...string) string {
		t.Helper()
		return succeed(t, "", append(append([]string{"models"}, args...), at...)...)
	}
	refuse := func(code int, want string, args ...string) {
		t.Helper()
		fail(t, code, append(append([]string{"models"}, args...), at...), want)
	}
	if got := run("promote", "--dry-run"); !strings.Contains(got, "would serve generation "+names[1]) ||
		served(t, s) != names[0] {
		t.Errorf("a dry run prints %q, served is %s", got, served(t, s))
	}
	refuse(cli.ExitFailed, "served already", "promote", names[0])
	refuse(cli.ExitFailed, "served before", "rollback")
	refuse(cli.ExitUsage, "U+001B", "promote", names[1], "--why", "better\x1b[2J")
	refuse(cli.ExitUsage, "U+202E", "rollback", "--why", "worse\u202e")
	fail(t, cli.ExitUsage, []string{"train", "--input", "x", "--model-dir", dir, "--force", "--why", "\u009b2J"}, "U+009B")
	fail(t, cli.ExitUsage, []string{
		"retrain", "--notes", os.DevNull, "--outcomes", os.DevNull, "--model-dir", dir, "--force", "--why", "a\u2029b",
	}, "U+2029")
	refuse(cli.ExitFailed, "models promote "+names[1]+" --why", "rollback", "--to", names[1])
	refuse(cli.ExitFailed, "never served", "rollback", "--dry-run", "--to", names[1])
	second, err := s.Generation(t.Context(), names[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Refuse(t.Context(), second, models.Change{From: names[0], Why: "AUROC .500"}); err != nil {
		t.Fatal(err)
	}
	if got := run("list"); !strings.Contains(got, "refused") || !strings.Contains(got, "AUROC .500") {
		t.Errorf("models list prints %s", got)
	}
	refuse(cli.ExitUsage, "AUROC .500; promoting it needs a reason (--why)", "promote", names[1])
	refuse(cli.ExitUsage, "AUROC .500; promoting it needs its name and a reason (--why)", "promote", "--why", "any")
	var change struct {
		From, To string
		Models   map[string]string
		DryRun   bool `json:"dry_run"`
	}
	if err := json.Unmarshal([]byte(run("promote", names[1], "--why", "the board's decision", "--output=json")),
		&change); err != nil {
		t.Fatal(err)
	}
	if change.From != names[0] || change.To != names[1] || change.Models[bundle.Other] == "" || change.DryRun ||
		served(t, s) != names[1] {
		t.Errorf("promote prints %+v, served is %s", change, served(t, s))
	}
	if got := run("diff"); !strings.Contains(got, "_other") || !strings.Contains(got, "replaced") ||
		!strings.Contains(got, "LOG LOSS") {
		t.Errorf("models diff prints %s", got)
	}
	if got := clitest.Object(t, run("diff", names[1], names[0], "--output=json")); got["from"] != names[1] ||
		got["to"] != names[0] {
		t.Errorf("models diff prints %v", got)
	}
	run("rollback", "--why", "a bad night")
	if served(t, s) != names[0] {
		t.Errorf("served is %s", served(t, s))
	}
	refuse(cli.ExitFailed, "no-generation", "rollback", "--to", "no-generation")
	refuse(cli.ExitUsage, "promoting it needs", "promote") // which was rolled back
	refuse(cli.ExitFailed, "_other", "show", "nope")
	if header, _, _ := strings.Cut(run("history"), "\n"); strings.Contains(header, "MODEL") {
		t.Errorf("the header is %q", header)
	}
	for line := range strings.Lines(run("history")) {
		if n := utf8.RuneCountInString(line); n > 300 {
			t.Errorf("a line of %d letters", n)
		}
	}

	var events []models.Event
	if err := json.Unmarshal([]byte(run("history", "--output=json")), &events); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(e.Action, " ", e.Why))
		if e.By == "" && e.Action != models.Refused || e.Time.IsZero() {
			t.Errorf("event %+v", e)
		}
	}
	if want := "promoted the first; refused AUROC .500; promoted the board's decision; rolled_back a bad " +
		"night"; strings.Join(got, "; ") != want {
		t.Errorf("history tells %q, want %q", strings.Join(got, "; "), want)
	}
	if command := events[3].Command; !strings.HasPrefix(command, "wardcast models rollback --why 'a bad night'") {
		t.Errorf("command %q", command)
	}
	if got := run("history"); !strings.Contains(got, "rolled_back") || !strings.Contains(got, "a bad night") {
		t.Errorf("history prints %s", got)
	}
	if got := run("history", "--at",
		events[2].Time.Add(time.Millisecond).Format(time.RFC3339Nano)); !strings.Contains(got, names[1]) {
		t.Errorf("served after the promotion: %s", got)
	}
	refuse(cli.ExitFailed, "without --at", "history", "--at", "2020-05-07T03:14:00Z")
	refuse(cli.ExitUsage, `<model> is missing: one of ["_other"`, "show")
	const list = `"wardcast models list" shows what the store has`
	refuse(cli.ExitFailed, `no generation "nope"; `+list, "promote", "nope")
	refuse(cli.ExitFailed, `no version "nope" of model "_other"; `+list, "show", "_other", "nope")

	if got := run("card"); !strings.HasPrefix(got, "# ") {
		t.Errorf("the card is %q", got)
	}
	versions, err := s.Versions(t.Context(), bundle.Other)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"show", "_other", "--version", versions[0]}, {"show", "_other", versions[0]}, {
		"card", "_other", "--version", versions[0], "--output=json",
	}} {
		if got := run(args...); !strings.Contains(got, versions[0]) {
			t.Errorf("%v prints %s", args, got)
		}
	}
	for _, command := range []string{"card", "show"} {
		got := run(command, "_other", "--version", versions[1])
		if !strings.Contains(got, `Owner: \u001b[2J\u202e`+"\n") || strings.ContainsAny(got, "\x1b\u202e") {
			t.Errorf("models %s prints %q", command, got)
		}
	}
	for i, name := range names {
		if got := clitest.Object(t,
			run("show", "_other", "--version", name, "--output=json")); got["version"] != versions[i] {
			t.Errorf("generation %s: version %v, want %s", name, got["version"], versions[i])
		}
	}
	refuse(cli.ExitUsage, "given twice", "show", "_other", versions[0], "--version", versions[1])
	fail(t, cli.ExitUsage, []string{"models", "history", "--model-dir", dir + "x"}, dir+"x", "not a folder")
	fail(t, cli.ExitFailed, []string{"models", "history", "--model-dir", "ftp://x"}, "ftp://x")
	run("verify")
}

// TestPromoteChecksAsAScorer: a generation whose files are whole, and that this program cannot score with, changes
// nothing.
func TestPromoteChecksAsAScorer(t *testing.T) {
	t.Parallel()
	dir, s, names := twoGenerations(t)
	second, err := s.Generation(t.Context(), names[1])
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Load(t.Context(), bundle.Other, second.Models[bundle.Other].Version)
	if err != nil {
		t.Fatal(err)
	}
	b.Manifest.Text = bytes.Replace(b.Manifest.Text, []byte(`"wardcast-`), []byte(`"hardcast-`), 1)
	if _, err := s.Save(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	earlier := &models.Generation{
		CreatedAt: b.Manifest.CreatedAt, Models: map[string]models.Member{bundle.Other: {Version: b.Version}},
	}
	if err := s.AddGeneration(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	check := func(args ...string) {
		t.Helper()
		fail(t, cli.ExitFailed, append(append([]string{"models"}, args...), "--model-dir", dir), "hardcast-",
			"train it again")
	}
	check("promote", earlier.Name)
	check("promote", "--dry-run", earlier.Name)
	for _, c := range []models.Change{{From: names[0], To: earlier.Name}, {From: earlier.Name, To: names[1]}} {
		if err := s.Promote(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	check("rollback")
	check("rollback", "--dry-run")
	check("rollback", "--to", earlier.Name)
	if got := served(t, s); got != names[1] {
		t.Errorf("served is %s", got)
	}
}

// TestNoStore: a folder without a store is told from an empty one.
func TestNoStore(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	dir, _, _ := twoGenerations(t)
	for _, c := range []struct {
		dir, want string
		args      []string
	}{
		{filepath.Dir(dir), "no model store", []string{"list"}},
		{filepath.Dir(dir), "no model store", []string{"history"}},
		{filepath.Dir(dir), "no model store", []string{"verify"}},
		{empty, "no generation in this store", []string{"verify"}},
		{empty, "is empty: train first", []string{"show", "_other"}},
		{empty, "is empty: train first", []string{"card"}},
	} {
		fail(t, cli.ExitFailed, append(append([]string{"models"}, c.args...), "--model-dir", c.dir), c.want)
	}
}

// TestStrayGeneration: a damaged file that nothing names stops no promotion.
func TestStrayGeneration(t *testing.T) {
	t.Parallel()
	dir, s, names := twoGenerations(t)
	stray := filepath.Join(dir, "generations", "2099-01-01T00-00-00Z-000000.json")
	if err := os.WriteFile(stray, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	succeed(t, "", "models", "diff", "--model-dir", dir)
	succeed(t, "", "models", "promote", "--model-dir", dir)
	if got := served(t, s); got != names[1] {
		t.Errorf("served is %s", got)
	}
}

// TestPrune: of three generations the served one and the one before stay. A dry run prints what would go.
func TestPrune(t *testing.T) {
	t.Parallel()
	dir, s, names := twoGenerations(t)
	g, err := s.Generation(t.Context(), names[1])
	if err != nil {
		t.Fatal(err)
	}
	third := &models.Generation{Parent: g.Name, CreatedAt: g.CreatedAt.Add(time.Hour), Models: maps.Clone(g.Models)}
	if err := s.AddGeneration(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	first, err := s.Generation(t.Context(), names[0])
	if err != nil {
		t.Fatal(err)
	}
	gone := first.Models[bundle.Other].Version
	for _, name := range []string{g.Name, third.Name} {
		succeed(t, "", "models", "promote", name, "--model-dir", dir)
	}
	prune := []string{"models", "prune", "--model-dir", dir, "--keep", "1"}
	if got := succeed(t, "", prune...); got != "removed 0 generations, 0 versions, 0 fits of beds\n" {
		t.Errorf("within 720 hours of a promotion prune prints %q", got)
	}
	prune = append(prune, "--for", "0s")
	for _, how := range [][]string{{"--dry-run"}, nil} {
		args := append(slices.Clip(prune), how...)
		want := map[string]any{
			"dry_run": how != nil, "generations": []any{names[0]}, "beds": []any{},
			"versions": []any{map[string]any{"model": bundle.Other, "version": gone}},
		}
		if d := cmp.Diff(want, clitest.Object(t, succeed(t, "", append(args, "--output=json")...))); d != "" {
			t.Errorf("%v: %s", how, d)
		}
	}
	if left, err := s.Generations(t.Context()); err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v", left, err)
	}
	succeed(t, "", "models", "verify", "--model-dir", dir)
	fail(t, cli.ExitUsage, []string{"models", "prune", "--model-dir", dir, "--keep", "0"}, "--keep must be at least 1")
}
