package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/service/serving"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/blobstore"
	"github.com/wardcast/wardcast/models/compare"
	"github.com/wardcast/wardcast/models/signing"
)

type modelsCmd struct {
	List     modelsListCmd     `cmd:"" help:"List all versions of all models." example:"wardcast models list --model-dir models"`
	Show     modelsShowCmd     `cmd:"" help:"Show the card and the manifest of one version." example:"wardcast models show --model-dir models _other"`
	Card     modelsCardCmd     `cmd:"" help:"Print the model card of one version, by default that of all models that are served together." example:"wardcast models card --model-dir models _other"`
	Diff     modelsDiffCmd     `cmd:"" help:"Compare two generations: changed models, their performance, and words that entered or left." example:"wardcast models diff --model-dir models"`
	Promote  modelsPromoteCmd  `cmd:"" help:"Serve another generation: all its models at once, within seconds." example:"wardcast models promote 2026-11-20T02-00-41Z-3f9c1a --model-dir models --why 'reviewed by the triage board'"`
	Rollback modelsRollbackCmd `cmd:"" help:"Serve an earlier generation again." example:"wardcast models rollback --model-dir models --why 'too many admissions predicted since noon'"`
	History  modelsHistoryCmd  `cmd:"" help:"Show who promoted, refused or rolled back what, when and why." example:"wardcast models history --model-dir models"`
	Keygen   modelsKeygenCmd   `cmd:"" help:"Make a key that models are signed with." example:"wardcast models keygen --out hospital.key"`
	Sign     modelsSignCmd     `cmd:"" help:"Sign a generation, and with the served one the history." example:"wardcast models sign --model-dir models --key hospital.key"`
	Verify   modelsVerifyCmd   `cmd:"" help:"Check every file of the store. Prints the bad ones; the exit code is then 1." example:"wardcast models verify --model-dir models"`
	Prune    modelsPruneCmd    `cmd:"" help:"Remove old generations with their versions." example:"wardcast models prune --model-dir models --keep 10 --dry-run"`
}

type store struct {
	ModelDir string `help:"Model store: a folder, or a bucket (${stores})." required:"" placeholder:"DIR"`
	trustFlag
}

type trustFlag struct {
	TrustedKeys []string `help:"Accept only what one of these public keys signed (models keygen)." type:"existingfile" placeholder:"FILE.pub"`
}

type signFlag struct {
	SigningKey string `help:"Sign with this key (models keygen)." type:"existingfile" placeholder:"FILE"`
}

// ProvideStore returns the store as a parameter of the commands' Run. A folder must exist.
func (s *store) ProvideStore(ctx context.Context) (*models.Store, error) {
	if !blobstore.IsURL(s.ModelDir) {
		if info, err := os.Stat(s.ModelDir); err != nil || !info.IsDir() {
			return nil, cli.Usagef("--model-dir %s: not a folder", s.ModelDir)
		}
	}
	opened, err := blobstore.Open(ctx, s.ModelDir)
	if err != nil {
		return nil, err
	}
	keys, err := signing.Read("", s.TrustedKeys)
	if err != nil {
		return nil, err
	}
	opened = opened.With(keys)
	if err := opened.Recognize(ctx); err != nil && !errors.Is(err, models.ErrEmpty) {
		return nil, fmt.Errorf("--model-dir %s: %w", s.ModelDir, err)
	}
	return opened, nil
}

type modelsListCmd struct {
	store
	cli.Output
}

func (c *modelsListCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
	versions, damage := models.List(ctx, s)
	if versions == nil {
		return damage
	}
	grid := cli.NewGrid("MODEL", "VERSION", "STATUS", "GENERATION", "CREATED", "REASON")
	for _, v := range versions {
		grid.Add(v.Model, v.Version, v.Status, v.Generation, v.CreatedAt, v.Reason)
	}
	// Print the other models, and report the damage.
	return errors.Join(c.Print(d, versions, grid), damage)
}

type oneVersion struct {
	store
	Version string `help:"Version, or a generation that contains it (default: the champion)."`
}

