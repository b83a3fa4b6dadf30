package rank

import (
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/icqf"
)

// ICQF is the Method of package icqf: Data with the matrix that is cross-validated, and the settings of each fit but
// for Rank and L1.
type ICQF struct {
	Data     icqf.Data
	Settings icqf.Settings
}

// Prepare returns a Fitter.
func (m ICQF) Prepare(training *mat.Dense, maxRank int) (Fitter, error) {
	return nil, nil
}
