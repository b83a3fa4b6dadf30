package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/smf"
	"github.com/wardcast/wardcast/textproc"
)

// Method names how the topics of a model are made: one of package methods, or BagOfWords.
type Method string

// Methods that this package treats by themselves.
const (
	SONMF      Method = methods.SONMF // the default
	SVD        Method = methods.SVD   // truncated SVD: latent semantic analysis
	L1NMF      Method = methods.L1NMF // the only one with weights to choose
	BagOfWords Method = "bow"         // no topics, single words alone
	SMFW       Method = Method(smf.VariantW)
	SMFH       Method = Method(smf.VariantH)
)

// Methods returns the names of all methods.
func Methods() []string {
	return slices.Concat([]string{string(BagOfWords)}, methods.Names(), methods.Supervised())
}

// Supervised reports whether the method finds topics and their coefficients together.
func (m Method) Supervised() bool { return slices.Contains(methods.Supervised(), string(m)) }

func (m Method) known() bool { return slices.Contains(Methods(), string(m)) }

// binary reports whether the method takes rows of 0 and 1 alone.
func (m Method) binary() bool { return methods.Domain(string(m)) == solver.Binary }

// Weighting returns the rows that the method is meant for: binary for the factorizations of 0/1 matrices, else tf-idf.
func (m Method) Weighting() textproc.Weighting {
	if m.binary() {
		return textproc.Binary
	}
	return textproc.TFIDF
}

// rows returns the weightings that the method takes, its own if none are given.
func (m Method) rows(weightings []textproc.Weighting) ([]textproc.Weighting, error) {
	switch {
	case len(weightings) == 0:
		return []textproc.Weighting{m.Weighting()}, nil
	case !m.binary():
		return weightings, nil
	case slices.Contains(weightings, textproc.Binary):
		return []textproc.Weighting{textproc.Binary}, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrSettings, m.wantsBinary())
}

func (m Method) wantsBinary() string {
	return fmt.Sprintf("method %q takes only %s rows", m, textproc.Binary)
}

// Policy says which complaints get a model of their own.
type Policy string

// The policies.
const (
	Auto   Policy = "auto"   // if it beats the model of all complaints on the complaint's own notes
	Always Policy = "always" // wherever there are enough notes of both classes
	Never  Policy = "never"  // nowhere
)

// Settings say how a model is trained. They are recorded in its manifest.
type Settings struct {
	Method Method `json:"method"`
	Rank   int    `json:"rank"`   // topics, at most the number of notes and of terms
	Words  bool   `json:"words"`  // single words are features, next to the topics
	Pieces bool   `json:"pieces"` // so are pieces of words, where words are
	// Text has a place of its own in the manifest. Its MinDF and NGrams may be 0: see minDF and nGrams.
	Text textproc.Settings `json:"-"`
	// L1Topics and L1Scores are the weights of l1-nmf; nil means its defaults. Other methods refuse them.
	L1Topics *float64 `json:"l1_topics,omitempty"`
	L1Scores *float64 `json:"l1_scores,omitempty"`
	// Xi and Ridge are ξ and ν of smf-w and smf-h, on the scale of the rows; nil lets cross-validation choose. Ranks
	// are the numbers of topics that it may choose from; none means Rank. Other methods refuse these.
	Xi           *float64         `json:"xi,omitempty"`
	Ridge        *float64         `json:"ridge,omitempty"`
	Ranks        []int            `json:"ranks,omitempty"`
	ClassWeights smf.ClassWeights `json:"class_weights,omitempty"` // "" is smf.Unweighted
	// WarmStart begins from the topics of the previous version if it has as many, by the same method. New terms begin
	// at 0. The singular value decomposition takes no start.
	WarmStart bool `json:"warm_start,omitempty"`
	// TopicsFromAll has SONMF find the topics of many notes from all of them; the sample gives it the start alone.
	TopicsFromAll bool `json:"topics_from_all,omitempty"`

	Alpha float64 `json:"alpha"` // mixes the penalty of the head: 1 is the lasso, 0 ridge
	// Standardize lets the penalty act on features of unit variance, as R's glmnet does. Without it terms and
	// topic scores are penalized as they are, and auxiliary features by their own scales. For smf-w and smf-h it
	// centres terms and gives them equal variance before they are factorized, by the statistics of the notes trained
	// on.
	Standardize bool `json:"standardize"`
	FreeAux     bool `json:"free_aux"` // leaves auxiliary features unpenalized
	OneSE       bool `json:"one_se"`   // takes the largest λ within one standard error of the best, a simpler model
	Folds       int  `json:"folds"`    // the number of cross-validation folds for λ, or ξ, ν and rank, and calibration

	Calibration  bundle.CalibrationKind `json:"calibration"`
	Threshold    eval.Criterion         `json:"threshold"` // the measure that the threshold of the decision maximizes
	PerComplaint Policy                 `json:"per_complaint"`
	MinDocuments int                    `json:"min_documents"` // notes that a complaint needs for a model of its own
	MinEvents    int                    `json:"min_events"`    // notes of each outcome that it needs, at least 10
	Seed         uint64                 `json:"seed"`

	plain    bool // corrections are penalized as the model of all complaints was: see choose
	manyRows int  // instead of the constants manyRows and sampledRows, for tests; 0 is neither
}