func (c *oneVersion) load(ctx context.Context, model string) (*bundle.Bundle, error) {
	s, err := c.ProvideStore(ctx)
	if err != nil {
		return nil, err
	}
	if errors.Is(s.Recognize(ctx), models.ErrEmpty) {
		return nil, fmt.Errorf("the store %s is empty: train first", c.ModelDir)
	}
	return loadBundle(ctx, s, model, c.Version)
}

type modelsShowCmd struct {
	oneVersion
	cli.Output
	Model string `arg:"" optional:"" help:"Name of the model."`
	Which string `arg:"" name:"which" optional:"" help:"Same as --version."`
}

func (c *modelsShowCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Which != "" && c.Version != "" {
		return cli.Usagef("the version is given twice")
	}
	if c.Model == "" && c.Version != "" {
		return cli.Usagef("--version %s needs the name of a model, such as _other", c.Version)
	}
	c.Version = cmp.Or(c.Version, c.Which)
	b, err := c.load(ctx, c.Model)
	if err != nil {
		return err
	}
	if c.JSON() {
		return cli.PrintJSON(d.Out, map[string]any{"version": b.Version, "sha256": b.SHA256, "manifest": b.Manifest})
	}
	if _, err := fmt.Fprintln(d.Out, wording.VisibleLines(b.Card)); err != nil {
		return err
	}
	m := b.Manifest
	if m.Text, err = withoutTables(m.Text); err != nil {
		return fmt.Errorf("reading the manifest: %w", err)
	}
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	_, err = fmt.Fprintf(d.Out, "## Manifest of %s, without the tables of its text\n\n%s\n", b.Version,
		wording.VisibleLines(string(manifest)))
	return err
}

type modelsCardCmd struct {
	oneVersion
	cli.Output
	Model string `arg:"" optional:"" help:"Name of the model." default:"_other"`
	HTML  bool   `help:"Print the report as a page of HTML with plots."`
}

func (c *modelsCardCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.HTML && c.JSON() {
		return cli.Usagef("--html and --output=json exclude each other")
	}
	b, err := c.load(ctx, c.Model)
	if err != nil {
		return err
	}
	if c.JSON() {
		return cli.PrintJSON(d.Out,
			map[string]any{"model": c.Model, "version": b.Version, "card": b.Card, "report": b.Report})
	}
	if c.HTML {
		_, err := d.Out.Write(b.Page)
		return err
	}
	_, err = fmt.Fprint(d.Out, wording.VisibleLines(b.Card))
	return err
}

// withoutTables returns text settings without their longest tables: concepts, stop words and pieces of words.
func withoutTables(text json.RawMessage) (json.RawMessage, error) {
	if text == nil {
		return nil, nil
	}
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, err
	}
	for _, table := range []string{"concepts", "stop_words", "grams"} {
		delete(settings, table)
	}
	return json.Marshal(settings)
}

// loadBundle returns a version of a model: the champion for "", or the version in a generation.
func loadBundle(ctx context.Context, s *models.Store, name, version string) (*bundle.Bundle, error) {
	var g *models.Generation
	var err error
	if version == "" {
		g, err = s.Champion(ctx)
	} else {
		g, err = s.Generation(ctx, version)
	}
	switch {
	case version != "" && errors.Is(err, models.ErrNotFound):
		return s.Load(ctx, name, version)
	case errors.Is(err, models.ErrNotFound):
		return nil, fmt.Errorf("%w; serve one with \"wardcast models promote\"", err)
	case err != nil:
		return nil, err
	}
	m, ok := g.Models[name]
	if !ok {
		known := slices.Sorted(maps.Keys(g.Models))
		if name == "" {
			return nil, cli.Usagef("<model> is missing: one of %q", known)
		}
		return nil, fmt.Errorf("generation %q has no model %q, only %q", g.Name, name, known)
	}
	return s.Load(ctx, name, m.Version)
}

type modelsVerifyCmd struct {
	store
	cli.Output
}

