package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wording"
)

// The criteria for the number of factors that a fit can follow.
const (
	CrossValidation  = "cross_validation"
	ParallelAnalysis = "parallel"
	SimpleStructure  = "simple_structure"
)

// Criteria are the numbers of factors by each criterion, nil if it was not computed or suggests none.
type Criteria struct {
	CrossValidation *int `json:"cross_validation"`
	Parallel        *int `json:"parallel"`
	MAP             *int `json:"map"`
	SimpleStructure *int `json:"simple_structure,omitempty"`
}

// Decision says which criterion chose the number of factors, and why. It is empty if the number was given; Followed is
// empty, too, if the criterion to follow suggests no number that a fit can have.
type Decision struct {
	Criteria *Criteria `json:"criteria,omitempty"`
	Followed string    `json:"followed,omitempty"`
	Because  string    `json:"because,omitempty"`
}

// Disagree reports whether two criteria suggest different numbers.
func (d *Decision) Disagree() bool {
	found := d.found()
	return slices.ContainsFunc(found, func(f suggestion) bool { return *f.factors != *found[0].factors })
}

type suggestion struct {
	by      string
	factors *int
}

func (d *Decision) found() []suggestion {
	c := cmp.Or(d.Criteria, &Criteria{})
	return slices.DeleteFunc([]suggestion{
		{"cross-validation", c.CrossValidation},
		{"parallel analysis", c.Parallel},
		{"MAP", c.MAP},
		{"simple structures", c.SimpleStructure},
	}, func(f suggestion) bool { return f.factors == nil })
}

// Found returns the number of each criterion, as in "3 factors by cross-validation, 5 factors by parallel analysis".
func (d *Decision) Found() string {
	return strings.Join(lists.Map(d.found(),
		func(f suggestion) string { return wording.Count(*f.factors, "factor") + " by " + f.by }), ", ")
}

// Sentence says what each criterion found, and which is followed and why; "" if the number of factors was given.
func (d *Decision) Sentence() string {
	if d.Criteria == nil {
		return ""
	}
	name := map[string]string{
		CrossValidation: "Cross-validation", ParallelAnalysis: "Parallel analysis",
		SimpleStructure: "The BIC of simple structures", "": "None",
	}[d.Followed]
	if len(d.found()) == 1 {
		return fmt.Sprintf("One criterion alone suggests a number of factors: %s.", d.Found())
	}
	if !d.Disagree() {
		return fmt.Sprintf("The criteria for the number of factors agree: %s.", d.Found())
	}
	return fmt.Sprintf("The criteria for the number of factors disagree: %s. %s is followed: %s.", d.Found(), name,
		d.Because)
}
