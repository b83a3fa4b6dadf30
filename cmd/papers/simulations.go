package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/wardcast/wardcast/cmd/papers/internal/reproduce"
	"github.com/wardcast/wardcast/internal/cli"
)

type grammar struct {
	Simulations simulationsCmd `cmd:"" name:"sonmf-simulations" help:"The simulations of the SONMF paper: tables 1 to 4 and sections 8.2 to 8.4, the printed values in brackets."`
	Triage      triageCmd      `cmd:"" name:"triage-tables" help:"The paper's tables of triage notes, 5 to 7 and 10 to 15, of any labelled notes."`
	Convergence convergenceCmd `cmd:"" name:"smf-convergence" help:"The objective by iteration and second of the algorithms for supervised factorizations: figure 2 of the SMF paper."`
	Leukaemia   leukaemiaCmd   `cmd:"" name:"smf-leukaemia" help:"Supervised factorizations of gene expressions beside other methods on splits into halves, and the genes of their topics: section 6 of the SMF paper."`
	ICQFTable   icqfTableCmd   `cmd:"" name:"icqf-table1" help:"The number of factors that criteria find in questionnaires of 10: table 1 of the ICQF paper."`

	cli.Logging
}

// paperOutput is output that can be pasted into a document.
type paperOutput struct {
	Output string `help:"Print tables, Markdown or JSON." enum:"table,markdown,json" default:"table" short:"o"`
}

// print prints one table under its title.
func (o paperOutput) print(d *cli.Deps, title string, header []string, lines [][]string) error {
	if o.Output == "markdown" {
		return reproduce.Markdown(d.Out, title, header, lines)
	}
	if _, err := fmt.Fprintln(d.Out, title); err != nil {
		return err
	}
	upper := make([]string, len(header))
	for i, h := range header {
		upper[i] = strings.ReplaceAll(strings.ToUpper(h), "Ε_", "ε_") // whose capital looks like an E
	}
	if err := cli.PrintTable(d.Out, upper, lines); err != nil {
		return err
	}
	_, err := fmt.Fprintln(d.Out)
	return err
}

// show writes results into a folder, "" for none, and prints them.
func (o paperOutput) show(d *cli.Deps, folder string, got interface {
	Write(dir string) error
	Tables() []reproduce.TextTable
},
) (err error) {
	if folder != "" {
		err = got.Write(folder)
	}
	if o.Output == "json" {
		return errors.Join(err, cli.PrintJSON(d.Out, got))
	}
	for _, t := range got.Tables() {
		err = errors.Join(err, o.print(d, t.Title, t.Header, t.Lines))
	}
	return err
}

type simulationsCmd struct {
	paperOutput
	Trials      int      `help:"Matrices of each kind; the paper has 100." default:"100"`
	StudyTrials int      `help:"Those of sections 8.2 to 8.4; the paper has 200 in 8.2." default:"10"`
	Parts       []string `help:"What to run." default:"table-1,table-2,table-3,table-4,initialization,rank-deficient,step-sizes"`
	Seed        uint64   `help:"Seed of everything random." default:"1"`
	Threads     int      `help:"Runs at a time; 0 is one for each processor. With 1 the seconds are those of a free machine." default:"0"`
	Out         string   `help:"Folder for results.json, tables.csv, curves.csv and the figures as SVG, made where it does not exist." placeholder:"DIR"`
	AsWritten   bool     `help:"Draw the matrices as the paper's text says, where its tables are made of others."`
	Size        int      `help:"Rows and columns of a matrix." default:"500"`
	Ranks       []int    `help:"Numbers of topics; the studies take the middle one." default:"10,30,50"`
	Updates     int      `help:"Largest number of updates of a run; the paper's 500 iterations count the start." default:"499"`
}

func (c *simulationsCmd) Run(ctx context.Context, d *cli.Deps) error {
	// What is none to Simulate, which then takes its own, is a mistake on the command line.
	for flag, n := range map[string]int{"updates": c.Updates, "size": c.Size, "study-trials": c.StudyTrials, "parts": len(c.Parts), "ranks": len(c.Ranks)} {
		if n == 0 {
			return cli.Usage(fmt.Errorf("--%s %d is less than 1", flag, n))
		}
	}
	if c.Out != "" { // rather than after a quarter of an hour
		if err := os.MkdirAll(c.Out, 0o755); err != nil {
			return fmt.Errorf("making the output folder: %w", err)
		}
	}
	if c.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Threads))
	}
	var parts []reproduce.Part
	for _, p := range c.Parts {
		parts = append(parts, reproduce.Part(p))
	}
	bar := cli.NewProgress(d.Err, "simulations")
	got, err := reproduce.Simulate(ctx, reproduce.Simulations{
		Parts: parts, Trials: c.Trials, StudyTrials: c.StudyTrials, Seed: c.Seed, AsWritten: c.AsWritten, Size: c.Size, Ranks: c.Ranks, Updates: c.Updates, Progress: bar.Set,
	})
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
	for _, t := range got.Tables {
		err = errors.Join(err, c.print(d, t.Title, t.Header(), t.Lines()))
	}
	return err
}
