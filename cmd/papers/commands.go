package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/wardcast/wardcast/cmd/papers/internal/icqf"
	"github.com/wardcast/wardcast/cmd/papers/internal/smf"
	"github.com/wardcast/wardcast/cmd/papers/internal/sonmf"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/models/train"
)

type simulationsCmd struct {
	sonmf.Simulations
	printing
	folder
}

func (c *simulationsCmd) Help() string {
	return `Draws matrices of known topics, runs every method on each, and prints a table of means for each part. The paper's
values stand in brackets; "+" marks runs that did not meet the criterion.

With --out: results.json, tables.csv, curves.csv and figure-1.svg to figure-7.svg.

Example, some seconds:

  papers sonmf-simulations --trials 5 --parts table-3 --out simulations`
}

func (c *simulationsCmd) Run(ctx context.Context, d *cli.Deps) error {
	return c.run(ctx, d, &c.Simulations, c.Out, "")
}

type triageCmd struct {
	cli.Notes
	sonmf.Triage
	printing
	Out string `help:"File of JSON lines that holds each line of the tables as soon as it is known. A run with the same flags and notes resumes from it." placeholder:"FILE"`
}

func (c *triageCmd) Help() string {
	return `Prints the residual and sparsity of topics of all notes, and the accuracy of the LASSO on the topics over several
cross-validations: a table of tf-idf rows and one of binary rows, after an overview with the LASSO on words.

Example, three minutes for 8,000 notes:

  papers triage-tables --input notes.csv --runs 1 --ranks 10,50 --out cells.jsonl`
}

func (c *triageCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.AuxColumns != "" {
		return cli.Usage(errors.New("--aux-columns: the paper's models read the text alone"))
	}
	var err error
	if c.Triage.Columns, err = c.Notes.Columns(); err != nil {
		return cli.Usage(err)
	}
	t, err := c.Read(d, c.Triage.Columns, c.Files())
	if err != nil {
		return err
	}
	c.Triage.Input, c.Version = c.Files(), version
	data := train.Data{Rows: t.Rows}
	c.Groups = []train.Group{{Data: data}}
	if c.PerComplaint == train.Always {
		if c.Groups = train.Groups(data, c.MinDocuments); len(c.Groups) == 0 {
			return cli.Usage(errors.New("no complaint has enough notes: lower --min-documents"))
		}
	}
	return c.run(ctx, d, &c.Triage, "", c.Out)
}

type convergenceCmd struct {
	smf.Convergence
	printing
	folder
}

func (c *convergenceCmd) Help() string {
	return `Runs the paper's gradient algorithm (LPGD), block coordinate descent (BCD) and our own updates at each ξ, on mixtures of
MNIST digits and on made-up job postings. Prints for each run how far the objective ends above the least known one, by which
factor an update lowers this gap, and the updates and seconds to a gap of 1e-6.

With --out: results.json, summary.csv, iterations.csv, the gap by update and by second as SVG, and runs.jsonl: a later run
with the same settings resumes from it, with any --xi.

Example, some minutes:

  papers smf-convergence --mnist-images t10k-images-idx3-ubyte.gz --mnist-labels t10k-labels-idx1-ubyte.gz --out convergence`
}

func (c *convergenceCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.MnistImages == "" {
		d.Log.Info("no --mnist-images: the part on digits is left out")
	}
	c.Version = version
	return c.run(ctx, d, &c.Convergence, c.Out, c.file("runs.jsonl"))
}

type leukaemiaCmd struct {
	smf.Leukaemia
	printing
	folder
}

func (c *leukaemiaCmd) Help() string {
	return `Compares SMF-W and SMF-H with factorizations that do not know the labels (mf-lr, pca-lr) and with the LASSO. Trains on one
half of the samples and tests on the other; cross-validation inside the training half chooses rank and penalties. Prints the
means over the splits, and for each topic of all samples the genes of the largest loadings.

With --out: results.json, splits.csv, genes.csv, the genes as SVG, and cells.jsonl: a later run with the same settings
resumes from it.

Example, one minute:

  papers smf-leukaemia --expressions esGolub_exprs.csv.gz --phenotypes esGolub_pheno.csv.gz --out leukaemia`
}

func (c *leukaemiaCmd) Run(ctx context.Context, d *cli.Deps) error {
	c.Version = version
	return c.run(ctx, d, &c.Leukaemia, c.Out, c.file("cells.jsonl"))
}

type icqfCmd struct {
	icqf.Table1
	printing
	folder
	Factors string `help:"Numbers of factors to try, as 2:20 or 8,10,12; parallel and map find theirs by themselves." default:"2:20"`
}

func (c *icqfCmd) Help() string {
	return `Draws questionnaires of 200 participants, 100 items and 10 factors, and lets each criterion count the factors. Prints the
mean error |k − 10| with its standard error, what the paper prints, and what other programs find.

With --out: results.json, table1.csv, factors.csv and cells.jsonl: a later run with the same settings resumes from it, with
any --methods.

Example, one minute:

  papers icqf-table1 --runs 2 --methods icqf --out table1`
}

func (c *icqfCmd) Run(ctx context.Context, d *cli.Deps) (err error) {
	if c.Table1.Factors, err = cli.ParseRanks(c.Factors); err != nil {
		return cli.Usage(fmt.Errorf("--factors: %w", err))
	}
	c.Version = version
	return c.run(ctx, d, &c.Table1, c.Out, c.file("cells.jsonl"))
}
