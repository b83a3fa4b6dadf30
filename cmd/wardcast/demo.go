package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lab/demo"
	"github.com/wardcast/wardcast/internal/service/obs"
)

type demoCmd struct {
	cli.Output
	demo.Options
}

func (c *demoCmd) Run(ctx context.Context, d *cli.Deps) error {
	if !(c.Rate > 0) || c.Duration <= 0 {
		return cli.Usage(errors.New("--rate and --duration must be positive"))
	}
	if c.Port < 0 || c.Port > math.MaxUint16 {
		return cli.Usage(fmt.Errorf("--port %d is not a port", c.Port))
	}
	log, err := obs.NewLogger(d.Err, "warn")
	if err != nil {
		return err
	}
	bar := cli.NewProgress(d.Err, "training")
	say := func(format string, args ...any) {
		bar.Finish()
		_, _ = fmt.Fprintf(d.Err, format+"\n", args...) // talk, not data
	}
	out := bufio.NewWriter(d.Out) // keeps the first error
	show := func(_ *msg.Prediction, value []byte) { line(out, "%s\n", value) }
	if !c.JSON() {
		head := fmt.Sprintf("%-9s %-26s %6s  %-9s %s\n", "VISIT", "COMPLAINT", "PROB.", "DECISION", "WORDS (+ towards admission, - away)")
		show = func(p *msg.Prediction, _ []byte) {
			line(out, "%s%-9s %-26s %6.3f  %-9s %s\n", head, p.VisitID, p.Complaint, p.Probability, p.Decision, words(p))
			head = ""
		}
	}
	o := c.Options
	o.Version, o.Logger, o.Say, o.Show, o.Progress = version, log, say, show, bar.Set
	s, err := demo.Run(ctx, o)
	if err != nil || s == nil {
		return err
	}
	if c.JSON() {
		return cli.PrintJSON(d.Out, map[string]any{"summary": s})
	}
	line(out, "\n%d notes answered at %.1f notes/s, %d lost; latency %.1f ms (half of them), %.1f ms (99 %%).\n", s.Notes, s.PerSecond, s.Lost, s.LatencyP50, s.LatencyP99)
	line(out, "AUROC %s; the rule that made the notes reaches %s. Mean distance from the true probability: %.3f.\n", cli.Digits(s.AUROC, 3), cli.Digits(s.TruthAUROC, 3), s.MeanError)
	line(out, "Training took %.1f s, the first prediction came after %.1f s.\n", s.TrainingSecs, s.FirstAfterSecs)
	return out.Flush()
}

// line writes without delay, so that each prediction is seen as it comes.
func line(w *bufio.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...) // the writer keeps its error for Flush at the end
	_ = w.Flush()
}

// shownWords is how many words of a note the table names.
const shownWords = 4

// words returns the words of a note that moved its prediction most, over all topics and single words.
func words(p *msg.Prediction) string {
	all := slices.DeleteFunc(wordSums(p), func(s summand) bool { return s.what == classifier.Other })
	var texts []string
	for _, w := range all[:min(shownWords, len(all))] {
		texts = append(texts, fmt.Sprintf("%s %+.2f", w.what, w.contribution))
	}
	return strings.Join(texts, ", ")
}
