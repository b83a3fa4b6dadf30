package demo

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/models/gate"
)

func quiet(nights int) Options {
	return Options{
		Nights: nights, Rate: 40, Seed: 6, Version: "test", Logger: slog.New(slog.DiscardHandler),
		Say: func(string, ...any) {},
	}
}

// TestNights lives through two days of a small hospital. What is built in decides: after the bad day no model is worth
// anything.
func TestNights(t *testing.T) {
	if os.Getenv("WARDCAST_LONG") == "" {
		t.Skip("it trains four generations: WARDCAST_LONG=1 runs it")
	}
	t.Parallel()
	o := quiet(2)
	o.PerDay = 600
	var nights []Night
	r, err := RunNights(t.Context(), o, func(n *Night) error {
		nights = append(nights, *n)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(nights) != 4 {
		t.Fatalf("%d nights are told of, want the first models, two nights, and the rollback", len(nights))
	}
	served := []string{}
	notes := 0
	for i, n := range nights {
		t.Logf("%+v", n)
		notes += n.Notes
		if n.Night != i || n.Lost != 0 || n.Repeated != 0 || n.Notes == 0 {
			t.Errorf("night %d is told as %d: %d notes, %d lost, %d repeated", i, n.Night, n.Notes, n.Lost, n.Repeated)
		}
		changed := i > 0 && n.Generation != nights[i-1].Generation
		if changed != (n.SwapSeconds != nil) {
			t.Errorf("night %d: served changed %v, swap after %v", i, changed, n.SwapSeconds)
		}
		if i == 0 || changed {
			served = append(served, n.Generation)
		}
		if judged := n.Decision != ""; judged != (i < 3) || judged && (n.Challenger == nil || n.Later == 0) ||
			(i > 0 && judged) != (n.Alignment != nil) {
			t.Errorf("night %d is told without what was judged", i)
		}
	}
	if d := nights[2].Decision; d != gate.Refuse {
		t.Errorf("after a day of wrong outcomes the gate says %s", d)
	}
	if d := nights[1].Decision; d != gate.Promote || nights[3].Generation != nights[0].Generation || len(served) != 3 {
		t.Errorf("the first night ends with %s, and %q were served; want a promotion that is rolled back", d, served)
	}
	if r.Notes != notes || r.Answered != notes || r.Lost != 0 || r.Repeated != 0 {
		t.Errorf("%d notes were sent, and the result is %+v", notes, *r)
	}
	sum := 0
	for g, count := range r.By {
		if sum += count; !slices.Contains(served, g) {
			t.Errorf("%d notes were answered by %q, which was never served", count, g)
		}
	}
	if sum != notes || len(r.By) != 2 {
		t.Errorf("%d of %d notes were answered by the generations %v", sum, notes, r.By)
	}
}

// TestNightsStopped ends the nights in the training of the first models.
func TestNightsStopped(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	o := quiet(1)
	o.Progress = func(int, int) { cancel() }
	r, err := RunNights(ctx, o, func(n *Night) error {
		t.Errorf("night %d is told of", n.Night)
		return nil
	})
	if r != nil || err != nil {
		t.Errorf("%v, %v, want neither result nor error", r, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left in the temporary folder: %v", left, err)
	}
}
