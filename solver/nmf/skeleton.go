package nmf

import (
	"errors"

	"github.com/wardcast/wardcast/solver"
)

var errUnfinished = errors.New("not built yet")

func (NMF) Start(*solver.Problem) (solver.State, error)     { return nil, errUnfinished }
func (ONMF) Start(*solver.Problem) (solver.State, error)    { return nil, errUnfinished }
func (SemiNMF) Start(*solver.Problem) (solver.State, error) { return nil, errUnfinished }
func (LogNMF) Start(*solver.Problem) (solver.State, error)  { return nil, errUnfinished }
func (*L1) Start(*solver.Problem) (solver.State, error)     { return nil, errUnfinished }
