package models

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPrune promotes generations 0 to 4 and leaves 5 as a challenger, then goes back to 2.
func TestPrune(t *testing.T) {
	t.Parallel()
	later := time.Now().AddDate(100, 0, 0) // keeps nothing for its age
	for name, c := range map[string]struct {
		keep Keep
		left []int
	}{
		// 2 is served, 1 is what a rollback would serve, 5 is the challenger.
		"newest":            {Keep{Newest: 1, Since: later}, []int{1, 2, 5}},
		"more":              {Keep{Newest: 2, Since: later}, []int{1, 2, 4, 5}},
		"of the history":    {Keep{Newest: 1, Since: time.Now().Add(-time.Hour)}, []int{0, 1, 2, 3, 4, 5}},
		"more than are":     {Keep{Newest: 9, Since: later}, []int{0, 1, 2, 3, 4, 5}},
		"what a dry run is": {Keep{Newest: 1, Since: later, DryRun: true}, []int{0, 1, 2, 3, 4, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := OpenDir(t.TempDir())
			all := generations(t, s, 6)
			versions, err := s.Versions(t.Context(), "chest-pain")
			if err != nil {
				t.Fatal(err)
			}
			served := ""
			for _, i := range []int{0, 1, 2, 3, 4, 2} {
				c := Change{To: all[i], From: served}
				do := s.Promote
				if i < 4 && served == all[4] {
					do = s.Rollback
				}
				if err := do(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				served = all[i]
			}
			p, err := s.Prune(t.Context(), c.keep)
			if err != nil {
				t.Fatal(err)
			}
			want := &Pruned{Generations: []string{}, Versions: []VersionOf{}, Beds: []string{}}
			for i := range all {
				if slices.Contains(c.left, i) && !(c.keep.DryRun && slices.Contains([]int{0, 3, 4}, i)) {
					continue
				}
				want.Generations = append(want.Generations, all[i])
				want.Versions = append(want.Versions, VersionOf{"chest-pain", versions[i]})
			}
			if d := cmp.Diff(want, p); d != "" {
				t.Error(d)
			}
			names, err := s.Generations(t.Context())
			left, err2 := s.Versions(t.Context(), "chest-pain")
			for n, i := range c.left {
				if len(names) != len(c.left) || names[n] != all[i] || len(left) != len(names) || left[n] != versions[i] {
					t.Fatalf("left are %v, %v, versions %v, %v, want %v", names, err, left, err2, c.left)
				}
			}
			if damaged, err := s.Verify(t.Context(), nil); err != nil || len(damaged) > 0 {
				t.Errorf("verify: %v, %v", damaged, err)
			}
			if err := s.Rollback(t.Context(), Change{From: all[2]}); err != nil {
				t.Errorf("rolling back afterwards: %v", err)
			}
		})
	}
}

// TestPruneBeds: fits of beds go with the last generation that names them, and what no generation names when it is a
// day old.
func TestPruneBeds(t *testing.T) {
	t.Parallel()
	s := OpenDir(t.TempDir())
	at := time.Now().Add(-72 * time.Hour)
	var fits []string
	served := ""
	for i := range 5 {
		if i == 4 {
			at = time.Now() // a training that has not ended
		}
		fit, err := s.SaveBeds(t.Context(), at.Add(time.Duration(i)*time.Second), []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		fits = append(fits, fit)
		if i > 2 {
			continue
		}
		b := sample(i)
		save(t, s, b)
		g := &Generation{
			CreatedAt: at.Add(time.Duration(i) * time.Second), Beds: fit,
			Models: map[string]Member{"chest-pain": {Version: b.Version}},
		}
		if err := s.AddGeneration(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		if err := s.Promote(t.Context(), Change{To: g.Name, From: served}); err != nil {
			t.Fatal(err)
		}
		served = g.Name
	}
	p, err := s.Prune(t.Context(), Keep{Newest: 1, Since: time.Now()})
	if err != nil || cmp.Diff([]string{fits[0], fits[3]}, p.Beds) != "" {
		t.Errorf("removed %+v, %v of %v", p, err, fits)
	}
	if left, err := s.BedsVersions(t.Context()); cmp.Diff([]string{fits[1], fits[2], fits[4]}, left) != "" {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestPruneOfDamage: a store whose history cannot be trusted, or with a generation that cannot be read, stays.
func TestPruneOfDamage(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, dir, first string){
		"a champion put there by hand": func(t *testing.T, dir, first string) {
			t.Helper()
			write(t, filepath.Join(dir, championFile), []byte(first+"\n"))
		},
		"a generation": func(t *testing.T, dir, first string) {
			t.Helper()
			write(t, filepath.Join(dir, generationFile(first)), []byte("{}"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := OpenDir(dir)
			all := generations(t, s, 4)
			served := ""
			for _, g := range all {
				if err := s.Promote(t.Context(), Change{To: g, From: served}); err != nil {
					t.Fatal(err)
				}
				served = g
			}
			harm(t, dir, all[0])
			_, err := s.Prune(t.Context(), Keep{Newest: 1, Since: time.Now().AddDate(100, 0, 0)})
			if damage := (*FileError)(nil); !errors.As(err, &damage) || !strings.HasPrefix(err.Error(), "pruning: ") {
				t.Errorf("%v", err)
			}
			if names, err := s.Generations(t.Context()); len(names) != len(all) {
				t.Errorf("left are %v, %v", names, err)
			}
		})
	}
}
