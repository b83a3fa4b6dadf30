// Command papers runs the experiments of the papers that wardcast's solvers come from, and prints its figures with the
// printed ones in brackets.
package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/cmd/papers/internal/reproduce"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/textproc"
)

// version is set by the linker for a release.
var version = "dev"

func main() {
	var g grammar
	s := train.Default()
	program := cli.Program{
		Name:        "papers",
		Description: "The experiments of the papers that wardcast's solvers come from.",
		Grammar:     &g,
		Logging:     &g.Logging,
		Usage:       []error{reproduce.ErrSettings, train.ErrSettings, solver.ErrSettings, textproc.ErrSettings},
		Vars: kong.Vars{
			"triageMethods": strings.Join(reproduce.TriageMethods(), ","),
			"minDF":         strconv.Itoa(s.Text.MinDF), "minDocuments": strconv.Itoa(s.MinDocuments),
		},
	}
	os.Exit(program.Run())
}
