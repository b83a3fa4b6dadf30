package main

import (
	"context"
	"errors"

	"github.com/wardcast/wardcast/cmd/papers/internal/reproduce"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/models/train"
)

type triageCmd struct {
	cli.Notes
	paperOutput
	Methods      []string `help:"Methods to compare, each on its rows: 0 and 1 for sonmf-binary and log-nmf, tf-idf for the others." default:"${triageMethods}"`
	Ranks        []int    `help:"Numbers of topics." default:"10,30,50,100,150"`
	Runs         int      `help:"Cross-validations that accuracies are averaged over." default:"20"`
	Folds        int      `help:"Folds of each." default:"5"`
	MinDF        int      `name:"min-df" help:"Least number of visits with a term." default:"${minDF}"`
	Seed         uint64   `help:"Seed of everything random." default:"1"`
	PerComplaint string   `help:"Tables for each complaint with enough notes (always), or for all notes together (never)." enum:"always,never" default:"never"`
	MinDocuments int      `help:"Notes that a complaint needs for that." default:"${minDocuments}"`
	Out          string   `help:"File that holds each line of the tables as JSON from when it is known; a run goes on where an earlier one with this file ended." placeholder:"FILE"`
}

func (c *triageCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.AuxColumns != "" {
		return cli.Usage(errors.New("--aux-columns: the paper's models read the text alone"))
	}
	columns, err := c.Columns()
	if err != nil {
		return cli.Usage(err)
	}
	t, err := c.Read(d, columns, c.Files())
	if err != nil {
		return err
	}
	data := train.Data{Rows: t.Rows}
	groups := []train.Group{{Data: data}}
	if c.PerComplaint == string(train.Always) {
		if groups = train.Groups(data, c.MinDocuments); len(groups) == 0 {
			return cli.Usage(errors.New("no complaint has notes enough; --min-documents says how many"))
		}
	}
	bar := cli.NewProgress(d.Err, "cross-validating")
	triage := reproduce.Triage{
		TriageSettings: reproduce.TriageSettings{
			Methods: c.Methods, Ranks: c.Ranks, Runs: c.Runs, Folds: c.Folds, MinDF: c.MinDF, Seed: c.Seed, Version: version,
			Input: c.Files(), Columns: columns, PerComplaint: train.Policy(c.PerComplaint), MinDocuments: c.MinDocuments,
		},
		Cells: c.Out, Progress: bar.Set,
	}
	cells, err := triage.Run(ctx, groups)
	bar.Finish()
	if errors.Is(err, reproduce.ErrSettings) {
		return cli.Usage(err)
	}
	// What was done before the end is shown whatever ended it.
	if c.Output == "json" {
		return errors.Join(err, cli.PrintJSON(d.Out, map[string]any{"settings": triage.TriageSettings, "cells": cells}))
	}
	for _, t := range reproduce.TriageTables(cells) {
		err = errors.Join(err, c.print(d, t.Title, t.Header, t.Lines))
	}
	return err
}
