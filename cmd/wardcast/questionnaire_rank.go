package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
)

type questionnaireRankCmd struct {
	answerFlags
	method
	learning
	cli.Output
	Out string `help:"Folder for rank.html, with a scree plot and the cross-validated errors, and for scree.svg. Created if missing." placeholder:"DIR"`
}

func (c *questionnaireRankCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	if err := checkUsed(command, []string{c.Method}, true); err != nil {
		return err
	}
	if info, err := os.Stat(c.Out); err == nil && !info.IsDir() {
		return cli.Usagef("--out %q is not a folder", c.Out)
	}
	o, err := c.read(d, &c.answerFlags)
	if err != nil {
		return err
	}
	c.choose(d, &o, c.Confounds)
	bar := cli.NewProgress(d, "fits")
	o.Progress = bar.Set
	ranked, err := fit.Rank(ctx, o)
	bar.Finish()
	if err != nil {
		return err
	}
	if c.Out != "" {
		regressed := c.Method == model.MethodFA && len(c.Confounds) > 0
		files, err := report.RankingFiles(filepath.Base(c.Input), ranked, regressed)
		if err == nil {
			err = folder.WriteFiles(c.Out, files)
		}
		if err != nil {
			return err
		}
	}
	warnUnconverged(d, ranked.Unconverged, c.MaxIter)
	warnEdges(d, ranked.Warnings)
	grid := cli.NewGrid("FACTORS", "BETA", "ERROR", "STANDARD ERROR", "CHOICE")
	grid.Title = strings.Join(ranked.Lines(), "\n") + "\n"
	for _, p := range ranked.Curve {
		choice := ""
		switch {
		case p.Candidate == ranked.Candidate:
			choice = "lowest"
		case p.Factors == ranked.OneStandardErrorFactors && p.Beta == ranked.OneStandardErrorBeta:
			choice = "one standard error"
		}
		beta := "-"
		if c.Method == model.MethodICQF {
			beta = strconv.FormatFloat(p.Beta, 'g', -1, 64)
		}
		grid.Add(p.Factors, beta, significant(p.Error), fmt.Sprintf("%.3g", p.StandardError), choice)
	}
	return c.Print(d, ranked, grid)
}
