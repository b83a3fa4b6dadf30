package factorize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/smf"
)

// Auto lets cross-validation on the training data choose a weight; see smf.Search.
const Auto = "auto"

// Supervised holds the options of the methods of methods.Supervised, with their flags. A report has the fields without
// flags filled in; XiGiven and RidgeGiven are empty there. Paths name matrix files, as Input does; "" means none.
// Labels are 0 … κ, and every class must occur. XiGiven and RidgeGiven are ξ and ν, each a number or Auto; "" means
// Auto. Start coefficients belong to StartTopics and StartScores; for κ = 1 those and StartAux may be a line, and ""
// means zeros.
type Supervised struct {
	Labels       string           `json:"labels" help:"Labels 0, 1 … of the documents, in one line or one column." type:"existingfile" placeholder:"FILE"`
	Aux          string           `json:"aux,omitempty" help:"Auxiliary features of the documents, in the orientation of the input." type:"existingfile" placeholder:"FILE"`
	Classes      int              `json:"classes" kong:"-"`
	XiGiven      string           `json:"-" name:"xi" help:"Weight of the reconstruction: a number, or auto for 5-fold cross-validation (default: auto)." placeholder:"WEIGHT"`
	Xi           float64          `json:"xi" kong:"-"`
	RidgeGiven   string           `json:"-" name:"ridge" help:"Weight of the squared coefficients: a number or auto (default: auto)." placeholder:"WEIGHT"`
	Ridge        float64          `json:"ridge" kong:"-"`
	Update       smf.Update       `json:"update" kong:"-"`
	ClassWeights smf.ClassWeights `json:"class_weights" help:"Weights of documents in the label loss: all equal (none, the default), or the same total for each class (balanced)." enum:"none,balanced," default:"" placeholder:"none|balanced"`
	// CrossValidation is the choice of Xi and Ridge; nil if both were given.
	CrossValidation   *CrossValidation `json:"cross_validation,omitempty" kong:"-"`
	TestInput         string           `json:"test_input,omitempty" help:"Documents to predict, in the orientation of the input." type:"existingfile" placeholder:"FILE"`
	TestLabels        string           `json:"test_labels,omitempty" help:"Their labels." type:"existingfile" placeholder:"FILE"`
	TestAux           string           `json:"test_aux,omitempty" help:"Their auxiliary features." type:"existingfile" placeholder:"FILE"`
	StartCoefficients string           `json:"start_coefficients,omitempty" help:"Start from these coefficients, k × κ, together with --start-topics and --start-scores." type:"existingfile" placeholder:"FILE"`
	StartAux          string           `json:"start_aux,omitempty" help:"Start from these auxiliary coefficients, the intercepts first, (1+q) × κ." type:"existingfile" placeholder:"FILE"`
	// Tried, if not nil, is called after each run of the cross-validation, from several goroutines.
	Tried func(done, total int) `json:"-" kong:"-"`
}

// CrossValidation is the choice of weights by the least log loss of the candidates.
type CrossValidation struct {
	Folds      int             `json:"folds"`
	Chosen     []string        `json:"chosen"` // "xi", "ridge" or both
	Candidates []smf.Candidate `json:"candidates"`
}

func (o *Options) supervised() bool { return slices.Contains(methods.Supervised(), o.Method) }