func (c *modelsVerifyCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
	if names, err := s.Generations(ctx); err == nil && len(names) == 0 && errors.Is(s.Recognize(ctx), models.ErrEmpty) {
		return errors.New("no generation in this store")
	}
	bar := cli.NewProgress(d, "versions")
	bad, err := s.Verify(ctx, bar.Set)
	bar.Finish()
	if err != nil {
		return err
	}
	signed, _ := s.Signers(ctx) // what is wrong with them is among the bad
	type file struct {
		Model   string `json:"model"`
		Version string `json:"version"`
		File    string `json:"file"`
		Reason  string `json:"reason"`
	}
	files, grid := []file{}, cli.NewGrid("MODEL", "VERSION", "FILE", "REASON")
	for _, e := range bad {
		files = append(files, file{Model: e.Model, Version: e.Version, File: e.File, Reason: e.Err.Error()})
		grid.Add(e.Model, e.Version, e.File, e.Err)
	}
	if len(files) == 0 {
		grid.Title = "all files match their manifests\n"
	}
	for _, g := range signed {
		if by := cmp.Or(g.Trusted, strings.Join(g.Keys, ", ")); by != "" {
			grid.Title += fmt.Sprintf("generation %s is signed by %s\n", g.Generation, by)
		}
	}
	if err = c.Print(d, map[string]any{"bad": files, "signed": signed}, grid); err == nil && len(files) > 0 {
		d.Log.Error("the model store holds bad files", "files", len(files))
		return cli.ErrReported
	}
	return err
}

type modelsKeygenCmd struct {
	Out string `help:"File for the key, which only its owner can read; FILE.pub is for those who trust it. Neither may exist." required:"" placeholder:"FILE"`
}

func (c *modelsKeygenCmd) Run() error { return signing.NewKeyFile(c.Out) }

type modelsSignCmd struct {
	store
	Key        string `help:"Key to sign with (models keygen)." required:"" type:"existingfile" placeholder:"FILE"`
	Generation string `help:"Generation (default: the served one)." placeholder:"G" xor:"which"`
	All        bool   `help:"All generations: when signing begins, or with another key." xor:"which"`
}

func (c *modelsSignCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
	keys, err := signing.Read(c.Key, c.TrustedKeys)
	if len(c.TrustedKeys) == 0 {
		keys.Trust = nil // it signs for the first time
	}
	s = s.With(keys)
	names := []string{c.Generation}
	if err == nil && c.All {
		names, err = s.Generations(ctx)
	}
	for _, name := range names {
		if err == nil {
			name, err = s.Sign(ctx, name)
		}
		if err == nil {
			_, err = fmt.Fprintf(d.Out, "generation %s is signed by %s\n", name, keys.Sign.ID())
		}
	}
	return err
}

type modelsPruneCmd struct {
	store
	cli.Output
	Keep   int           `help:"Generations to keep: this many of the newest. The served one, its parent, the one that a rollback would serve and the challenger are kept too." required:"" placeholder:"N"`
	For    time.Duration `help:"Keep also what was made, served or judged in this time." default:"720h" placeholder:"DURATION"`
	DryRun bool          `help:"Print what would be removed, without removing it."`
}

// Validate is called by the command line's parser.
func (c *modelsPruneCmd) Validate() error {
	if c.Keep < 1 || c.For < 0 {
		return errors.New("--keep must be at least 1, --for at least 0")
	}
	return nil
}

func (c *modelsPruneCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
	p, err := s.Prune(ctx, models.Keep{Newest: c.Keep, Since: time.Now().Add(-c.For), DryRun: c.DryRun})
	if err != nil {
		return err
	}
	grid, verb := cli.NewGrid("KIND", "MODEL", "NAME"), "removed"
	if c.DryRun {
		verb = "would remove"
	}
	grid.Title = fmt.Sprintf("%s %s, %s, %s\n", verb, wording.Count(len(p.Generations), "generation"),
		wording.Count(len(p.Versions), "version"), wording.Count(len(p.Beds), "fit of beds", "fits of beds"))
	for _, name := range p.Generations {
		grid.Add("generation", "", name)
	}
	for _, v := range p.Versions {
		grid.Add("version", v.Model, v.Version)
	}
	for _, version := range p.Beds {
		grid.Add("fit of beds", "", version)
	}
	return c.Print(d, map[string]any{
		"dry_run": c.DryRun, "generations": p.Generations, "versions": p.Versions, "beds": p.Beds,
	}, grid)
}

