package models_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// day returns the time that many days into the history of earlierStore.
func day(n int) time.Time { return time.Date(2026, 11, n, 12, 0, 0, 0, time.UTC) }

// earlierStore writes a store as it was before there were generations: _other has had two champions, cough one, and that of
// fever was retired.
func earlierStore(tb testing.TB, dir string) (versions map[string]string) {
	tb.Helper()
	s := models.OpenDir(dir)
	versions = map[string]string{}
	for i, name := range []string{models.Other, models.Other, "cough", "fever"} {
		version, err := s.Save(tb.Context(), storetest.Bundle(name, i))
		if err != nil {
			tb.Fatal(err)
		}
		versions[fmt.Sprint(name, i)] = version
	}
	line := `{"time":%q,"action":%q,"version":%q,"previous":%q,"by":"train","reason":"because"}` + "\n"
	event := func(n int, action, version, previous string) string {
		return fmt.Sprintf(line, day(n).Format(time.RFC3339), action, version, previous)
	}
	other0, other1, cough, fever := versions["_other0"], versions["_other1"], versions["cough2"], versions["fever3"]
	for model, text := range map[string][2]string{
		models.Other: {other1, event(1, "promoted", other0, "") + event(3, "promoted", other1, other0)},
		"cough":      {cough, event(2, "promoted", cough, "")},
		"fever":      {"", event(2, "promoted", fever, "") + event(4, "retired", fever, "")},
	} {
		write(tb, filepath.Join(dir, model, "history.jsonl"), text[1]+`{"cut`)
		if text[0] != "" {
			write(tb, filepath.Join(dir, model, "champion"), text[0]+"\n")
		}
	}
	return versions
}

// told returns what List says of each version.
func told(tb testing.TB, s *models.Store) string {
	tb.Helper()
	list, err := models.List(tb.Context(), s)
	if err != nil {
		tb.Fatal(err)
	}
	var lines []string
	for _, v := range list {
		lines = append(lines, fmt.Sprint(v.Model, v.CreatedAt.Second(), " ", v.Status, " ", v.Reason))
	}
	return strings.Join(lines, "; ")
}

func TestEarlierLayoutIsRead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	versions := earlierStore(t, dir)
	s := models.OpenDir(dir)
	g, err := s.Champion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{models.Other: versions["_other1"], "cough": versions["cough2"]}, g.Versions()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]models.Pooled{"fever": {Reason: "because"}}, g.Pooled); d != "" || !g.CreatedAt.Equal(day(3)) {
		t.Errorf("created at %v: %s", g.CreatedAt, d)
	}
	if again, err := s.Generation(ctx, g.Name); err != nil || again.Name != g.Name {
		t.Errorf("by name: %v, %v", again, err)
	}
	if names, err := s.Generations(ctx); err != nil || !cmp.Equal(names, []string{g.Name}) {
		t.Errorf("generations %v, %v", names, err)
	}
	if damaged, err := s.Verify(ctx, nil); err != nil || len(damaged) > 0 {
		t.Errorf("verified: %v, %v", damaged, err)
	}
	if got, want := told(t, s), "_other0 superseded because; _other1 champion because; cough2 champion because; fever3 superseded because"; got != want {
		t.Errorf("listed as %s", got)
	}
	servedThen(t, s, versions)
}

// servedThen asks what was served when the store had the earlier layout.
func servedThen(t *testing.T, s *models.Store, versions map[string]string) {
	t.Helper()
	for n, want := range map[int]map[string]string{
		1: {models.Other: versions["_other0"]},
		2: {models.Other: versions["_other0"], "cough": versions["cough2"], "fever": versions["fever3"]},
		3: {models.Other: versions["_other1"], "cough": versions["cough2"], "fever": versions["fever3"]},
		4: {models.Other: versions["_other1"], "cough": versions["cough2"]},
	} {
		g, err := s.ServedAt(t.Context(), day(n))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, g.Versions()); d != "" {
			t.Errorf("day %d: %s", n, d)
		}
	}
	if _, err := s.ServedAt(t.Context(), day(0)); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("before the first champion: %v", err)
	}
}