// Default returns the settings of `wardcast train` without flags.
func Default() Settings {
	text := textproc.DefaultSettings()
	text.NGrams = 0
	return Settings{
		Method: SONMF, Rank: 50, Words: true, Pieces: true, Text: text, Alpha: 0.02, Folds: 5,
		Calibration: bundle.Platt, Threshold: eval.MaxAccuracy, PerComplaint: Auto, MinDocuments: 200,
		MinEvents: 50, Seed: 1,
	}
}

// ErrSettings is returned for settings out of their ranges.
var ErrSettings = errors.New("settings out of range")

// Check returns an error that wraps ErrSettings unless the settings serve so many classes, 0 for yes and no.
func (s *Settings) Check(classes int) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.checkClasses(classes)
}

func (s *Settings) check() error {
	var problem string
	switch {
	case !s.Method.known():
		problem = fmt.Sprintf("method %q is not one of %s", s.Method, strings.Join(Methods(), ", "))
	case s.Method.binary() && s.Text.Weighting != textproc.Binary:
		problem = s.Method.wantsBinary()
	case s.Method != L1NMF && (s.L1Topics != nil || s.L1Scores != nil):
		problem = fmt.Sprintf("ℓ1 penalties apply only to l1-nmf; method %q has none", s.Method)
	case s.L1Topics != nil && !(*s.L1Topics >= 0):
		problem = fmt.Sprintf("weight %v of topics is less than 0", *s.L1Topics)
	case s.L1Scores != nil && !(*s.L1Scores >= 0):
		problem = fmt.Sprintf("weight %v of scores is less than 0", *s.L1Scores)
	case s.Method != BagOfWords && slices.Min(s.ranks()) < 1:
		problem = fmt.Sprintf("rank %d is less than 1", slices.Min(s.ranks()))
	case s.Folds < 2:
		problem = fmt.Sprintf("%d folds are less than 2", s.Folds)
	case s.PerComplaint != Auto && s.PerComplaint != Always && s.PerComplaint != Never:
		problem = fmt.Sprintf("per-complaint policy %q is not one of %s, %s, %s", s.PerComplaint, Auto, Always, Never)
	case s.MinDocuments < 1:
		problem = fmt.Sprintf("min documents %d is less than 1", s.MinDocuments)
	case s.MinEvents < minClass:
		problem = fmt.Sprintf("min events %d is less than %d, for each fold must hold some", s.MinEvents, minClass)
	case !(s.Alpha >= 0 && s.Alpha <= 1):
		problem = fmt.Sprintf("alpha %v is not in [0,1]", s.Alpha)
	case s.Calibration != bundle.Platt && s.Calibration != bundle.Isotonic && s.Calibration != bundle.Uncalibrated:
		problem = fmt.Sprintf("calibration %q is not one of %s, %s, %s", s.Calibration, bundle.Platt, bundle.Isotonic,
			bundle.Uncalibrated)
	case s.Threshold != eval.MaxAccuracy && s.Threshold != eval.MaxYouden:
		problem = fmt.Sprintf("threshold %q is not one of %s, %s", s.Threshold, eval.MaxAccuracy, eval.MaxYouden)
	default:
		problem = s.supervisedProblem()
	}
	if problem == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrSettings, problem)
}

