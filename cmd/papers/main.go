// Command papers repeats the experiments of the papers that wardcast's solvers come from, and prints its figures next
// to the papers'.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wardcast/wardcast/cmd/papers/internal/icqf"
	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/cmd/papers/internal/smf"
	"github.com/wardcast/wardcast/cmd/papers/internal/sonmf"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/textproc"
)

// version is set by the linker for a release.
var version = "dev"

type grammar struct {
	Simulations simulationsCmd `cmd:"" name:"sonmf-simulations" help:"Tables 1 to 4 and sections 8.2 to 8.4 of the SONMF paper: methods on matrices with known topics. Takes an hour."`
	Triage      triageCmd      `cmd:"" name:"triage-tables" help:"Tables 5 to 7 and 10 to 15 of the SONMF paper, for any labelled notes. Takes an hour for 8,000 notes."`
	Convergence convergenceCmd `cmd:"" name:"smf-convergence" help:"Figure 2 of the SMF paper: how fast each algorithm lowers the objective. Takes minutes."`
	Leukaemia   leukaemiaCmd   `cmd:"" name:"smf-leukaemia" help:"Section 6 of the SMF paper: topics of gene expressions that distinguish two kinds of leukaemia. Takes a minute."`
	ICQFTable   icqfCmd        `cmd:"" name:"icqf-table1" help:"Table 1 of the ICQF paper: criteria that count the 10 factors of questionnaires. Takes a quarter of an hour."`

	cli.Logging
}

func main() { os.Exit(cli.Main(run)) }

// run runs a command line and returns its exit code.
func run(ctx context.Context, process *cli.Process) int {
	var g grammar
	var parts []string
	for _, p := range sonmf.Parts() {
		parts = append(parts, string(p))
	}
	s := train.Default()
	program := cli.Program{
		Name: "papers",
		Description: `The experiments of the papers that wardcast's solvers come from.

Each command prints tables with the papers' figures next to ours. Equal seeds give equal numbers; only the seconds differ. Ctrl-C ends a run and prints the results so far. "papers COMMAND --help" shows an example, its duration and its output.`,
		Grammar: &g,
		Usage:   []error{report.ErrSettings, train.ErrSettings, solver.ErrSettings, textproc.ErrSettings},
		Vars: map[string]any{
			"parts": parts, "triageMethods": sonmf.TriageMethods(), "icqfMethods": icqf.Methods(),
			"formats": table.Formats(), "minDF": s.Text.MinDF, "minDocuments": s.MinDocuments,
		},
	}
	return program.Run(ctx, process)
}

// printing is the flag for the format of standard output.
type printing struct {
	Output string `help:"Print tables, Markdown or JSON." enum:"table,markdown,json" default:"table" short:"o"`
}

// results are the flags of experiments that write into a folder.
type results struct {
	printing
	Out string `help:"Folder for all numbers as JSON and CSV and for figures as SVG; it is created if necessary." placeholder:"DIR"`
}

type experiment interface {
	Run(context.Context, *report.Session) (*report.Report, error)
}

// run runs an experiment, writes its results into the folder and prints them. cells, if not "", is the name of its file
// of cells there.
func (r results) run(ctx context.Context, d *cli.Deps, e experiment, cells string) error {
	if r.Out == "" {
		return r.print(ctx, d, e, "", "")
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil { // before the run, not after an hour
		return fmt.Errorf("making the output folder: %w", err)
	}
	if cells != "" {
		cells = filepath.Join(r.Out, cells)
	}
	return r.print(ctx, d, e, r.Out, cells)
}

// print runs an experiment with a file of cells, writes its results into the folder out, and prints them. Both paths
// may be "" for none. An experiment that ends early has results too.
func (p printing) print(ctx context.Context, d *cli.Deps, e experiment, out, cells string) error {
	bar := cli.NewProgress(d, "computing")
	found, err := e.Run(ctx, &report.Session{Cells: cells, Progress: bar.Set})
	bar.Finish()
	if found == nil {
		return err
	}
	if out != "" {
		err = errors.Join(err, found.Write(out))
	}
	return errors.Join(err, found.Print(d.Out, p.Output))
}

type simulationsCmd struct {
	sonmf.Simulations
	results
}

func (c *simulationsCmd) Help() string {
	return `Draws matrices of known topics, runs every method on each, and prints a table of means for each part. The paper's
values are in brackets; "+" marks runs that did not meet the criterion.

With --out: results.json, tables.csv, curves.csv and figure-1.svg to figure-7.svg.

Example, some seconds:

  papers sonmf-simulations --trials 5 --parts table-3 --out simulations`
}

func (c *simulationsCmd) Run(ctx context.Context, d *cli.Deps) error {
	return c.run(ctx, d, &c.Simulations, "")
}

type triageCmd struct {
	notes.Flags
	sonmf.Triage
	printing
	Out string `help:"JSON Lines file for the lines of the tables, each written as soon as it is known. A run with the same flags and notes resumes from it." placeholder:"FILE"`
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
	if c.Triage.Columns, err = c.Flags.Columns(); err != nil {
		return cli.Usage(err)
	}
	t, err := c.Read(d.Log, c.Triage.Columns, c.Files())
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
	return c.print(ctx, d, &c.Triage, "", c.Out)
}

type convergenceCmd struct {
	smf.Convergence
	results
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
		d.Log.Info("no --mnist-images: skipping the part on digits")
	}
	c.Version = version
	return c.run(ctx, d, &c.Convergence, "runs.jsonl")
}

type leukaemiaCmd struct {
	smf.Leukaemia
	results
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
	return c.run(ctx, d, &c.Leukaemia, "cells.jsonl")
}

type icqfCmd struct {
	icqf.Table1
	results
	Factors []int `help:"Numbers of factors to try, as 2:20 or 8,10,12; not used by parallel and map." type:"ranks" default:"2:20" placeholder:"\"2:20\""`
}

func (c *icqfCmd) Help() string {
	return `Draws questionnaires of 200 participants, 100 items and 10 factors, and lets each criterion count the factors. Prints the
mean error |k − 10| with its standard error, the paper's value, and the values of other programs.

With --out: results.json, table1.csv, factors.csv and cells.jsonl: a later run with the same settings resumes from it, with
any --methods.

Example, one minute:

  papers icqf-table1 --runs 2 --methods icqf --out table1`
}

func (c *icqfCmd) Run(ctx context.Context, d *cli.Deps) error {
	c.Table1.Factors, c.Version = c.Factors, version
	return c.run(ctx, d, &c.Table1, "cells.jsonl")
}
