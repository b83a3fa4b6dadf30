package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wardcast/wardcast/cmd/papers/internal/reproduce"
	"github.com/wardcast/wardcast/internal/cli"
)

type leukaemiaCmd struct {
	paperOutput
	Expressions   string `help:"CSV of genes × samples, gzipped or not; the first line names the samples, the first column the genes." placeholder:"FILE" type:"existingfile" required:""`
	Phenotypes    string `help:"CSV of the same samples, in any order; the first column names them." placeholder:"FILE" type:"existingfile" required:""`
	LabelColumn   string `help:"Column of the two classes." default:"ALL.AML"`
	PositiveLabel string `help:"Class whose log-odds are modelled." default:"AML"`
	SubtypeColumn string `help:"Column of subtypes within the classes, which are then compared too; Cell where there is one." placeholder:"NAME"`
	Splits        int    `help:"Splits into halves; the paper has 5." default:"5"`
	Folds         int    `help:"Folds of the cross-validation inside the training half." default:"5"`
	Ranks         []int  `help:"Numbers of topics to choose from." default:"1,2,3,5"`
	Genes         int    `help:"Genes shown of each topic." default:"10"`
	Seed          uint64 `help:"Seed of everything random." default:"1"`
	Out           string `help:"Folder for results.json, splits.csv, genes.csv, the genes as SVG and cells.jsonl, made where it does not exist; a run goes on where an earlier one with this folder ended." placeholder:"DIR"`
}

func (c *leukaemiaCmd) Run(ctx context.Context, d *cli.Deps) error {
	columns := reproduce.PhenotypeColumns{Label: c.LabelColumn, Positive: c.PositiveLabel, Subtype: c.SubtypeColumn}
	expressions, err := reproduce.ReadExpressions(c.Expressions, c.Phenotypes, columns)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(d.Err, "factorizing")
	leukaemia := reproduce.Leukaemia{
		LeukaemiaSettings: reproduce.LeukaemiaSettings{Splits: c.Splits, Folds: c.Folds, Ranks: c.Ranks, Genes: c.Genes, Seed: c.Seed, Version: version, Columns: columns},
		Progress:          bar.Set,
	}
	if c.Out != "" {
		if err := os.MkdirAll(c.Out, 0o755); err != nil {
			return fmt.Errorf("making the output folder: %w", err)
		}
		leukaemia.Cells = filepath.Join(c.Out, "cells.jsonl")
	}
	got, err := leukaemia.Run(ctx, expressions)
	bar.Finish()
	if errors.Is(err, reproduce.ErrSettings) {
		return cli.Usage(err)
	}
	if got == nil {
		return err
	}
	return errors.Join(err, c.show(d, c.Out, got)) // what was done before the end is shown whatever ended it
}
