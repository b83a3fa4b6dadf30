package methods

import (
	"fmt"
	"slices"
	"strings"

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

// Names returns the names of all methods that New makes.
func Names() []string {
	return []string{SONMF, SONMFBinary, NMF, ONMF, SemiNMF, LogNMF, L1NMF, SVD}
}

// Supervised returns the names of the methods that fit labels as well as the matrix. smf.New makes them, from the labels.
func Supervised() []string {
	return []string{string(smf.VariantW), string(smf.VariantH)}
}

// Domain returns what the entries of X must be for the method of this name.
func Domain(name string) solver.Domain {
	switch name {
	case SONMFBinary, LogNMF:
		return solver.Binary
	case NMF, ONMF, L1NMF:
		return solver.NonNegative
	default:
		return solver.Real
	}
}

// NonNegative returns which factors the method of this name keeps non-negative and begins from as they are given. sonmf
// has scores ≥ 0 too, but takes them from the topics.
func NonNegative(name string) (topics, scores bool) {
	switch name {
	case NMF, ONMF, L1NMF:
		return true, true
	case SemiNMF, SONMFBinary:
		return false, true
	case LogNMF:
		return true, false
	default:
		return false, false
	}
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
	switch {
	case !slices.Contains(Names(), name):
		return fail("is none of " + strings.Join(Names(), ", "))
	case s.Step != "" && name != SONMF && name != SONMFBinary:
		return fail("has no step to choose")
	case (s.L1Topics != nil || s.L1Scores != nil) && name != L1NMF:
		return fail("has no ℓ1 penalties")
	case s.L1Topics != nil && *s.L1Topics == nmf.Auto, s.L1Scores != nil && *s.L1Scores == nmf.Auto: // NewL1 refuses other negative weights
		return fail(fmt.Sprintf("has no penalty of weight %v", nmf.Auto))
	}
	var method solver.Method
	switch name {
	case SONMF:
		m, err := sonmf.New(sonmf.Settings{Step: sonmf.Step(s.Step)})
		if err != nil {
			return nil, s, err
		}
		method, s.Step = m, string(m.Settings().Step)
	case SONMFBinary:
		m, err := sonmf.NewBinary(sonmf.BinarySettings{Step: sonmf.BinaryStep(s.Step)})
		if err != nil {
			return nil, s, err
		}
		method, s.Step = m, string(m.Settings().Step)
	case NMF:
		method = nmf.NMF{}
	case ONMF:
		method = nmf.ONMF{}
	case SemiNMF:
		method = nmf.SemiNMF{}
	case LogNMF:
		method = nmf.LogNMF{}
	case L1NMF:
		m, err := nmf.NewL1(weight(s.L1Topics), weight(s.L1Scores))
		if err != nil {
			return nil, s, err
		}
		method = m
	case SVD:
		method = svd.Method{}
	}
	return method, s, nil
}

func weight(given *float64) float64 {
	if given == nil {
		return nmf.Auto
	}
	return *given
}