// checkSupervised returns the settings of the method that the options give; weights to choose are 0.
func (o *Options) checkSupervised() (s smf.Settings, err error) {
	refuse := func(problem string) (smf.Settings, error) { return s, fmt.Errorf("%w: %s", ErrOptions, problem) }
	switch {
	case o.Labels == "":
		return refuse(o.Method + " needs labels")
	case o.L1Topics != nil || o.L1Scores != nil:
		return refuse(o.Method + " has no ℓ1 penalties")
	case (o.TestInput == "") != (o.TestLabels == ""):
		return refuse("test documents need both an input and labels")
	case o.TestAux != "" && o.TestInput == "":
		return refuse("auxiliary features without test documents")
	case o.TestInput != "" && (o.Aux == "") != (o.TestAux == ""):
		return refuse("auxiliary features are given for training or for test documents only")
	case o.StartCoefficients != "" && (o.StartTopics == "" || o.StartScores == ""):
		return refuse("start coefficients need the start topics and start scores that they belong to")
	case !o.ClassWeights.Known():
		return refuse(fmt.Sprintf("class weights %q are neither %s nor %s", o.ClassWeights,
			smf.Unweighted, smf.Balanced))
	}
	o.ClassWeights = cmp.Or(o.ClassWeights, smf.Unweighted)
	s.Variant = smf.Variant(o.Method)
	o.XiGiven, o.RidgeGiven = cmp.Or(o.XiGiven, Auto), cmp.Or(o.RidgeGiven, Auto)
	if s.Xi, err = weight("xi", o.XiGiven); err != nil {
		return s, err
	}
	if o.XiGiven != Auto && s.Xi == 0 {
		return refuse("xi is 0, must be positive or auto")
	}
	if s.Ridge, err = weight("ridge", o.RidgeGiven); err != nil || o.Step == "" {
		return s, err
	}
	if s.Step, err = wording.Number(o.Step); err != nil || s.Step <= 0 {
		return refuse(fmt.Sprintf("step %q of %s is not a positive number", o.Step, o.Method))
	}
	return s, nil
}

func weight(name, text string) (float64, error) {
	if text == Auto {
		return 0, nil
	}
	v, err := wording.Number(text)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%w: %s %q is neither a number ≥ 0 nor %s", ErrOptions, name, text, Auto)
	}
	return v, nil
}

// refuse returns an error for the first supervised option that is set.
func (s *Supervised) refuse(method string) error {
	for _, option := range [][2]string{
		{"labels", s.Labels},
		{"auxiliary features", s.Aux},
		{"xi", s.XiGiven},
		{"ridge", s.RidgeGiven},
		{"test input", s.TestInput},
		{"test labels", s.TestLabels},
		{"test auxiliary features", s.TestAux},
		{"start coefficients", s.StartCoefficients},
		{"start auxiliary coefficients", s.StartAux},
		{"class weights", string(s.ClassWeights)},
	} {
		if option[1] != "" {
			return fmt.Errorf("%w: %s: method %q does not use labels", ErrOptions, option[0], method)
		}
	}
	return nil
}

// task is a supervised factorization with its data.
type task struct {
	settings   smf.Settings
	data       smf.Data
	testX      mat.Matrix // nil without test documents
	test       smf.Data
	validation *CrossValidation
	method     *smf.Method
}

func (o *Options) loadTask(x mat.Matrix, s smf.Settings) (t *task, err error) {
	t = &task{settings: s}
	n, p := x.Dims()
	if t.data, err = o.readData(o.Input, n, o.Labels, o.Aux); err != nil {
		return nil, err
	}
	if t.data.Classes, err = classes(o.Labels, t.data.Labels); err != nil {
		return nil, err
	}
	t.data.Weights = o.ClassWeights.Weights(t.data.Labels)
	if t.settings.StartHead, err = o.startHead(t.data); err != nil || o.TestInput == "" {
		return t, err
	}
	if t.testX, err = o.read(o.TestInput); err != nil {
		return nil, err
	}
	n, terms := t.testX.Dims()
	if terms != p {
		return nil, fmt.Errorf("reading %q: %w: %d terms, %q has %d", o.TestInput, solver.ErrShape, terms, o.Input, p)
	}
	if t.test, err = o.readData(o.TestInput, n, o.TestLabels, o.TestAux); err != nil {
		return nil, err
	}
	for i, y := range t.test.Labels {
		if y >= t.data.Classes {
			return nil, labelError(o.TestLabels, i, "label %d, the largest of training is %d", y, t.data.Classes-1)
		}
	}
	if aux := t.data.Aux; aux != nil {
		_, want := aux.Dims()
		if _, got := t.test.Aux.Dims(); got != want {
			return nil, fmt.Errorf("reading %q: %w: %d auxiliary features, %q has %d", o.TestAux, solver.ErrShape,
				got, o.Aux, want)
		}
	}
	return t, nil
}

