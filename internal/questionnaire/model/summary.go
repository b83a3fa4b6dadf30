package model

import (
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
)

// Summary is the outcome of a fit as result.json holds it.
type Summary struct {
	Method     string  `json:"method"`
	Status     string  `json:"status"`
	Iterations int     `json:"iterations"`
	Objective  float64 `json:"objective"`
	// ReconstructionError is the mean squared error of the observed answers. Explained is the share of their variance about
	// the items' means that the model explains. OutsideRange is how far the reconstruction leaves the range in its worst cell.
	ReconstructionError float64 `json:"reconstruction_error"`
	Explained           float64 `json:"explained"`
	OutsideRange        float64 `json:"outside_range"`
	Factors             int     `json:"factors"`
	Beta                float64 `json:"beta"`
	// BCV is the curve of the cross-validation, empty if there was nothing to choose.
	BCV                     []Point `json:"bcv"`
	OneStandardErrorFactors int     `json:"one_standard_error_factors,omitempty"`
	BCVUnconverged          int     `json:"bcv_unconverged"` // fits of the cross-validation that ended at MaxIter
	Seconds                 Seconds `json:"seconds"`
	Participants            int     `json:"participants"`
	// Unanswered and Incomplete count the participants left out because they lack answers or confounds.
	Unanswered int         `json:"unanswered"`
	Incomplete int         `json:"incomplete"`
	Missing    float64     `json:"missing"` // share of the answers
	Items      []ItemFit   `json:"items"`
	FactorFits []FactorFit `json:"factor_scores"`
	// EmptyFactors counts the factors whose scores or loadings are all 0. They come last.
	EmptyFactors int `json:"empty_factors"`
	// Warnings are sentences for whoever reads the result.
	Warnings []string            `json:"warnings"`
	Compact  []CompactItem       `json:"compact,omitempty"` // of a second stage
	Trace    []solver.TracePoint `json:"trace"`             // empty unless asked for
	Settings Settings            `json:"settings"`
	Version  string              `json:"version"`
}

// Candidate is a choice of the number of factors and of the weight of the penalties.
type Candidate struct {
	Factors int     `json:"factors"`
	Beta    float64 `json:"beta"`
}

// Point is the cross-validated error of a candidate.
type Point struct {
	Candidate
	Error         float64 `json:"error"`
	StandardError float64 `json:"standard_error"`
}

// Seconds is the wall time of the parts of a run: reading, cross-validation, start, updates.
type Seconds struct {
	Load   float64 `json:"load"`
	Choose float64 `json:"choose"`
	Init   float64 `json:"init"`
	Solve  float64 `json:"solve"`
}

// ItemFit describes an item's answers: the share that is missing, their mean, and the share of their variance that the model
// explains.
type ItemFit struct {
	Item      string  `json:"item"`
	Missing   float64 `json:"missing"`
	Mean      float64 `json:"mean"`
	Explained float64 `json:"explained"`
}

// FactorFit describes a factor's scores: their mean, and the shares of participants in whom it is absent (0) and more than
// half present.
type FactorFit struct {
	Mean   float64 `json:"mean"`
	Absent float64 `json:"absent"`
	High   float64 `json:"high"`
}

// CompactItem is an item of a compact set, in the order of choice.
type CompactItem struct {
	Questionnaire string `json:"questionnaire"`
	questionnaire.Item
	// Explained is the share of the variance of the second stage's scores that a linear prediction from the items so far
	// explains, in participants whom neither the choice nor the prediction has seen.
	Explained float64 `json:"explained"`
	// Correlations are those of each score with its prediction, in the same participants.
	Correlations []float64 `json:"correlations"`
}

// Settings are the options of a run with their defaults filled in.
type Settings struct {
	// Input is the path of the answers, seen from the folder of the model once it is written; for a second stage, the names
	// of its questionnaires.
	Input       string              `json:"input"`
	InputSHA256 string              `json:"input_sha256,omitempty"` // "" for a second stage
	Range       questionnaire.Range `json:"range"`                  // that the reconstruction keeps
	Learning
}

// Learning are the options of the solver. Zero values mean what the fields say.
type Learning struct {
	// Ridge is the weight β₂ of half the squares of scores and, times (n/m)·max, loadings, in addition to β.
	Ridge float64 `json:"ridge"`
	// BoundLoadings keeps loadings within the largest answer.
	BoundLoadings bool `json:"bound_loadings"`
	// Inner is the algorithm within an update; "" means icqf.CoordinateDescent.
	Inner icqf.Inner `json:"inner"`
	Seed  uint64     `json:"seed"`
	// MaxIter is the largest number of updates of a fit; 0 means icqf.DefaultMaxIter.
	MaxIter int `json:"max_iter"`
	// RelTol ends a fit at this relative change of the objective; 0 is off. Commands offer solver.DefaultRelTol. The fits of
	// a cross-validation end at rank.ICQFRelTol if that is larger.
	RelTol float64 `json:"rel_tol"`
	// Threads is the largest number of goroutines that compute, at most 1024; 0 means GOMAXPROCS.
	Threads int `json:"threads"`
}
