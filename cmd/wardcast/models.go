package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/models"
)

type modelsCmd struct {
	List   modelsListCmd   `cmd:"" help:"List all versions of all models." example:"wardcast models list --model-dir models"`
	Show   modelsShowCmd   `cmd:"" help:"Show the card and the manifest of one version." example:"wardcast models show --model-dir models _other"`
	Verify modelsVerifyCmd `cmd:"" help:"Check every file of the store. Print the bad ones, and exit with code 1 if there are any." example:"wardcast models verify --model-dir models"`
}

// store is the flag of commands that read a model store.
type store struct {
	ModelDir string `help:"Model store." required:"" type:"existingdir" placeholder:"DIR"`
}

type modelsListCmd struct {
	store
	cli.Output
}

func (c *modelsListCmd) Run(ctx context.Context, d *cli.Deps) error {
	versions, damage := models.List(ctx, models.OpenDir(c.ModelDir))
	if versions == nil {
		return damage
	}
	var rows [][]string
	for _, v := range versions {
		rows = append(rows, []string{v.Model, v.Version, string(v.Status), v.CreatedAt.Format(time.RFC3339), v.Reason})
	}
	// Damage must not hide the other models, and must be reported.
	return errors.Join(c.Print(d, versions, []string{"MODEL", "VERSION", "STATUS", "CREATED", "REASON"}, rows), damage)
}

type modelsShowCmd struct {
	store
	cli.Output
	Model   string `arg:"" help:"Name of the model."`
	Version string `arg:"" optional:"" help:"Version (default: the champion)."`
}

func (c *modelsShowCmd) Run(ctx context.Context, d *cli.Deps) error {
	b, err := loadBundle(ctx, models.OpenDir(c.ModelDir), c.Model, c.Version)
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

// loadBundle returns a version of a model; "" is the champion.
func loadBundle(ctx context.Context, s *models.Store, name, version string) (*models.Bundle, error) {
	if version == "" {
		var err error
		if version, err = s.Champion(ctx, name); err != nil {
			return nil, err
		}
	}
	return s.Load(ctx, name, version)
}

type modelsVerifyCmd struct {
	store
	cli.Output
}

func (c *modelsVerifyCmd) Run(ctx context.Context, d *cli.Deps) error {
	bar := cli.NewProgress(d.Err, "versions")
	bad, err := models.OpenDir(c.ModelDir).Verify(ctx, bar.Set)
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
	files := []file{}
	var rows [][]string
	for _, e := range bad {
		files = append(files, file{e.Model, e.Version, e.File, e.Err.Error()})
		rows = append(rows, []string{e.Model, e.Version, e.File, e.Err.Error()})
	}
	if len(files) == 0 && !c.JSON() {
		_, err = fmt.Fprintln(d.Out, "all files match their manifests")
	} else {
		err = c.Print(d, map[string]any{"bad": files}, []string{"MODEL", "VERSION", "FILE", "REASON"}, rows)
	}
	if err == nil && len(files) > 0 {
		d.Log.Error("the model store holds bad files", "files", len(files))
		return cli.ErrReported
	}
	return err
}
