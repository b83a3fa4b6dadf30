package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire/factors"
	"github.com/wardcast/wardcast/models/blobstore"
	"github.com/wardcast/wardcast/models/topicindex"
)

type topicsSearchCmd struct {
	store
	cli.Output
	Query         []string `arg:"" optional:"" help:"Words, as a nurse would write them. Without any, all topics are found."`
	Like          string   `help:"Find the topics most like this one instead." placeholder:"MODEL/TOPIC"`
	SinceWord     string   `help:"Tell instead since which version each model knows this word." placeholder:"WORD"`
	Complaint     string   `help:"Only topics for this complaint." placeholder:"NAME"`
	Model         string   `help:"Only topics of this model." placeholder:"NAME"`
	Version       string   `help:"Only topics of this version."`
	Direction     string   `help:"Only topics whose positive scores move predictions this way: admission, discharge or none." placeholder:"WAY" enum:",admission,discharge,none" default:""`
	Method        string   `help:"Only topics of this method." placeholder:"NAME"`
	Served        bool     `help:"Only topics of the models that are served."`
	Questionnaire []string `help:"Also search the factors of a questionnaire: the output folder of questionnaire fit." placeholder:"DIR" sep:"none"`
	Limit         int      `help:"Topics to print." default:"10"`
	Index         string   `help:"Folder of the index (default: one in the user's folder for caches)." placeholder:"DIR"`
}

// Help says what the index is.
func (*topicsSearchCmd) Help() string {
	return "Searches the topics of all versions of all models. The first search makes an index of them; later ones " +
		"bring it up to date."
}

func (c *topicsSearchCmd) Run(ctx context.Context, d *cli.Deps) (err error) {
	q := topicindex.Query{
		Text: strings.Join(c.Query, " "), Complaint: c.Complaint, Model: c.Model, Version: c.Version,
		Direction: classifier.Direction(c.Direction), Method: c.Method, Served: c.Served, Limit: c.Limit,
	}
	if c.Limit < 1 || c.Limit > topicindex.MaxLimit {
		return cli.Usage(fmt.Errorf("--limit %d, must be 1 to %d", c.Limit, topicindex.MaxLimit))
	}
	if c.Like != "" {
		ref, err := topicindex.ParseRef(c.Like)
		if err != nil {
			return cli.Usage(fmt.Errorf("--like: %w", err))
		}
		q.Like = &ref
	}
	x, damage, err := c.index(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	if c.SinceWord != "" {
		return errors.Join(c.since(ctx, d, x), damage)
	}
	found, err := x.Search(ctx, q)
	if errors.Is(err, topicindex.ErrQuery) {
		err = fmt.Errorf("--like %s: %w", c.Like, err) // the other parts are checked above
		return errors.Join(cli.Usage(err), damage)
	}
	if err != nil {
		return err
	}
	grid := cli.NewGrid("MODEL", "VERSION", "STATUS", "TOPIC", "LABEL", "COEFFICIENT", "PREVALENCE", "SCORE")
	for _, r := range found.Results {
		model := r.Model
		if n := len(r.Also); n > 0 {
			model += fmt.Sprintf(" and %d more", n)
		}
		grid.Add(model, r.Version, r.Status, r.Topic.Topic, r.Label, r.Coefficient, r.Prevalence, r.Score)
	}
	if more := found.Total - len(found.Results); more > 0 {
		grid.Footer = fmt.Sprintf("and %d more\n", more)
	}
	// Damage must not hide the other versions, and must be reported.
	return cmp.Or(c.Print(d, found, grid), damage)
}

// index returns the index of the store, up to date. The error damage names what could not be read.
func (c *topicsSearchCmd) index(ctx context.Context, d *cli.Deps) (x *topicindex.Index, damage, err error) {
	s, err := c.ProvideStore(ctx)
	if err != nil {
		return nil, nil, err
	}
	config := topicindex.Config{Store: s, Folder: c.Index, Logger: d.Log}
	if len(c.Questionnaire) > 0 {
		config.Factors = factors.Source(c.Questionnaire)
	}
	if config.Folder == "" {
		place := c.ModelDir
		if !blobstore.IsURL(place) {
			if place, err = filepath.Abs(place); err != nil {
				return nil, nil, err
			}
		}
		config.Folder = topicindex.CacheFolder(append([]string{place}, c.Questionnaire...)...)
	}
	x = topicindex.New(config)
	if damage = x.Refresh(ctx); damage != nil && !x.Ready() {
		return nil, nil, errors.Join(damage, x.Close())
	}
	return x, damage, nil
}

// since prints since when each model knows a word.
func (c *topicsSearchCmd) since(ctx context.Context, d *cli.Deps, x *topicindex.Index) error {
	all, err := x.FirstSeen(ctx, c.SinceWord)
	if err != nil {
		return err
	}
	grid := cli.NewGrid("MODEL", "KNOWN SINCE", "VERSION", "IN A TOPIC SINCE", "TOPIC", "LABEL")
	for _, f := range all {
		row := []any{f.Model, f.Vocabulary.CreatedAt, f.Vocabulary.Version, "-", "-", "-"}
		if t := f.Topic; t != nil {
			copy(row[3:], []any{t.CreatedAt, t.Topic, t.Label})
		}
		grid.Add(row...)
	}
	return c.Print(d, map[string]any{"word": c.SinceWord, "models": all}, grid)
}
