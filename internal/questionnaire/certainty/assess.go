package certainty

import (
	"context"
	"fmt"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
)

// Settings says how much to find out. Zero values mean what the fields say.
type Settings struct {
	// Replicates is the number of fits of the bootstrap, at least LeastReplicates; 0 is none, and no cross-validation
	// of the explained variance.
	Replicates int
	// Progress, when not nil, is called after each fit, one call at a time.
	Progress func(done, total int)
}

// Assess returns the function for fit.Options.Assess that completes the summary. It returns an error that wraps
// questionnaire.ErrOptions for too few replicates.
func (s Settings) Assess() (func(context.Context, *fit.Options, *fit.Outcome) error, error) {
	if s.Replicates != 0 && s.Replicates < LeastReplicates {
		return nil, fmt.Errorf("%w: %d replicates of a bootstrap, must be 0 or at least %d", questionnaire.ErrOptions,
			s.Replicates, LeastReplicates)
	}
	return s.assess, nil
}

func (s Settings) assess(ctx context.Context, o *fit.Options, of *fit.Outcome) (err error) {
	summary := &of.Model.Summary
	if summary.ExplainedBy, err = Explain(of); err != nil || s.Replicates == 0 {
		return err
	}
	var failed int
	if summary.ExplainedBy.CrossValidated, failed, err = CrossValidate(ctx, o, of, s.Progress); err != nil {
		return err
	}
	if failed > 0 {
		summary.Warnings = append(summary.Warnings, fmt.Sprintf("for the cross-validated variance that factors "+
			"explain, the method cannot learn without %d of %d parts of the participants, which do not count",
			failed, mostFolds))
	}
	if summary.Bootstrap, err = s.Bootstrap(ctx, o, of); err != nil {
		return err
	}
	if b := summary.Bootstrap; b.Failed > 0 {
		summary.Warnings = append(summary.Warnings, fmt.Sprintf(
			"%d of %d samples of the bootstrap could not be learned from, and do not count", b.Failed, b.Replicates))
	}
	return nil
}
