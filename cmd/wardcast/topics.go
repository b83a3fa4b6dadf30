package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire/factors"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
	"github.com/wardcast/wardcast/textproc"
)

type topicsCmd struct {
	List   topicsListCmd   `cmd:"" help:"List the topics of the champions, one per line." example:"wardcast topics list --model-dir models"`
	Show   topicsShowCmd   `cmd:"" help:"Show a model's topics: the words with the largest positive and negative weights." example:"wardcast topics show --model-dir models _other --topic 1"`
	Search topicsSearchCmd `cmd:"" help:"Find topics by words, in all versions of all models." example:"wardcast topics search --model-dir models shortness of breath"`
}

type topicsListCmd struct {
	store
	cli.Output
	Model string `help:"Only this model." placeholder:"NAME"`
}

// topicLine is one topic of a list, without its terms.
type topicLine struct {
	Model   string `json:"model"`
	Version string `json:"version"`
	classifier.Topic
	Terms []string `json:"terms,omitempty"` // hides those of the topic
}

func (c *topicsListCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
	names := []string{c.Model}
	var damage error
	if c.Model == "" {
		var versions []models.VersionInfo
		if versions, damage = models.List(ctx, s); versions == nil {
			return damage
		}
		names = nil
		for _, v := range versions {
			if v.Champion {
				names = append(names, v.Model)
			}
		}
	}
	lines := []topicLine{}
	for _, name := range names {
		m, err := loadModel(ctx, s, name, "")
		if err != nil && c.Model != "" {
			return err
		}
		if err != nil {
			// Print the other models, and report the damage.
			damage = errors.Join(damage, err)
			continue
		}
		for _, t := range m.Topics(1) {
			lines = append(lines, topicLine{Model: m.Info().Name, Version: m.Info().Version, Topic: t})
		}
	}
	grid := cli.NewGrid("MODEL", "TOPIC", "LABEL", "COEFFICIENT", "PREVALENCE", "DIRECTION")
	for _, l := range lines {
		grid.Add(l.Model, l.Topic.Topic, l.Label, l.Coefficient, l.Prevalence, l.Direction)
	}
	if slices.ContainsFunc(lines, func(l topicLine) bool { return l.Coefficients != nil }) {
		grid.Column("BY OUTCOME", func(i int) any { return byOutcome(lines[i].Coefficients) })
	}
	return errors.Join(c.Print(d, lines, grid), damage)
}

// byOutcome formats the coefficients of several outcomes against the reference.
func byOutcome(all []classifier.ClassCoefficient) string {
	return strings.Join(lists.Map(all,
		func(c classifier.ClassCoefficient) string { return c.Class + " " + cli.Digits(c.Coefficient, 3) }), ", ")
}

type topicsShowCmd struct {
	store
	cli.Output
	Model   string `arg:"" optional:"" help:"Name of the model."`
	Version string `help:"Version (default: the champion)."`
	Topic   *int   `help:"Only this topic, counted from 1." placeholder:"N"`
	Terms   int    `help:"Words to show of each sign." default:"15"`
}

func (c *topicsShowCmd) Run(ctx context.Context, d *cli.Deps, s *models.Store) error {
	if c.Terms < 1 {
		return cli.Usagef("--terms %d is less than 1", c.Terms)
	}
	m, err := loadModel(ctx, s, c.Model, c.Version)
	if err != nil {
		return err
	}
	topics := m.Topics(c.Terms)
	if len(topics) == 0 {
		d.Log.Warn("the model has no topics, only single words", "model", c.Model)
	}
	if c.Topic != nil {
		if *c.Topic < 1 || *c.Topic > len(topics) {
			return cli.Usagef("--topic %d: model %q has %d topics", *c.Topic, c.Model, len(topics))
		}
		topics = topics[*c.Topic-1 : *c.Topic]
	}
	grids := lists.Map(topics, func(t classifier.Topic) *cli.Grid { return topicGrid(&t) })
	return c.Print(d, map[string]any{"model": m.Info().Name, "version": m.Info().Version, "topics": topics}, grids...)
}

