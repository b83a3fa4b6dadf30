package methods_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/methods"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range methods.Names() {
		m, s, err := methods.New(name, methods.Settings{})
		if err != nil || m.Name() != name {
			t.Errorf("%s: method %v, error %v", name, m, err)
			continue
		}
		if hasStep := name == methods.SONMF || name == methods.SONMFBinary; (s.Step != "") != hasStep {
			t.Errorf("%s: step %q by default", name, s.Step)
		}
		if _, again, err := methods.New(name, s); err != nil || again != s {
			t.Errorf("%s: the defaults %+v give %+v, %v", name, s, again, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	value := func(v float64) *float64 { return &v }
	for name, c := range map[string]struct {
		method   string
		settings methods.Settings
		want     string
	}{
		"unknown":             {"lda", methods.Settings{}, `"lda" is not one of sonmf, sonmf-binary,`},
		"step of svd":         {methods.SVD, methods.Settings{Step: "exact"}, "no step to choose"},
		"step of the other":   {methods.SONMFBinary, methods.Settings{Step: "cayley"}, "cayley"},
		"unknown step":        {methods.SONMF, methods.Settings{Step: "newton"}, "newton"},
		"penalty of nmf":      {methods.NMF, methods.Settings{L1Scores: value(0)}, "no ℓ1 penalties"},
		"negative penalty":    {methods.L1NMF, methods.Settings{L1Topics: value(-2)}, "-2"},
		"penalty of -1":       {methods.L1NMF, methods.Settings{L1Topics: value(-1)}, "-1"},
		"penalty of no value": {methods.L1NMF, methods.Settings{L1Scores: value(math.NaN())}, "NaN"},
	} {
		if _, _, err := methods.New(c.method, c.settings); !errors.Is(err, solver.ErrSettings) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
