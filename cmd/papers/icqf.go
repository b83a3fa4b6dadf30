package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/wardcast/wardcast/cmd/papers/internal/reproduce"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/solver"
)

type icqfTableCmd struct {
	paperOutput
	Methods []string  `help:"Methods to compare: icqf and l1-nmf by bcv and bic, fa-promax by parallel and map." default:"icqf,l1-nmf,fa-promax"`
	Runs    int       `help:"Questionnaires of each noise; the paper has 30." default:"30"`
	Noise   []float64 `help:"Shares of answers with noise, δ." default:"0.1,0.2,0.3"`
	Sets    string    `help:"Folder of questionnaires to take in place of drawn ones, dN_S_M.csv, gzipped or not: N is the noise in tenths and S a number from 0 to below --runs." placeholder:"DIR" type:"existingdir"`
	Factors string    `help:"Numbers of factors to try, as 2:20 or 8,10,12; parallel and map find theirs by themselves." default:"2:20"`
	Seed    uint64    `help:"Seed of everything random." default:"1"`
	Threads int       `help:"Threads; 0 is one for each processor. With 1 the seconds can be compared." default:"1"`
	Out     string    `help:"Folder for results.json, table1.csv, factors.csv and cells.jsonl, made where it does not exist; a run goes on where an earlier one with this folder ended." placeholder:"DIR"`
}

func (c *icqfTableCmd) Run(ctx context.Context, d *cli.Deps) error {
	factors, err := cli.ParseRanks(c.Factors)
	if err != nil {
		return cli.Usage(fmt.Errorf("--factors: %w", err))
	}
	if c.Threads < 0 || c.Threads > solver.MaxThreads {
		return cli.Usage(fmt.Errorf("%d threads, must be 0 to %d", c.Threads, solver.MaxThreads))
	}
	if len(c.Methods) == 0 { // all of them to Questionnaires
		return cli.Usage(errors.New("--methods names none"))
	}
	table := reproduce.Questionnaires{
		QuestionnairesSettings: reproduce.QuestionnairesSettings{Trials: c.Runs, Noise: c.Noise, Factors: factors, Seed: c.Seed, Threads: c.Threads, Version: version},
		Methods:                c.Methods,
	}
	if c.Sets != "" {
		if table.Given, err = reproduce.ReadQuestionnaires(c.Sets); errors.Is(err, reproduce.ErrSettings) {
			return cli.Usage(err)
		} else if err != nil {
			return err
		}
	}
	if c.Out != "" {
		if err := os.MkdirAll(c.Out, 0o755); err != nil {
			return fmt.Errorf("making the output folder: %w", err)
		}
		table.Cells = filepath.Join(c.Out, "cells.jsonl")
	}
	if c.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Threads))
	}
	bar := cli.NewProgress(d.Err, "factorizing")
	table.Progress = bar.Set
	got, err := table.Run(ctx)
	bar.Finish()
	if errors.Is(err, reproduce.ErrSettings) {
		return cli.Usage(err)
	}
	if got == nil {
		return err
	}
	// What was done before the end is shown whatever ended it.
	if c.Out != "" {
		err = errors.Join(err, got.Write(c.Out))
	}
	if c.Output == "json" {
		return errors.Join(err, cli.PrintJSON(d.Out, got))
	}
	t := got.Table()
	return errors.Join(err, c.print(d, t.Title, t.Header, t.Lines))
}
