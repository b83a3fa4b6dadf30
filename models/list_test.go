package models

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestList(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := OpenDir(t.TempDir())
	var versions []string
	for i := range 4 {
		versions = append(versions, save(t, s, sample(i)))
	}
	for _, v := range versions[:2] {
		if err := s.Promote(ctx, "chest-pain", Event{Version: v, Reason: "better"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Record(ctx, "chest-pain", Event{Version: versions[2], Action: Refused, Reason: "worse"}); err != nil {
		t.Fatal(err)
	}
	list, err := List(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, v := range list {
		if v.Model != "chest-pain" || v.Version != versions[i] || !v.CreatedAt.Equal(time.Date(2026, 11, 20, 2, 0, i, 0, time.UTC)) {
			t.Errorf("got %+v", v)
		}
		got = append(got, fmt.Sprintf("%s %v %s", v.Status, v.Champion, v.Reason))
	}
	if d := cmp.Diff([]string{"superseded false better", "champion true better", "refused false worse", "challenger false "}, got); d != "" {
		t.Error(d)
	}
	if err := os.RemoveAll(filepath.Join(s.path, "chest-pain", versions[1])); err != nil {
		t.Fatal(err)
	}
	if _, err := List(ctx, s); err == nil {
		t.Error("a champion that is gone goes unnoticed")
	}
}
