package main

import (
	"bufio"
	"context"
	"maps"
	"slices"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lab/demo"
)

// nights runs the demo of a hospital's nights and tells of each as it ends.
func (c *demoCmd) nights(ctx context.Context, d *cli.Deps, o demo.Options) error {
	report := func(n *demo.Night) error {
		out := bufio.NewWriter(d.Out)
		describe(out, n)
		return out.Flush()
	}
	if c.JSON() {
		report = func(n *demo.Night) error { return cli.PrintJSON(d.Out, map[string]any{"night": n}) }
	}
	r, err := demo.RunNights(ctx, o, report)
	if err != nil || r == nil {
		return err
	}
	if c.JSON() {
		return cli.PrintJSON(d.Out, map[string]any{"summary": r})
	}
	out := bufio.NewWriter(d.Out)
	line(out, "%d notes sent, %d answered, %d lost, %d answered twice; answered by each generation:\n", r.Notes,
		r.Answered, r.Lost, r.Repeated)
	for _, g := range slices.Sorted(maps.Keys(r.By)) {
		line(out, "  %s  %d\n", g, r.By[g])
	}
	return out.Flush()
}

// describe writes what a night came to.
func describe(out *bufio.Writer, n *demo.Night) {
	switch {
	case n.Decision == "":
		line(out, "Rollback\n  reason      %s\n", n.Reason)
	case n.BuiltIn == "":
		line(out, "Night %d, after %s\n", n.Night, n.Date)
	default:
		line(out, "Night %d, after %s: %s\n", n.Night, n.Date, n.BuiltIn)
	}
	if w := n.Champion; w != nil {
		line(out, "  champion    log loss %.4f, AUROC %s\n", w.LogLoss, cli.Digits(w.AUROC, 3))
	}
	if w := n.Challenger; w != nil {
		line(out, "  challenger  log loss %.4f, AUROC %s, on %d later notes with %d admissions\n", w.LogLoss,
			cli.Digits(w.AUROC, 3), n.Later, n.Events)
	}
	if a := n.Alignment; a != nil {
		line(out, "  topics      %d of %d keep their number, mean cosine %.2f\n", a.Kept, a.Of, a.MeanCosine)
	}
	if n.Decision != "" {
		line(out, "  %-11s %s\n", n.Decision, n.Reason)
	}
	if n.SwapSeconds != nil {
		line(out, "  swapped     both scorers answer by %s, %.1f s after the change\n", n.Generation, *n.SwapSeconds)
	} else {
		line(out, "  served      %s\n", n.Generation)
	}
	line(out, "  notes       %d sent, %d lost\n\n", n.Notes, n.Lost)
}
