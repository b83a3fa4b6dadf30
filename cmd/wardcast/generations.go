package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	g, verb, before := made.To, "serving", "nothing"
	if c.DryRun {
		verb = "would serve"
	}
	if made.From != "" {
		before = "generation " + made.From
	}
	return c.Print(d, change{From: made.From, To: g.Name, Models: g.Versions(), DryRun: c.DryRun}, &cli.Grid{
		Title: fmt.Sprintf("%s generation %s (%d models) instead of %s\n", verb, g.Name, len(g.Models), before),
	})
}

type modelsPromoteCmd struct {
	changeFlags
	Generation string `arg:"" optional:"" help:"Generation (default: the newest that was neither refused nor rolled back)."`
}

func (c *modelsPromoteCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
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

func (c *modelsRollbackCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
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

func (c *modelsDiffCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
	from, to, err := c.generations(ctx, d, s)
	if err != nil {
		return err
	}
	all, err := compare.Generations(ctx, s, from, to)
	if err != nil {
		return err
	}
	grid := cli.NewGrid("MODEL", "CHANGE", "ADMITTED", "LOG LOSS", "AUROC", "ENTERED", "LEFT")
	grid.Title = fmt.Sprintf("generation %s → %s\n\n", from.Name, to.Name)
	for _, m := range all {
		a, b := measures(m.From), measures(m.To)
		grid.Add(m.Model, m.Kind, a[0]+" → "+b[0], a[1]+" → "+b[1], a[2]+" → "+b[2], some(m.Entered), some(m.Left))
	}
	return c.Print(d, map[string]any{"from": from.Name, "to": to.Name, "models": all}, grid)
}

// diffWords is how many words a cell of a table shows; --output=json has all.
const diffWords = 4

func some(words []string) string {
	if len(words) > diffWords {
		words = append(slices.Clone(words[:diffWords]), "…")
	}
	return strings.Join(words, ", ")
}

// measures returns the admissions, the log loss and the AUROC of a model, of which there may be none.
func measures(s *compare.Side) [3]string {
	if s == nil {
		return [3]string{"-", "-", "-"}
	}
	return [3]string{strconv.Itoa(s.Events), cli.Digits(s.LogLoss, 4), cli.Digits(s.AUROC, 3)}
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

func (c *modelsHistoryCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
	if !c.At.IsZero() {
		return c.served(ctx, d, s)
	}
	events, damage := s.History(ctx)
	if events == nil {
		events = []models.Event{}
	}
	grid := cli.NewGrid("TIME", "ACTION", "FROM", "TO", "BY", "WHY", "COMMAND")
	for _, e := range events {
		action := string(e.Action)
		if e.Abandoned {
			action += " (abandoned)"
		}
		grid.Add(e.Time, action, e.From, e.To, e.By, short(e.Why), short(e.Command))
	}
	// A damaged line must not hide the others, and must be reported.
	return errors.Join(c.Print(d, events, grid), damage)
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
	grid := cli.NewGrid("GENERATION", "MODEL", "VERSION")
	for _, model := range slices.Sorted(maps.Keys(versions)) {
		grid.Add(g.Name, model, versions[model])
	}
	return c.Print(d, map[string]any{"at": c.At, "generation": g.Name, "models": versions}, grid)
}
