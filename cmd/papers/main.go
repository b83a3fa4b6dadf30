// Command papers repeats the experiments of the papers that wardcast's solvers come from, and prints its figures next to
// the papers'.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/cmd/papers/internal/icqf"
	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/cmd/papers/internal/sonmf"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/textproc"
)

// version is set by the linker for a release.
var version = "dev"

type grammar struct {
	Simulations simulationsCmd `cmd:"" name:"sonmf-simulations" help:"Tables 1 to 4 and sections 8.2 to 8.4 of the SONMF paper: methods on matrices of known topics. Takes an hour."`
	Triage      triageCmd      `cmd:"" name:"triage-tables" help:"Tables 5 to 7 and 10 to 15 of the SONMF paper, for any labelled notes. Takes an hour for 8,000 notes."`
	Convergence convergenceCmd `cmd:"" name:"smf-convergence" help:"Figure 2 of the SMF paper: how fast each algorithm lowers the objective. Takes minutes."`
	Leukaemia   leukaemiaCmd   `cmd:"" name:"smf-leukaemia" help:"Section 6 of the SMF paper: topics of gene expressions that tell two kinds of leukaemia apart. Takes a minute."`
	ICQFTable   icqfCmd        `cmd:"" name:"icqf-table1" help:"Table 1 of the ICQF paper: criteria that count the 10 factors of questionnaires. Takes a quarter of an hour."`

	cli.Logging
}

func main() {
	var g grammar
	var parts []string
	for _, p := range sonmf.Parts() {
		parts = append(parts, string(p))
	}
	s := train.Default()
	program := cli.Program{
		Name: "papers",
		Description: `The experiments of the papers that wardcast's solvers come from.

Each command prints tables with the papers' figures next to ours. Equal seeds give equal numbers; only the seconds differ. Ctrl-C ends a run and prints what is there. "papers COMMAND --help" shows an example, how long it takes and what it prints.`,
		Grammar: &g,
		Logging: &g.Logging,
		Usage:   []error{report.ErrSettings, train.ErrSettings, solver.ErrSettings, textproc.ErrSettings},
		Vars: kong.Vars{
			"parts": strings.Join(parts, ","), "triageMethods": strings.Join(sonmf.TriageMethods(), ","), "icqfMethods": strings.Join(icqf.Methods(), ","),
			"minDF": strconv.Itoa(s.Text.MinDF), "minDocuments": strconv.Itoa(s.MinDocuments),
		},
	}
	os.Exit(program.Run())
}

// printing is the flag of the format of standard output.
type printing struct {
	Output string `help:"Print tables, Markdown or JSON." enum:"table,markdown,json" default:"table" short:"o"`
}

// folder is the flag of the results' folder.
type folder struct {
	Out string `help:"Folder for all numbers as JSON and CSV and for figures as SVG; it is made if it does not exist." placeholder:"DIR"`
}

// file returns the path of a file in the folder, "" without a folder.
func (f folder) file(name string) string {
	if f.Out == "" {
		return ""
	}
	return filepath.Join(f.Out, name)
}

type experiment interface {
	Run(context.Context, *report.Session) (*report.Report, error)
}

// run runs an experiment with a file of cells, writes its results into the folder out, and prints them. Both paths may be
// "" for none. An experiment that ends early has results, too.
func (p printing) run(ctx context.Context, d *cli.Deps, e experiment, out, cells string) error {
	if out != "" { // now rather than after an hour
		if err := os.MkdirAll(out, 0o755); err != nil {
			return fmt.Errorf("making the output folder: %w", err)
		}
	}
	bar := cli.NewProgress(d.Err, "computing")
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
