package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lab/demo"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/textproc"
)

type demoCmd struct {
	cli.Output
	demo.Options
}

func (c *demoCmd) Run(ctx context.Context, d *cli.Deps) error {
	if !(c.Rate > 0) || c.Duration <= 0 || c.Nights < 0 {
		return cli.Usagef("--rate and --duration must be positive, --nights not negative")
	}
	if c.Port < 0 || c.Port > math.MaxUint16 {
		return cli.Usagef("--port %d is not a port", c.Port)
	}
	log, err := cli.NewLogger(d.Err, "warn")
	if err != nil {
		return err
	}
	if d.Own { // A closed pipe then is an error, which ends the demo, and the folder of its data is removed.
		signal.Ignore(syscall.SIGPIPE)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	bar := cli.NewProgress(d, "training")
	say := func(format string, args ...any) {
		bar.Finish()
		_, _ = fmt.Fprintf(d.Err, format+"\n", args...) // progress, not data
	}
	out := bufio.NewWriter(d.Out) // keeps the first error
	show := func(_ *msg.Prediction, value []byte) { line(out, "%s\n", value) }
	if !c.JSON() {
		head := fmt.Sprintf("%-9s %-30s %6s  %-9s %s\n", "VISIT", "COMPLAINT", "PROB.", "DECISION",
			"WORDS (+ towards admission, - away)")
		show = func(p *msg.Prediction, _ []byte) {
			line(out, "%s%-9s %-30s %6.3f  %-9s %s\n", head, p.VisitID, p.Complaint, p.Probability,
				p.Decision, words(p))
			head = ""
		}
	}
	o := c.Options
	o.Version, o.Logger, o.Say, o.Progress = version, log, say, bar.Set
	o.Show = func(p *msg.Prediction, value []byte) {
		if show(p, value); out.Flush() != nil {
			cancel()
		}
	}
	if c.Nights > 0 {
		return c.nights(ctx, d, o)
	}
	s, err := demo.Run(ctx, o)
	if err = cmp.Or(err, out.Flush()); err != nil || s == nil {
		return err
	}
	if c.JSON() {
		return cli.PrintJSON(d.Out, map[string]any{"summary": s})
	}
	line(out, "\n%d notes answered at %.1f notes/s, %d lost; latency %.1f ms (median), %.1f ms (99th percentile).\n",
		s.Notes, s.PerSecond, s.Lost, s.LatencyP50, s.LatencyP99)
	line(out, "AUROC %s, of the true probabilities %s. Mean absolute error of the probabilities: %.3f.\n",
		cli.Digits(s.AUROC, 3), cli.Digits(s.TruthAUROC, 3), s.MeanError)
	line(out, "Training took %.1f s, the first prediction came after %.1f s.\n", s.TrainingSecs, s.FirstAfterSecs)
	return out.Flush()
}

// line writes without buffering, so that each prediction appears at once.
func line(w *bufio.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...) // the last Flush returns the error
	_ = w.Flush()
}

// words returns the four parts of a note that moved its prediction most, as typed. A repeated part is listed once.
func words(p *msg.Prediction) string {
	var parts []summand
	for _, e := range p.Evidence {
		if e.Text == "" {
			continue
		}
		what := textproc.Spoken(e.Text, e.Status)
		if i := slices.IndexFunc(parts, func(s summand) bool { return s.what == what }); i >= 0 {
			parts[i].contribution += e.Contribution
		} else {
			parts = append(parts, summand{what, e.Contribution})
		}
	}
	sortLargest(parts)
	return strings.Join(lists.Map(parts[:min(len(parts), 4)],
		func(s summand) string { return fmt.Sprintf("%s %+.2f", s.what, s.contribution) }), ", ")
}

// nights simulates the nights of a hospital and reports each one.
func (c *demoCmd) nights(ctx context.Context, d *cli.Deps, o demo.Options) error {
	out := bufio.NewWriter(d.Out)
	report := func(n *demo.Night) error {
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
	line(out, "%d notes sent, %d answered, %d lost, %d answered twice; answered by each generation:\n", r.Notes,
		r.Answered, r.Lost, r.Repeated)
	for _, g := range slices.Sorted(maps.Keys(r.By)) {
		line(out, "  %s  %d\n", g, r.By[g])
	}
	return out.Flush()
}

// describe writes the result of a night.
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
