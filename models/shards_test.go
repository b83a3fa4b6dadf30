package models

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// TestParts: what processes leave for each other is replaced, found damaged, and in no list.
func TestParts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, dir, _ := stored(t)
	before, err := s.Models(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadPart(ctx, "1-of-2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("nothing is there: %v", err)
	}
	for _, text := range []string{"first", "", "second"} {
		if err := s.WritePart(ctx, "1-of-2", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.ReadPart(ctx, "1-of-2"); err != nil || string(got) != text {
			t.Errorf("read %q, %v, want %q", got, err, text)
		}
	}
	if found, err := s.Verify(ctx, nil); err != nil || len(found) > 0 {
		t.Errorf("verify found %v, %v", found, err)
	}
	if after, err := s.Models(ctx); err != nil || len(after) != len(before) {
		t.Errorf("models %v, %v, want %v", after, err, before)
	}
	file := filepath.Join(dir, partsFolder, "1-of-2")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, harmed := range [][]byte{data[:10], data[:len(data)-1], append([]byte{data[0] ^ 1}, data[1:]...)} {
		write(t, file, harmed)
		if _, err := s.ReadPart(ctx, "1-of-2"); !errors.Is(err, ErrNotFound) {
			t.Errorf("damaged: %v", err)
		}
	}
}

// TestAgreeOnPart: of processes that would leave something at once, one does, and all others see the same.
func TestAgreeOnPart(t *testing.T) {
	t.Parallel()
	s := OpenDir(t.TempDir())
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	const n = 8
	var all sync.WaitGroup
	var wrote atomic.Int32
	seen := make([]string, n)
	for i := range n {
		all.Go(func() {
			own := strconv.Itoa(i)
			seen[i] = own
			did, err := s.AgreeOnPart(t.Context(), "ends", []byte(own), func(before []byte) bool {
				seen[i] = string(before)
				return true
			})
			if err != nil {
				t.Error(err)
			}
			if did {
				wrote.Add(1)
			}
		})
	}
	all.Wait()
	if slices.Sort(seen); wrote.Load() != 1 || len(slices.Compact(seen)) != 1 {
		t.Errorf("%d wrote; seen %v", wrote.Load(), seen)
	}
}
