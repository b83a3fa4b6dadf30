// Package methods makes a factorization from its name on the command line. A new method is registered here: its name,
// its settings, its domain and the signs of its factors.
//
// The unsupervised methods are in packages sonmf, nmf and svd; Supervised returns the names of those in package smf,
// which need labels. All functions are safe for concurrent use.
package methods

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/nmf"
	"github.com/wardcast/wardcast/solver/smf"
	"github.com/wardcast/wardcast/solver/sonmf"
	"github.com/wardcast/wardcast/solver/svd"
)

// The names of the methods.
const (
	SONMF       = "sonmf"
	SONMFBinary = "sonmf-binary"
	NMF         = "nmf"
	ONMF        = "onmf"
	SemiNMF     = "semi-nmf"
	LogNMF      = "log-nmf"
	L1NMF       = "l1-nmf"
	SVD         = "svd"
)

// method describes a method to the command line.
type method struct {
	name           string
	domain         solver.Domain
	topics, scores bool // see NonNegative
	make           func(s *Settings) (solver.Method, error)
}

var all = []method{
	{name: SONMF, domain: solver.Real, make: func(s *Settings) (solver.Method, error) {
		s.Step = cmp.Or(s.Step, string(sonmf.StepExtrapolated))
		return sonmf.New(sonmf.Settings{Step: sonmf.Step(s.Step)})
	}},
	{name: SONMFBinary, domain: solver.Binary, scores: true, make: func(s *Settings) (solver.Method, error) {
		s.Step = cmp.Or(s.Step, string(sonmf.BinaryStepQuasiNewton))
		return sonmf.NewBinary(sonmf.BinarySettings{Step: sonmf.BinaryStep(s.Step)})
	}},
	{name: NMF, domain: solver.NonNegative, topics: true, scores: true, make: plain(nmf.NMF{})},
	{name: ONMF, domain: solver.NonNegative, topics: true, scores: true, make: plain(nmf.ONMF{})},
	{name: SemiNMF, domain: solver.Real, scores: true, make: plain(nmf.SemiNMF{})},
	{name: LogNMF, domain: solver.Binary, topics: true, make: plain(nmf.LogNMF{})},
	{name: L1NMF, domain: solver.NonNegative, topics: true, scores: true, make: func(s *Settings) (solver.Method, error) {
		return nmf.NewL1(s.L1Topics, s.L1Scores)
	}},
	{name: SVD, domain: solver.Real, make: plain(svd.Method{})},
}

func plain(m solver.Method) func(*Settings) (solver.Method, error) {
	return func(*Settings) (solver.Method, error) { return m, nil }
}

// find returns the method of a name, a method without a maker for any other name.
func find(name string) method {
	if i := slices.IndexFunc(all, func(m method) bool { return m.name == name }); i >= 0 {
		return all[i]
	}
	return method{}
}

// Names returns the names of all methods that New makes.
func Names() (names []string) {
	return lists.Map(all, func(m method) string { return m.name })
}

// Supervised returns the names of the methods that fit labels as well as the matrix. smf.New makes them, from the
// labels.
func Supervised() []string {
	return []string{string(smf.VariantW), string(smf.VariantH)}
}

// Domain returns the set that the entries of X must be from for the method of this name.
func Domain(name string) solver.Domain { return find(name).domain }

// NonNegative reports which factors the method of this name keeps non-negative and uses unchanged as a start. sonmf has
// scores ≥ 0 too, but computes them from the topics.
func NonNegative(name string) (topics, scores bool) {
	m := find(name)
	return m.topics, m.scores
}

// Settings are the choices that some methods offer. The zero value is the default.
type Settings struct {
	// Step is the update of sonmf or sonmf-binary; "" means its default.
	Step string
	// L1Topics and L1Scores are the weights λ of the ℓ1 penalties of l1-nmf; nil lets the method choose them.
	L1Topics, L1Scores *float64
}

// New returns the method of this name, and the settings with the default of its step filled in. The error wraps
// solver.ErrSettings: for an unknown name, a setting that the method does not have, and one out of its range.
func New(name string, s Settings) (solver.Method, Settings, error) {
	fail := func(problem string) (solver.Method, Settings, error) {
		return nil, s, fmt.Errorf("%w: method %q %s", solver.ErrSettings, name, problem)
	}
	found := find(name)
	switch {
	case found.make == nil:
		return fail("is not one of " + strings.Join(Names(), ", "))
	case s.Step != "" && name != SONMF && name != SONMFBinary:
		return fail("has no step to choose")
	case (s.L1Topics != nil || s.L1Scores != nil) && name != L1NMF:
		return fail("has no ℓ1 penalties")
	}
	m, err := found.make(&s)
	if err != nil {
		return nil, s, err
	}
	return m, s, nil
}
