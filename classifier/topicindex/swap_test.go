package topicindex

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/wardcast/wardcast/models"
)

// Fifty clients search while versions are added, and each search is answered by one index as a whole.
func TestSwapUnderClients(t *testing.T) {
	t.Parallel()
	x, s := filled(t, []planted{breath, falls})
	const clients, swaps = 50, 4
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := x.Search(t.Context(), Query{Text: []string{"dyspnea", "hip", "fractures", "lacer"}[i%4]})
				if err != nil || len(r.Results) != min(r.Total, DefaultLimit) || r.Facets.Status[0].Count > r.Total || r.Total == 0 {
					t.Errorf("client %d: %+v, %v", i, r, err)
					return
				}
			}
		})
	}
	for day := 1; day <= swaps; day++ {
		later, fall := breath, falls
		later.day, fall.day = day, day
		add(t, s, later, fall)
		if err := x.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	all.Wait()
	if r, err := x.Search(t.Context(), Query{}); err != nil || r.Total != 5*(swaps+1) {
		t.Errorf("at the end: %+v, %v", r, err)
	}
}

// TestLatency prints how long searches of 10,000 topics take for 50 clients while indexes are made and swapped. Each client searches
// WARDCAST_SEARCH_RATE times a second, 0 as fast as it can.
func TestLatency(t *testing.T) {
	text := os.Getenv("WARDCAST_SEARCH_RATE")
	if text == "" {
		t.Skip("set WARDCAST_SEARCH_RATE, searches a second of each of 50 clients, to measure for half a minute")
	}
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	versions := many(10_000)
	entering(versions)
	store := models.OpenDir(filepath.Join(t.TempDir(), "models"))
	if err := store.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	add(t, store, breath)
	config := Config{Store: store, Folder: filepath.Join(t.TempDir(), "index")}
	// Every Refresh finds another questionnaire, and makes a new index.
	round := 0
	config.Factors = func(context.Context) ([]*Version, error) {
		round++
		again := slices.Clone(versions)
		first := *versions[0]
		first.Generation = strconv.Itoa(round)
		again[0] = &first
		return again, nil
	}
	x := open(t, config)
	w := x.current.sortedWords(t)
	kinds := queries(slices.DeleteFunc(w, func(w string) bool { return w[0] == '+' || w[0] == '-' }))
	delete(kinds, "all")
	list := slices.Collect(maps.Values(kinds))
	const clients, swaps = 50, 1
	stop := make(chan struct{})
	times := make([][]time.Duration, clients)
	var all sync.WaitGroup
	for i := range clients {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		all.Go(func() {
			for {
				wait := time.Duration(0)
				if rate > 0 {
					wait = time.Duration(r.ExpFloat64() / rate * float64(time.Second))
				}
				select {
				case <-stop:
					return
				case <-time.After(wait):
				}
				began := time.Now()
				if _, err := x.Search(t.Context(), list[r.IntN(len(list))]); err != nil {
					t.Error(err)
				}
				times[i] = append(times[i], time.Since(began))
			}
		})
	}
	began := time.Now()
	for range swaps {
		if err := x.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	all.Wait()
	took := slices.Sorted(slices.Values(slices.Concat(times...)))
	at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond) }
	fmt.Printf("%d searches in %v, %d swaps: p50 %v, p99 %v, p99.9 %v, longest %v\n", len(took), cmp.Or(time.Since(began).Round(time.Second), time.Second), swaps, at(.5), at(.99), at(.999), at(1))
}
