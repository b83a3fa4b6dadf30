package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/norms"
	"github.com/wardcast/wardcast/internal/questionnaire/paper"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
	"github.com/wardcast/wardcast/internal/table"
)

type questionnaireScoreCmd struct {
	Input          string `arg:"" help:"Answers of new participants, with the same columns as in the fit." type:"existingfile" name:"file"`
	Model          string `help:"Output folder of the fit." required:"" type:"existingdir" placeholder:"DIR"`
	Out            string `help:"File for the scores: ${formats} (default: CSV on standard output)." placeholder:"FILE"`
	ID             string `name:"id" help:"Column of the participants' ids (default: that of the fit)." placeholder:"NAME"`
	MissingCode    codes  `help:"Code of a missing entry, in addition to those of the fit." placeholder:"CODE"`
	OmitIncomplete bool   `help:"Leave out participants who lack a confound; otherwise they are an error."`
	Norms          string `help:"Output file of norms; adds percentiles and T scores. The file of answers needs the columns of age and sex by which the norms were made." type:"existingfile" placeholder:"FILE"`
	scoreFlags
}

func (c *questionnaireScoreCmd) Run(_ context.Context, d *cli.Deps) error {
	m, err := model.Load(c.Model)
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := cmp.Or(table.CheckName(c.Out), folder.CheckFile(c.Out, c.Model, c.Input, c.Norms)); err != nil {
			return cli.Usagef("--out %w", err)
		}
	}
	n, people, err := c.norms(m)
	if err != nil {
		return err
	}
	columns := answers.Columns{ID: c.ID, Missing: c.MissingCode, OmitIncomplete: c.OmitIncomplete, Warn: d.Log.Warn}
	scores, err := fit.Score(m, c.Input, fit.Scoring{Columns: columns, Table: c.table()})
	if err != nil {
		return err
	}
	warn(d, c.Input, scores.Remarks)
	c.warn(d, c.Input, scores.TooFew)
	for t, lines := range scores.Vague {
		warnLines(d.Log, "participants", lines, "scores are not measurements: the answers hold less than a quarter "+
			"of the information that is usual in the fit", "file", c.Input, "factor", t+1)
	}
	for _, b := range scores.Beyond {
		d.Log.Warn("values outside the range of training are replaced by its nearest end", "file", c.Input,
			"column", b.Confound, "participants", b.Participants, "first_line", b.Line)
	}
	if n != nil {
		warnOutside(d, c.Input, n.Apply(m, &scores.Scores, people))
	}
	if c.Out != "" {
		return folder.WriteScores(c.Out, &scores.Scores)
	}
	_, err = d.Out.Write(scores.CSV())
	return err
}

type questionnaireNormsCmd struct {
	cli.Output
	Model       string   `help:"Output folder of the fit that made the scores." required:"" type:"existingdir" placeholder:"DIR"`
	Scores      string   `help:"Scores of the reference sample: the output of score." required:"" type:"existingfile" placeholder:"FILE"`
	People      string   `help:"Table with age and sex of the participants, matched to the scores by their ids; it may be the file of their answers." type:"existingfile" placeholder:"FILE"`
	ID          string   `name:"id" help:"Column of the ids in the table of people (default: id, participant_id, record_id or ResponseId, in capitals or not)." placeholder:"NAME"`
	Age         string   `help:"Column of age in the table of people; requires --bins (default: one norm for all ages)." placeholder:"NAME"`
	Bins        []string `help:"Edges of the bands of age: 6,9,12 means 6 to below 9, and 9 to 12." placeholder:"LIST"`
	Sex         string   `help:"Column of sex in the table of people (default: one norm for all)." placeholder:"NAME"`
	MissingCode codes    `help:"Code of a missing entry in the table of people, in addition to those of the fit." placeholder:"CODE"`
	Least       int      `help:"Minimum number of people of an age band and sex; a cell with fewer has no norms." default:"${leastNormed}"`
	Out         string   `help:"File for the norms, in JSON." required:"" placeholder:"FILE"`
}

func (c *questionnaireNormsCmd) by() (by norms.By, err error) {
	by.Sex = c.Sex
	switch {
	case (c.Age == "") != (len(c.Bins) == 0):
		return by, cli.Usagef("--age requires --bins, and --bins requires --age")
	case (c.Age == "" && c.Sex == "") != (c.People == ""):
		return by, cli.Usagef("--people requires --age or --sex, and each of these requires --people")
	case c.Least < 1:
		return by, cli.Usagef("--least is %d, must be 1 or more", c.Least)
	case c.Age != "":
		by.Age, err = questionnaire.ParseVisits(c.Age, c.Bins)
	}
	return by, err
}

func (c *questionnaireNormsCmd) Run(_ context.Context, d *cli.Deps) error {
	by, err := c.by()
	if err != nil {
		return err
	}
	if err := folder.CheckFile(c.Out, c.Model, c.Scores, c.People); err != nil {
		return cli.Usagef("--out %w", err)
	}
	m, err := model.Load(c.Model)
	if err != nil {
		return err
	}
	if m.Visits != nil {
		return cli.Usagef(
			"%q was fitted to several visits of each participant, so a score has no single age; fit norms on a model "+
				"of one visit", c.Model)
	}
	if err := c.checkScores(m); err != nil {
		return err
	}
	scores, err := answers.ReadScores(c.Scores, m)
	if err != nil {
		return err
	}
	var people *answers.Sheet
	if c.People != "" {
		if people, err = by.Read(c.People, c.ID, slices.Concat(c.MissingCode, m.Missing)); err != nil {
			return err
		}
	}
	n, outside, err := norms.Make(scores, people, norms.Options{By: by, Model: m, Least: c.Least})
	warnOutside(d, c.Scores, outside)
	if err != nil {
		return err
	}
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("writing the norms: %w", err)
	}
	if err := folder.WriteFile(c.Out, append(data, '\n')); err != nil {
		return err
	}
	grid := cli.NewGrid("AGE", "SEX", "PARTICIPANTS", "NORMS")
	for _, cell := range n.Cells {
		has := "yes"
		if len(cell.Scores) == 0 {
			has = "too few"
		}
		grid.Add(cmp.Or(cell.Ages, "all"), cmp.Or(cell.Sex, "all"), cell.Participants, has)
	}
	return c.Print(d, n, grid)
}