func (o *Options) readData(input string, n int, labels, aux string) (d smf.Data, err error) {
	if d.Labels, err = readLabels(labels); err != nil {
		return d, err
	}
	if got := len(d.Labels); got != n {
		return d, fmt.Errorf("reading %q: %w: %d labels, %q has %d documents", labels, solver.ErrShape, got, input, n)
	}
	if aux == "" {
		return d, nil
	}
	x, err := o.read(aux)
	if err != nil {
		return d, err
	}
	d.Aux = mat.DenseCopyOf(x)
	if got, _ := x.Dims(); got != n {
		return d, fmt.Errorf("reading %q: %w: auxiliary features of %d documents (%s), %q has %d", aux, solver.ErrShape,
			got, o.Orientation, input, n)
	}
	return d, nil
}

// maxLabel bounds labels, so that a wrong file is refused before classes are counted.
const maxLabel = 1 << 20

// readLabels reads the labels in a line or a column.
func readLabels(path string) ([]int, error) {
	x, err := matrixio.Read(path)
	if err != nil {
		return nil, err
	}
	if rows, cols := x.Dims(); rows != 1 && cols != 1 {
		return nil, fmt.Errorf("reading %q: %w: labels are one line or one column, not %d×%d", path,
			solver.ErrShape, rows, cols)
	}
	values := mat.DenseCopyOf(x).RawMatrix().Data
	labels := make([]int, len(values))
	for i, v := range values {
		switch {
		case v != math.Trunc(v):
			return nil, labelError(path, i, "label %v is not an integer", v)
		case v < 0:
			return nil, labelError(path, i, "label %v is negative", v)
		case v > maxLabel:
			return nil, labelError(path, i, "label %v is above %d", v, maxLabel)
		}
		labels[i] = int(v)
	}
	return labels, nil
}

func labelError(path string, i int, format string, args ...any) error {
	at := &table.Error{File: path, Err: fmt.Errorf("%w: document %d: %s", smf.ErrLabels, i+1,
		fmt.Sprintf(format, args...))}
	if at.Line = matrixio.LineOf(path, i); at.Line == 0 { // the labels are one line, or not in a CSV file
		at.Line, at.Column = matrixio.LineOf(path, 0), strconv.Itoa(i+1)
	}
	return at
}

// classes returns the number of classes, each of which must occur.
func classes(path string, labels []int) (int, error) {
	count := slices.Max(labels) + 1
	seen := make([]bool, count)
	for _, y := range labels {
		seen[y] = true
	}
	if missing := slices.Index(seen, false); missing >= 0 {
		return 0, fmt.Errorf("reading %q: %w: no document of class %d, the largest label is %d", path, smf.ErrLabels,
			missing, count-1)
	}
	if count < 2 {
		return 0, fmt.Errorf("reading %q: %w: every document has class 0", path, smf.ErrLabels)
	}
	return count, nil
}

func (o *Options) startHead(data smf.Data) (*solver.Head, error) {
	if o.StartCoefficients == "" && o.StartAux == "" {
		return nil, nil
	}
	q := 0
	if data.Aux != nil {
		_, q = data.Aux.Dims()
	}
	kappa := data.Classes - 1
	coefficients, err := readCoefficients(o.StartCoefficients, o.Rank, kappa)
	if err != nil {
		return nil, err
	}
	aux, err := readCoefficients(o.StartAux, 1+q, kappa)
	if err != nil {
		return nil, err
	}
	head := &solver.Head{Coefficients: coefficients, Intercept: mat.Col(nil, 0, aux)}
	if q > 0 {
		head.AuxCoefficients = mat.DenseCopyOf(aux.Slice(0, kappa, 1, 1+q))
	}
	return head, nil
}