// supervisedProblem checks the settings that only supervised methods take, or only others.
func (s *Settings) supervisedProblem() string {
	if !s.Method.Supervised() {
		if s.Xi != nil || s.Ridge != nil || len(s.Ranks) > 0 || s.ClassWeights == smf.Balanced {
			return fmt.Sprintf("xi, ridge, class weights and several ranks apply only to %s, not to method %q",
				strings.Join(methods.Supervised(), " and "), s.Method)
		}
		return ""
	}
	switch {
	case s.Words:
		return fmt.Sprintf("%s does not take single words next to its topics", s.Method)
	case s.FreeAux || s.OneSE:
		return fmt.Sprintf("options of the elastic net do not apply to method %q", s.Method)
	case s.Xi != nil && !(*s.Xi > 0 && *s.Xi <= math.MaxFloat64):
		return fmt.Sprintf("xi %v is not a positive number", *s.Xi)
	case s.Ridge != nil && !(*s.Ridge >= 0 && *s.Ridge <= math.MaxFloat64):
		return fmt.Sprintf("ridge %v is not a number ≥ 0", *s.Ridge)
	case !s.ClassWeights.Known():
		return fmt.Sprintf("class weights %q are not one of %s, %s", s.ClassWeights, smf.Unweighted, smf.Balanced)
	}
	for i, k := range s.Ranks {
		if slices.Contains(s.Ranks[:i], k) {
			return fmt.Sprintf("rank %d appears twice", k)
		}
	}
	return ""
}

// checkClasses returns an error if the settings cannot predict so many classes, 0 for yes and no.
func (s *Settings) checkClasses(classes int) error {
	switch {
	case classes > 0 && !s.Method.Supervised():
		return fmt.Errorf("%w: method %q predicts only yes or no: several classes need %s", ErrSettings, s.Method,
			strings.Join(methods.Supervised(), " or "))
	case classes > 2 && s.Calibration == bundle.Isotonic:
		return fmt.Errorf("%w: calibration %q is for yes and no only, not for %d classes", ErrSettings,
			s.Calibration, classes)
	}
	return nil
}

func (s *Settings) ranks() []int {
	if len(s.Ranks) > 0 {
		return s.Ranks
	}
	return []int{s.Rank}
}

// nGrams returns the longest phrase that is a term, unless choose takes single words. Where words are features, pairs
// lower the log loss of held-out notes (.3893 to .3869 on one set of reports, .2473 to .2460 on another); topics have
// no use for them.
func (s *Settings) nGrams() int {
	switch {
	case s.Text.NGrams > 0:
		return s.Text.NGrams
	case s.words():
		return 2
	}
	return 1
}

// leastCommon is the default number of patients of a term that can be no name: fewer say too little of an outcome.
const leastCommon = 3

// minDF returns the least number of patients of a term for n notes, and of one that can be no name: see textproc.
func (s *Settings) minDF(n int) (least, common int) {
	if s.Text.MinDF > 0 {
		return s.Text.MinDF, s.Text.MinCommon
	}
	if n < manyNotes {
		return 5, leastCommon
	}
	return intake.LeastNamed, leastCommon
}

const manyNotes = 5000 // the number of notes from which on a term needs ten patients

func (s *Settings) words() bool { return s.Words || s.Method == BagOfWords }
