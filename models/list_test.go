package models

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// TestVerifyReportsProgress counts the versions of all models.
func TestVerifyReportsProgress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := OpenDir(dir)
	all := sample(0)
	all.Manifest.Name = bundle.Other
	save(t, s, all)
	for i := range 2 {
		save(t, s, sample(i))
	}
	write(t, filepath.Join(dir, "stray"), nil)
	var got []int
	found, err := s.Verify(t.Context(), func(done, total int) { got = append(got, done, total) })
	if d := cmp.Diff([]int{1, 3, 2, 3, 3, 3}, got); d != "" || err != nil || len(found) != 1 {
		t.Errorf("%d files, %v: %s", len(found), err, d)
	}
}
