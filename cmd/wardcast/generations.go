package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/service/serving"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/compare"
)

// changeFlags is the flags of commands that change what is served.
type changeFlags struct {
	store
	cli.Output
	Why    string `help:"Reason, for the history." placeholder:"TEXT"`
	DryRun bool   `help:"Check everything and say what would change, and change nothing."`
}

// change is what a command that changes what is served prints.
type change struct {
	From   string            `json:"from"`
	To     string            `json:"to"`
	Models map[string]string `json:"models"` // versions of To
	DryRun bool              `json:"dry_run"`
}

// request returns what the flags ask for.
func (c *changeFlags) request(d *cli.Deps, to string) *serving.Request {
	return &serving.Request{
		To: to, By: operator(), Why: c.Why, Command: commandLine(d.Args), DryRun: c.DryRun, Logger: d.Log,
	}
}

// print says what was changed, or would be.
func (c *changeFlags) print(d *cli.Deps, made *serving.Change) error {
	from, to, g := made.From, made.To.Name, made.To
	if c.JSON() {
		return cli.PrintJSON(d.Out, change{From: from, To: to, Models: g.Versions(), DryRun: c.DryRun})
	}
	verb := "serving"
	if c.DryRun {
		verb = "would serve"
	}
	before := "nothing"
	if from != "" {
		before = "generation " + from
	}
	_, err := fmt.Fprintf(d.Out, "%s generation %s (%d models) instead of %s\n", verb, to, len(g.Models), before)
	return err
}

type modelsPromoteCmd struct {
	changeFlags
	Generation string `arg:"" optional:"" help:"Generation (default: the newest that was neither refused nor rolled back)."`
}

func (c *modelsPromoteCmd) Run(ctx context.Context, d *cli.Deps) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	made, err := serving.Promote(ctx, s, c.request(d, c.Generation))
	if objection, ok := errors.AsType[*serving.ObjectionError](err); ok {
		return cli.Usage(fmt.Errorf("%w (--why)", objection))
	}
	if err != nil {
		return err
	}
	return c.print(d, made)
}

type modelsRollbackCmd struct {
	changeFlags
	To string `help:"Generation (default: the one that was served before; a second rollback goes back one more)." placeholder:"G"`
}

func (c *modelsRollbackCmd) Run(ctx context.Context, d *cli.Deps) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	made, err := serving.Rollback(ctx, s, c.request(d, c.To))
	if errors.Is(err, models.ErrNeverServed) {
		return fmt.Errorf("%w, so there is nothing to go back to: to serve it, use \"wardcast models promote %s "+
			"--why TEXT\"", err, c.To)
	}
	if err != nil {
		return err
	}
	return c.print(d, made)
}

type modelsDiffCmd struct {
	store
	cli.Output
	From string `arg:"" optional:"" help:"Generation (default: the one that is served, or the one before it if that is the newest)."`
	To   string `arg:"" optional:"" help:"Generation (default: the newest)."`
}

func (c *modelsDiffCmd) Run(ctx context.Context, d *cli.Deps) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	from, to, err := c.generations(ctx, d, s)
	if err != nil {
		return err
	}
	all, err := compare.Generations(ctx, s, from, to)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, m := range all {
		row := []string{m.Model, string(m.Kind)}
		for _, get := range []func(*compare.Side) string{
			func(s *compare.Side) string { return strconv.Itoa(s.Events) },
			func(s *compare.Side) string { return cli.Digits(s.LogLoss, 4) },
			func(s *compare.Side) string { return cli.Digits(s.AUROC, 3) },
		} {
			row = append(row, beside(m.From, m.To, get))
		}
		rows = append(rows, append(row, some(m.Entered), some(m.Left)))
	}
	if !c.JSON() {
		if _, err := fmt.Fprintf(d.Out, "generation %s → %s\n\n", from.Name, to.Name); err != nil {
			return err
		}
	}
	report := map[string]any{"from": from.Name, "to": to.Name, "models": all}
	return c.Print(d, report, []string{"MODEL", "CHANGE", "ADMITTED", "LOG LOSS", "AUROC", "ENTERED", "LEFT"}, rows)
}

// diffWords is how many words a cell of a table shows; --output=json has all.
const diffWords = 4

func some(words []string) string {
	if len(words) > diffWords {
		words = append(slices.Clone(words[:diffWords]), "…")
	}
	return strings.Join(words, ", ")
}

// beside returns a measure before and after.
func beside(from, to *compare.Side, get func(*compare.Side) string) string {
	cell := func(s *compare.Side) string {
		if s == nil {
			return "-"
		}
		return get(s)
	}
	return cell(from) + " → " + cell(to)
}

// generations returns the two to compare.
func (c *modelsDiffCmd) generations(ctx context.Context, d *cli.Deps,
	s *models.Store,
) (from, to *models.Generation, err error) {
	served, err := serving.Champion(ctx, s, d.Log)
	if err != nil {
		return nil, nil, err
	}
	names := []string{c.From, c.To}
	if names[1] == "" {
		if names[1], err = serving.Newest(ctx, s, d.Log); err != nil {
			return nil, nil, err
		}
	}
	if names[0] == "" {
		if names[0] = served.Name; names[0] == names[1] || names[0] == "" {
			if names[0], err = s.Before(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
	if from, err = s.Generation(ctx, names[0]); err != nil {
		return nil, nil, err
	}
	to, err = s.Generation(ctx, names[1])
	return from, to, err
}

type modelsHistoryCmd struct {
	store
	cli.Output
	At time.Time `help:"Show the generation that was served at this time instead." placeholder:"TIME"`
}

func (c *modelsHistoryCmd) Run(ctx context.Context, d *cli.Deps) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	if !c.At.IsZero() {
		return c.served(ctx, d, s)
	}
	events, damage := s.History(ctx)
	if events == nil {
		events = []models.Event{}
	}
	header := []string{"TIME", "ACTION", "FROM", "TO", "BY", "WHY", "COMMAND"}
	var rows [][]string
	for _, e := range events {
		action := string(e.Action)
		if e.Abandoned {
			action += " (abandoned)"
		}
		rows = append(rows,
			[]string{e.Time.Format(time.RFC3339), action, e.From, e.To, e.By, short(e.Why), short(e.Command)})
	}
	// A damaged line must not hide the others, and must be reported.
	return errors.Join(c.Print(d, events, header, rows), damage)
}

// short cuts what a table shows of a text; --output=json has all of it.
func short(text string) string {
	const width = 60
	if letters := []rune(text); len(letters) > width {
		return string(letters[:width-1]) + "…"
	}
	return text
}

// served prints what was served at a time.
func (c *modelsHistoryCmd) served(ctx context.Context, d *cli.Deps, s *models.Store) error {
	g, err := s.ServedAt(ctx, c.At)
	if err != nil {
		return err
	}
	versions := g.Versions()
	var rows [][]string
	for model, version := range versions {
		rows = append(rows, []string{g.Name, model, version})
	}
	slices.SortFunc(rows, slices.Compare)
	return c.Print(d, map[string]any{"at": c.At, "generation": g.Name, "models": versions},
		[]string{"GENERATION", "MODEL", "VERSION"}, rows)
}
