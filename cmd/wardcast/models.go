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

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/blobstore"
)

type modelsCmd struct {
	List     modelsListCmd     `cmd:"" help:"List all versions of all models." example:"wardcast models list --model-dir models"`
	Show     modelsShowCmd     `cmd:"" help:"Show the card and the manifest of one version." example:"wardcast models show --model-dir models _other"`
	Card     modelsCardCmd     `cmd:"" help:"Print the model card of one version." example:"wardcast models card --model-dir models _other"`
	Diff     modelsDiffCmd     `cmd:"" help:"Compare two generations: which models changed, how each did, which words entered or left." example:"wardcast models diff --model-dir models"`
	Promote  modelsPromoteCmd  `cmd:"" help:"Serve another generation: all its models at once, within seconds." example:"wardcast models promote 2026-11-20T02-00-41Z-3f9c1a --model-dir models --why 'reviewed by the triage board'"`
	Rollback modelsRollbackCmd `cmd:"" help:"Serve a generation again that was served before." example:"wardcast models rollback --model-dir models --why 'too many admissions predicted since noon'"`
	History  modelsHistoryCmd  `cmd:"" help:"Show who promoted, refused or rolled back what, when and why." example:"wardcast models history --model-dir models"`
	Verify   modelsVerifyCmd   `cmd:"" help:"Check every file of the store. Print the bad ones, and exit with code 1 if there are any." example:"wardcast models verify --model-dir models"`
}

// store is the flag of commands that look at a model store.
type store struct {
	ModelDir string `help:"Model store: a folder, or a bucket (${stores})." required:"" placeholder:"DIR"`
}

// ProvideStore returns the store, which must be there if it is a folder. Commands have it as a parameter of Run.
func (s *store) ProvideStore(ctx context.Context) (*models.Store, error) {
	if !blobstore.IsURL(s.ModelDir) {
		if info, err := os.Stat(s.ModelDir); err != nil || !info.IsDir() {
			return nil, cli.Usage(fmt.Errorf("--model-dir %s: not a folder", s.ModelDir))
		}
	}
	opened, err := blobstore.Open(ctx, s.ModelDir)
	if err != nil {
		return nil, err
	}
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
	// Damage must not hide the other models, and must be reported.
	return errors.Join(c.Print(d, versions, grid), damage)
}

// oneVersion is the flags that choose a version.
type oneVersion struct {
	store
	Version string `help:"Version, or the generation that has it (default: the champion)."`
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
	Model string `arg:"" help:"Name of the model."`
	Which string `arg:"" name:"which" optional:"" help:"The same as --version."`
}

func (c *modelsShowCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Which != "" && c.Version != "" {
		return cli.Usage(errors.New("the version is given twice"))
	}
	c.Version = cmp.Or(c.Version, c.Which)
	b, err := c.load(ctx, c.Model)
	if err != nil {
		return err
	}
	if c.JSON() {
		return cli.PrintJSON(d.Out, map[string]any{"version": b.Version, "sha256": b.SHA256, "manifest": b.Manifest})
	}
	if _, err := fmt.Fprintln(d.Out, b.Card); err != nil {
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
	_, err = fmt.Fprintf(d.Out, "## Manifest of %s, without the tables of its text\n\n%s\n", b.Version, manifest)
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
		return cli.Usage(errors.New("--html and --output=json exclude each other: give one of them"))
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
		if b.Page == nil {
			return fmt.Errorf("version %s of model %q was made before there were reports", b.Version, c.Model)
		}
		_, err := d.Out.Write(b.Page)
		return err
	}
	_, err = fmt.Fprint(d.Out, b.Card)
	return err
}

// withoutTables returns text settings without concepts, stop words and pieces of words, which are thousands of lines.
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

// loadBundle returns a version of a model; "" is the champion, and the name of a generation the version that it has.
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
	case err != nil:
		return nil, err
	}
	m, ok := g.Models[name]
	if !ok {
		return nil, fmt.Errorf("generation %q has no model %q, but %q: %w", g.Name, name,
			slices.Sorted(maps.Keys(g.Models)), models.ErrNotFound)
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
	if err = c.Print(d, map[string]any{"bad": files}, grid); err == nil && len(files) > 0 {
		d.Log.Error("the model store holds bad files", "files", len(files))
		return cli.ErrReported
	}
	return err
}