type changeFlags struct {
	store
	signFlag
	cli.Output
	Why    reason `help:"Reason, for the history." placeholder:"TEXT"`
	DryRun bool   `help:"Check everything and print the change, without making it."`
	Mend   bool   `help:"Vouch for a history that disagrees with the champion. Needs the generation and --why."`
}

// change is the output of commands that change the served generation.
type change struct {
	From   string            `json:"from"`
	To     string            `json:"to"`
	Models map[string]string `json:"models"` // versions of To
	DryRun bool              `json:"dry_run"`
}

// change makes a change with the keys of the flags, and prints it.
func (c *changeFlags) change(ctx context.Context, d *cli.Deps, s *models.Store, to string,
	do func(context.Context, *models.Store, *serving.Request) (*serving.Change, error),
) error {
	if c.Mend && (to == "" || c.Why == "") {
		return cli.Usagef("--mend needs the name of a generation, and --why")
	}
	keys, err := signing.Read(c.SigningKey, c.TrustedKeys)
	if err != nil {
		return err
	}
	made, err := do(ctx, s.With(keys), &serving.Request{
		To: to, By: operator(), Why: string(c.Why), Command: commandLine(d.Args), DryRun: c.DryRun, Mend: c.Mend,
		Logger: d.Log,
	})
	switch {
	case errors.Is(err, models.ErrDisagree) && !c.Mend:
		return fmt.Errorf("%w; when you know who did that, name the generation, with --mend and --why", err)
	case errors.Is(err, models.ErrNoKey):
		return fmt.Errorf("%w (--signing-key)", err)
	case err != nil:
		return err
	}
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
	err := c.change(ctx, d, s, c.Generation, serving.Promote)
	if objection, ok := errors.AsType[*serving.ObjectionError](err); ok {
		return cli.Usagef("%w (--why)", objection)
	}
	return err
}

type modelsRollbackCmd struct {
	changeFlags
	To string `help:"Generation (default: the one served before; a second rollback goes back one more)." placeholder:"G"`
}

func (c *modelsRollbackCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
	err := c.change(ctx, d, s, c.To, serving.Rollback)
	if errors.Is(err, models.ErrNeverServed) {
		return fmt.Errorf("%w, so there is nothing to go back to: to serve it, use \"wardcast models promote %s "+
			"--why TEXT\"", err, c.To)
	}
	return err
}

type modelsDiffCmd struct {
	store
	cli.Output
	From string `arg:"" optional:"" help:"Generation (default: the served one, or the one before it if that is the newest)."`
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

// some joins the first words; --output=json has all of them.
func some(words []string) string {
	const most = 4
	if len(words) > most {
		words = append(slices.Clone(words[:most]), "…")
	}
	return strings.Join(words, ", ")
}

// measures returns the admissions, the log loss and the AUROC of a model, or dashes for nil.
func measures(s *compare.Side) [3]string {
	if s == nil {
		return [3]string{"-", "-", "-"}
	}
	return [3]string{strconv.Itoa(s.Events), cli.Digits(s.LogLoss, 4), cli.Digits(s.AUROC, 3)}
}

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
	events = append([]models.Event{}, events...) // a list in JSON, if empty too
	const most = 60                              // letters of a reason and a command; --output=json has all of them
	grid := cli.NewGrid("TIME", "ACTION", "FROM", "TO", "BY", "WHY", "COMMAND")
	for _, e := range events {
		action := string(e.Action)
		if e.Abandoned {
			action += " (abandoned)"
		}
		grid.Add(e.Time, action, e.From, e.To, e.By, chart.Shorten(e.Why, most), chart.Shorten(e.Command, most))
	}
	// Print the other lines, and report the damage.
	return errors.Join(c.Print(d, events, grid), damage)
}

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
