package main

import (
	"context"
	"errors"

	"github.com/wardcast/wardcast/internal/reproduce"
	"github.com/wardcast/wardcast/models/fit"
)

type triageCmd struct {
	table
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

func (c *triageCmd) Run(ctx context.Context, d *deps) error {
	if c.AuxColumns != "" {
		return usageError{errors.New("--aux-columns: the paper's models read the text alone")}
	}
	columns, err := c.columns()
	if err != nil {
		return usageError{err}
	}
	t, err := c.read(d, columns, c.files())
	if err != nil {
		return err
	}
	data := fit.Data{Rows: t.Rows}
	groups := []fit.Group{{Data: data}}
	if c.PerComplaint == string(fit.Always) {
		if groups = fit.Groups(data, c.MinDocuments); len(groups) == 0 {
			return usageError{errors.New("no complaint has notes enough; --min-documents says how many")}
		}
	}
	bar := newProgress(d.err, "cross-validating")
	triage := reproduce.Triage{
		TriageSettings: reproduce.TriageSettings{
			Methods: c.Methods, Ranks: c.Ranks, Runs: c.Runs, Folds: c.Folds, MinDF: c.MinDF, Seed: c.Seed, Version: version,
			Input: c.files(), Columns: columns, PerComplaint: fit.Policy(c.PerComplaint), MinDocuments: c.MinDocuments,
		},
		Cells: c.Out, Progress: bar.set,
	}
	cells, err := triage.Run(ctx, groups)
	bar.finish()
	if errors.Is(err, reproduce.ErrSettings) {
		return usageError{err}
	}
	// What was done before the end is shown whatever ended it.
	if c.Output == "json" {
		return errors.Join(err, printJSON(d.out, map[string]any{"settings": triage.TriageSettings, "cells": cells}))
	}
	for _, t := range reproduce.TriageTables(cells) {
		err = errors.Join(err, c.print(d, t.Title, t.Header, t.Lines))
	}
	return err
}