// ends are the headings for words of positive and of negative weight.
var ends = map[classifier.Direction][2]string{
	classifier.TowardAdmission: {"POSITIVE: TOWARD ADMISSION", "NEGATIVE: TOWARD DISCHARGE"},
	classifier.TowardDischarge: {"POSITIVE: TOWARD DISCHARGE", "NEGATIVE: TOWARD ADMISSION"},
}

// topicGrid shows the two ends of a topic side by side, like tables 8 and 9 of the paper.
func topicGrid(t *classifier.Topic) *cli.Grid {
	heads := ends[t.Direction]
	grid := cli.NewGrid(cmp.Or(heads[0], "POSITIVE"), "TERM", "WEIGHT", cmp.Or(heads[1], "NEGATIVE"), "TERM", "WEIGHT")
	grid.Title = fmt.Sprintf("Topic %d: %s\ncoefficient %s, prevalence %s\n", t.Topic, t.Label,
		cli.Digits(t.Coefficient, 3), cli.Digits(t.Prevalence, 3))
	if t.Coefficients != nil {
		grid.Title += fmt.Sprintf("by outcome: %s\n", byOutcome(t.Coefficients))
	}
	rows := make([][]any, len(t.Terms))
	var used [2]int // lines of each end
	for _, w := range t.Terms {
		end := 0
		if w.Weight < 0 {
			end = 1
		}
		if rows[used[end]] == nil {
			rows[used[end]] = []any{"", "", "", "", "", ""}
		}
		copy(rows[used[end]][3*end:],
			[]any{strings.Join(w.Surface, ", ") + textproc.Remark(w.Status), w.Term, w.Weight})
		used[end]++
	}
	for _, row := range rows[:max(used[0], used[1])] {
		grid.Add(row...)
	}
	return grid
}

// loadModel returns a version of a model; "" is the champion.
func loadModel(ctx context.Context, s *models.Store, name, version string) (*classifier.Model, error) {
	b, err := loadBundle(ctx, s, name, version)
	if err != nil {
		return nil, err
	}
	return classifier.Load(b)
}

type topicsSearchCmd struct {
	store
	cli.Output
	Query         []string `arg:"" optional:"" help:"Words, as in a note (default: all topics)."`
	Like          string   `help:"Find the topics most similar to this one instead." placeholder:"MODEL/TOPIC"`
	SinceWord     string   `help:"Show instead the first version of each model that knows this word." placeholder:"WORD"`
	Complaint     string   `help:"Only topics for this complaint." placeholder:"NAME"`
	Model         string   `help:"Only topics of this model." placeholder:"NAME"`
	Version       string   `help:"Only topics of this version."`
	Direction     string   `help:"Only topics whose positive scores move predictions this way: admission, discharge or none." placeholder:"WAY" enum:",admission,discharge,none" default:""`
	Method        string   `help:"Only topics of this method." placeholder:"NAME"`
	Served        bool     `help:"Only topics of served models."`
	Questionnaire []string `help:"Also search the factors of a questionnaire: the output folder of questionnaire fit." placeholder:"DIR" sep:"none"`
	Limit         int      `help:"Maximum number of topics to print." default:"10"`
	Index         string   `help:"Folder of the index (default: in the user's cache folder)." placeholder:"DIR"`
}

// Help describes the index.
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
		return cli.Usagef("--limit %d, must be 1 to %d", c.Limit, topicindex.MaxLimit)
	}
	if c.Like != "" {
		ref, err := topicindex.ParseRef(c.Like)
		if err != nil {
			return cli.Usagef("--like: %w", err)
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
		err = fmt.Errorf("--like %s: %w", c.Like, err) // the other flags are checked above
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
	// Print the other versions, and report the damage.
	return cmp.Or(c.Print(d, found, grid), damage)
}

// index returns the updated index of the store. The error damage names the versions that cannot be read.
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
		config.Folder = topicindex.CacheFolder(c.ModelDir, c.Questionnaire...)
	}
	x = topicindex.New(config)
	if damage = x.Refresh(ctx); damage != nil && !x.Ready() {
		if errors.Is(damage, topicindex.ErrFolder) {
			damage = fmt.Errorf("%w; --index names another folder", damage)
		}
		return nil, nil, errors.Join(damage, x.Close())
	}
	return x, damage, nil
}

// since prints the first version of each model that knows a word.
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