// TestEarlierLayoutIsConverted stops the first promotion at each of its writes and runs it again.
func TestEarlierLayoutIsConverted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var dir string
	var versions map[string]string
	prepare := func() models.Bucket {
		dir = t.TempDir()
		versions = earlierStore(t, dir)
		return models.Dir(dir)
	}
	var before, next *models.Generation
	promote := func(s *models.Store) (err error) {
		if before, err = s.Champion(ctx); err != nil {
			return err
		}
		next = &models.Generation{Parent: before.Name, CreatedAt: day(9), Models: map[string]models.Member{models.Other: {Version: versions["_other0"]}}}
		if err := s.AddGeneration(ctx, next); err != nil {
			return err
		}
		return s.Promote(ctx, models.Change{To: next.Name, From: before.Name, By: "ops"})
	}
	stops := storetest.Stop(t, prepare, promote, func(when string, left models.Bucket) {
		s := models.New(left)
		earlier, name := before, next.Name
		g, err := s.Champion(ctx)
		if err != nil || g.Name != earlier.Name && g.Name != name {
			t.Fatalf("%s: %v, %v", when, g, err)
		}
		if damaged, err := s.Verify(ctx, nil); err != nil || len(damaged) > 0 {
			t.Fatalf("%s: damaged %v, %v", when, damaged, err)
		}
		if err := promote(s); err != nil && g.Name == earlier.Name {
			t.Fatalf("%s: again: %v", when, err)
		}
		events, err := s.History(ctx)
		if err != nil {
			t.Fatal(err)
		}
		carried, converted := 0, 0
		for _, e := range events {
			switch {
			case e.Model != "":
				carried++
			case e.To == earlier.Name && !e.Abandoned:
				converted++
			}
		}
		if carried != 5 || converted != 1 {
			t.Errorf("%s: %d events carried over, %d conversions", when, carried, converted)
		}
		servedThen(t, s, versions)
		if err := s.Rollback(ctx, models.Change{To: earlier.Name, From: events[len(events)-1].To}); err != nil {
			t.Errorf("%s: rolling back: %v", when, err)
		}
	})
	if stops < 12 { // two generations, history, record and champion of the conversion, record and champion
		t.Errorf("stopped %d times only", stops)
	}
	// The old champions must not come back when that of the store is lost.
	if err := os.Remove(filepath.Join(dir, "champion")); err != nil {
		t.Fatal(err)
	}
	if _, err := models.OpenDir(dir).Champion(ctx); err == nil || !strings.Contains(err.Error(), `file "champion"`) || !strings.Contains(err.Error(), "the history tells of one") {
		t.Errorf("a lost champion: %v", err)
	}
}

func TestEarlierLayoutDamaged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"champion":            {"cough/champion", "nonsense", `model "cough": file "champion": holds no version`},
		"history":             {"cough/history.jsonl", "{\n", `model "cough": file "history.jsonl": line 1`},
		"champion of _other":  {"_other/champion", "", `model "_other": file "champion"`},
		"version of champion": {"cough/champion", "2026-11-20T02-00-00Z-000000\n", "2026-11-20T02-00-00Z-000000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			earlierStore(t, dir)
			write(t, filepath.Join(dir, c.file), c.text)
			s := models.OpenDir(dir)
			damaged, err := s.Verify(t.Context(), nil)
			if err != nil || len(damaged) != 1 || !strings.Contains(damaged[0].Error(), c.want) {
				t.Errorf("verified: %v, %v", damaged, err)
			}
			if g, err := s.Champion(t.Context()); err == nil {
				if _, err = s.Load(t.Context(), "cough", g.Models["cough"].Version); err == nil {
					t.Error("the champion loads")
				}
			} else if !strings.Contains(err.Error(), c.want) {
				t.Errorf("champion: %v", err)
			}
		})
	}
	t.Run("champion of _other is lost", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		earlierStore(t, dir)
		if err := os.Remove(filepath.Join(dir, models.Other, "champion")); err != nil {
			t.Fatal(err)
		}
		_, err := models.OpenDir(dir).Champion(t.Context())
		if err == nil || !strings.Contains(err.Error(), `model "_other": file "champion": not found, though the history tells of a champion`) {
			t.Errorf("got %v", err)
		}
	})
}

// TestRefuseInEarlierStore: a refusal keeps the history of the models and what is served.
func TestRefuseInEarlierStore(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	versions := earlierStore(t, dir)
	s := models.OpenDir(dir)
	before, err := s.History(ctx)
	if err != nil {
		t.Fatal(err)
	}
	champion, err := s.Champion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	g := &models.Generation{CreatedAt: day(9), Models: map[string]models.Member{models.Other: {Version: versions["_other0"]}}}
	if err := s.Refuse(ctx, g, models.Change{From: champion.Name, By: "gate", Why: "worse"}); err != nil {
		t.Fatal(err)
	}
	after, err := s.History(ctx)
	if err != nil || len(after) != len(before)+2 || !cmp.Equal(after[:len(before)], before) || after[len(after)-1].Action != models.Refused {
		t.Errorf("history %+v, %v", after, err)
	}
	if served, err := s.Champion(ctx); err != nil || served.Name != champion.Name {
		t.Errorf("served %v, %v", served, err)
	}
}