// readCoefficients reads a rows×κ matrix and returns its transpose, zeros for no path. A line is a column for κ = 1.
func readCoefficients(path string, rows, kappa int) (*mat.Dense, error) {
	if path == "" {
		return mat.NewDense(kappa, rows, nil), nil
	}
	m, err := readFactor(path, rows, kappa, true)
	if err != nil {
		return nil, err
	}
	return mat.DenseCopyOf(m.T()), nil
}

// choose fills in the weights that are Auto, those of the best candidate, and makes the method.
func (t *task) choose(ctx context.Context, x mat.Matrix, o *Options, settings solver.Settings) (err error) {
	search := smf.Search{
		Method: t.settings, Solver: settings, Folds: smf.DefaultFolds, Seed: settings.Seed,
		ClassWeights: o.ClassWeights, Progress: o.Tried,
	}
	search.Method.StartHead = nil
	search.Solver.StartTopics, search.Solver.StartScores, search.Solver.Recorder = nil, nil, nil
	var chosen []string
	if o.XiGiven == Auto {
		chosen = append(chosen, "xi")
	} else {
		search.Xi = []float64{t.settings.Xi}
	}
	if o.RidgeGiven == Auto {
		chosen = append(chosen, "ridge")
	} else {
		search.Ridge = []float64{t.settings.Ridge}
	}
	if chosen != nil {
		choice, err := smf.Choose(ctx, x, t.data, search)
		if err != nil {
			return fmt.Errorf("choosing %s by %q: %w", strings.Join(chosen, " and "), o.Labels, err)
		}
		t.settings.Xi, t.settings.Ridge = choice.Best.Xi, choice.Best.Ridge
		t.validation = &CrossValidation{Folds: search.Folds, Chosen: chosen, Candidates: choice.Candidates}
	}
	t.method, err = smf.New(t.data, t.settings)
	return err
}

// describe adds the settings and accuracies of a supervised result to a report.
func (t *task) describe(report *Report, o *Options, x mat.Matrix, result *solver.Result) error {
	s := o.Supervised
	s.Classes, s.Xi, s.Ridge, s.Update, s.CrossValidation = t.data.Classes, t.settings.Xi, t.settings.Ridge,
		t.settings.Update(), t.validation
	s.XiGiven, s.RidgeGiven, s.Tried = "", "", nil // these are options only
	report.Settings.Supervised = &s
	model := t.method.Model(result)
	train, err := model.Predict(x, t.data.Aux)
	if err != nil {
		return err
	}
	report.TrainAccuracy = accuracy(train.Classes, t.data.Labels)
	if t.testX == nil {
		return nil
	}
	test, err := model.Predict(t.testX, t.test.Aux)
	if err != nil {
		return err
	}
	report.TestAccuracy = accuracy(test.Classes, t.test.Labels)
	if t.data.Classes > 2 {
		return nil
	}
	positive, order := make([]bool, len(t.test.Labels)), mat.Col(nil, 0, test.LogOdds)
	for i, y := range t.test.Labels {
		positive[i] = y == 1
		// in the order of the probabilities, which would round to 1 above 37
		order[i] = (1 + order[i]/(1+math.Abs(order[i]))) / 2
	}
	area, _, err := eval.AUROC(positive, order, nil)
	if errors.Is(err, eval.ErrOneClass) {
		return nil
	}
	report.TestAUROC = &area
	return err
}

func accuracy(predicted, labels []int) *float64 {
	right := lists.Where(len(labels), func(i int) bool { return predicted[i] == labels[i] })
	return new(float64(len(right)) / float64(len(labels)))
}