// checkScores returns an error for the scores of another fit, and for those of the factorization, which a fit of ICQF
// writes: the scores of the score command differ, so such norms would not apply to them.
func (c *questionnaireNormsCmd) checkScores(m *model.Model) error {
	own := folder.Same(c.Scores, filepath.Join(c.Model, model.ScoresFile))
	if dir := filepath.Dir(c.Scores); !own && filepath.Base(c.Scores) == model.ScoresFile {
		switch sum, err := model.ReadSHA256(dir); {
		case errors.Is(err, fs.ErrNotExist): // not those of a fit
		case err != nil:
			return err
		case sum != m.SHA256:
			return cli.Usagef("--scores %q belongs to the fit in %q, not to --model %q", c.Scores, dir, c.Model)
		default:
			own = true // a copy of the model
		}
	}
	if !own || m.Summary.Method != model.MethodICQF {
		return nil
	}
	return cli.Usagef("--scores %q holds the scores of the factorization, not those of questionnaire score: "+
		"use its output", c.Scores)
}

func warnOutside(d *cli.Deps, file string, outside []norms.Outside) {
	for _, o := range outside {
		warnLines(d.Log, "participants", o.Lines, "participants are outside the norms", "file", file, "reason", o.Reason)
	}
}

// norms returns the norms, and age and sex of the people to score; nil without --norms.
func (c *questionnaireScoreCmd) norms(m *model.Model) (*norms.Norms, *answers.Sheet, error) {
	if c.Norms == "" {
		return nil, nil, nil
	}
	n, err := norms.Load(c.Norms, m)
	if err != nil {
		return nil, nil, err
	}
	people, err := n.Read(c.Input, cmp.Or(c.ID, m.ID), slices.Concat(c.MissingCode, m.Missing))
	return n, people, err
}

type questionnaireTableCmd struct {
	Model  string  `help:"Output folder of the fit whose loadings to print." required:"" type:"existingdir" xor:"what" placeholder:"DIR"`
	Scores string  `help:"Table of the scores to print: the output of fit or score." required:"" xor:"what" type:"existingfile" placeholder:"FILE"`
	Format string  `help:"markdown and latex are for a paper: two digits, and items sorted by their factor. csv and json have full precision." enum:"markdown,latex,csv,json" default:"markdown"`
	Cut    float64 `help:"Smallest loading, in absolute value, that markdown and latex show (default: a tenth of the largest)." placeholder:"LOADING"`
}

func (c *questionnaireTableCmd) Run(d *cli.Deps) error {
	forPaper := c.Format == "markdown" || c.Format == "latex"
	if c.Cut < 0 || c.Cut != 0 && (c.Model == "" || !forPaper) {
		return cli.Usagef("--cut must be above 0, and is for loadings in markdown or latex")
	}
	t, err := c.table(forPaper)
	if err != nil {
		return err
	}
	var data []byte
	switch c.Format {
	case "csv":
		data = t.CSV()
	case "json":
		data, err = t.JSON()
	case "latex":
		data = t.LaTeX()
	default:
		data = t.Markdown()
	}
	if err == nil {
		_, err = d.Out.Write(data)
	}
	return err
}

func (c *questionnaireTableCmd) table(forPaper bool) (*paper.Table, error) {
	if c.Scores != "" {
		return paper.Scores(c.Scores)
	}
	m, err := model.Load(c.Model)
	switch {
	case err != nil:
		return nil, err
	case forPaper:
		return paper.LoadingsToPrint(m, c.Cut), nil
	}
	return paper.Loadings(m), nil
}

type questionnaireReportCmd struct {
	Model      string `help:"Output folder of the fit." required:"" type:"existingdir" placeholder:"DIR"`
	Out        string `help:"Folder for report.html, loadings.svg and loadings.png (default: that of the model)." placeholder:"DIR"`
	Codebook   string `help:"Table that describes items, with the columns item, text, subscale; it replaces the descriptions in the model." type:"existingfile" placeholder:"FILE"`
	Evaluation string `help:"Evaluation to show: the output of evaluate --output=json." type:"existingfile" placeholder:"FILE"`
}

func (c *questionnaireReportCmd) Run(d *cli.Deps) error {
	m, err := model.Load(c.Model)
	if err != nil {
		return err
	}
	if c.Codebook != "" {
		b, err := readCodebook(d, c.Codebook, nil)
		if err != nil {
			return err
		}
		if err := m.Describe(b.Items); err != nil {
			return &table.Error{File: c.Codebook, Err: err}
		}
	}
	var e *evaluate.Evaluation
	if c.Evaluation != "" {
		if e, err = report.ReadEvaluation(m, c.Evaluation); err != nil {
			return err
		}
	}
	files, err := report.Files(m, e)
	if err != nil {
		return err
	}
	return folder.WriteFiles(cmp.Or(c.Out, c.Model), files)
}
