package model

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/linalg/eap"
	"github.com/wardcast/wardcast/solver/matrix/safetensors"
)

// The files of a model.
const (
	ModelFile    = "model.json"
	LoadingsFile = "model.safetensors"
	SumsFile     = "SHA256SUMS"
	ScoresFile   = "scores.csv"
	TableFile    = "loadings.csv"
	CompactFile  = "compact.csv"
	ResultFile   = "result.json"
	// IntervalsFile holds the intervals of the loadings as a table, if there are any.
	IntervalsFile = "loadings_intervals.csv"
	// CarelessFile has a row for each participant of a fit, with signs of careless answers.
	CarelessFile = "careless.csv"
)

// Format is the version of model.json. Load reads a later minor version, "2.N", without its unknown fields.
const Format = "2"

// The tensors of LoadingsFile.
const (
	tensorLoadings    = "loadings"
	tensorConfounds   = "confound_loadings"
	tensorWeights     = "item_weights"
	tensorNoise       = "item_noise"
	tensorCalibration = "score_calibration"
)

// ErrModel is wrapped by every error about a damaged or invalid stored model.
var ErrModel = errors.New("malformed model of a questionnaire")

// ErrOtherCodebook is returned by Describe.
var ErrOtherCodebook = errors.New("describes none of the items of the model")

// Model is a stored fit: it scores participants and is the source of a report.
type Model struct {
	Format    string                   `json:"format"`
	Items     []questionnaire.Item     `json:"items"`
	Confounds []questionnaire.Confound `json:"confounds"`
	// column of the ids, "" for the default one if it is there
	ID       string   `json:"id,omitempty"`
	Numbered bool     `json:"numbered,omitempty"`      // without a column of ids
	Missing  []string `json:"missing_codes,omitempty"` // further codes of missing entries
	FromLow  bool     `json:"from_low,omitempty"`      // answers count from the low end of their range
	// Visits means that the items are those of VisitItems at several times.
	Visits     *questionnaire.Visits `json:"visits,omitempty"`
	VisitItems []questionnaire.Item  `json:"visit_items,omitempty"`
	Summary    Summary               `json:"summary"`
	CreatedAt  time.Time             `json:"created_at"`

	// ICQF is the fit of MethodICQF and MethodL1, and FA, nil for these, that of MethodFA and MethodGRM. LoadingsFile
	// holds their numbers. SHA256 is that of SumsFile once the model is loaded.
	ICQF   icqf.Model `json:"-"`
	FA     *FA        `json:"-"`
	SHA256 string     `json:"-"`
}

// CountLoadings turns standard errors of scores for known loadings, n×k, into those of WithLoadings.
func (m *Model) CountLoadings(errs *mat.Dense) {
	errs.Apply(func(_, t int, e float64) float64 { return m.WithLoadings(t, e) }, errs)
}

// WithLoadings returns √(e² + u²) for a standard error e of a score, with u of Bootstrap.Scores; e without a bootstrap.
func (m *Model) WithLoadings(factor int, e float64) float64 {
	if b := m.Summary.Bootstrap; b != nil {
		return math.Hypot(e, b.Scores[factor])
	}
	return e
}

// Loadings returns those of the factors, p×k.
func (m *Model) Loadings() *mat.Dense {
	if m.FA != nil {
		return m.FA.Loadings
	}
	return m.ICQF.Loadings
}

// ConfoundLoadings returns those of the confounds, p×c, nil without confounds.
func (m *Model) ConfoundLoadings() *mat.Dense {
	if m.FA != nil {
		return m.FA.ConfoundLoadings
	}
	return m.ICQF.ConfoundLoadings
}

// The methods.
const (
	// MethodICQF is interpretability constrained questionnaire factorization.
	MethodICQF = "icqf"
	// MethodFA is exploratory factor analysis with a rotation.
	MethodFA = "fa"
	// MethodL1 is the non-negative factorization with ℓ1 penalties.
	MethodL1 = "l1-nmf"
	// MethodGRM is the graded response model, with one factor for each item and expected a posteriori scores.
	MethodGRM = "grm"
)

// Methods lists the methods.
func Methods() []string { return []string{MethodICQF, MethodFA, MethodL1, MethodGRM} }

// Standardized reports whether the method's factors have variance 1, scores without bounds, and loadings that are
// correlations or regression weights of standardized responses.
func Standardized(method string) bool { return method == MethodFA || method == MethodGRM }

// ScoreRange is the range of the method's scores: [0,1] unless the method is Standardized.
func (m *Model) ScoreRange() questionnaire.Range {
	if Standardized(m.Summary.Method) {
		return questionnaire.Range{Low: math.Inf(-1), High: math.Inf(1)}
	}
	return questionnaire.Range{Low: 0, High: 1}
}

// Files returns the files of the model and their contents; CompactFile and IntervalsFile only if the model has them.
func (m *Model) Files() (map[string][]byte, error) {
	manifest, err := indented(m)
	if err != nil {
		return nil, fmt.Errorf("writing %q: %w", ModelFile, err)
	}
	tensors := safetensors.Tensors{}
	if m.FA != nil {
		tensors = m.FA.tensors()
	}
	tensors[tensorLoadings] = safetensors.Of(m.Loadings())
	if m.ConfoundLoadings() != nil {
		tensors[tensorConfounds] = safetensors.Of(m.ConfoundLoadings())
	}
	for name, values := range map[string][]float64{tensorWeights: m.ICQF.Weights, tensorNoise: m.ICQF.Noise} {
		if values != nil {
			tensors[name] = safetensors.OfList(values)
		}
	}
	if c := m.ICQF.Calibration; c != nil {
		tensors[tensorCalibration] = safetensors.Tensor{Shape: []int{2, m.Summary.Factors}, Data: slices.Concat(
			c.Information, c.Shifts)}
	}
	var b bytes.Buffer
	if err := safetensors.Write(&b, tensors, map[string]string{"format": Format}); err != nil {
		return nil, fmt.Errorf("writing %q: %w", LoadingsFile, err)
	}
	files := map[string][]byte{
		ModelFile: manifest, LoadingsFile: b.Bytes(),
		SumsFile: []byte(sumLine(ModelFile, manifest) + sumLine(LoadingsFile, b.Bytes())), TableFile: m.LoadingsCSV(),
	}
	if len(m.Summary.Compact) > 0 {
		files[CompactFile] = m.compactCSV()
	}
	if m.Summary.Sure() != nil {
		files[IntervalsFile] = m.intervalsCSV()
	}
	files[ResultFile], err = indented(m.Summary)
	return files, err
}

func indented(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

// sumLine is a line in the format of sha256sum.
func sumLine(name string, data []byte) string { return digest(data) + "  " + name + "\n" }

// limits bound the bytes of the files of a model, in which 10,000 items with 100 factors take 8 MB, and maxCommas the
// values of ModelFile, which are counted before they are decoded.
var limits = map[string]int64{SumsFile: 1 << 16, ModelFile: 32 << 20, LoadingsFile: 1 << 28}

const maxCommas = 1 << 20

// Load reads the model in the output folder of a fit. It refuses a file whose SHA-256 is not that in SHA256SUMS, and
// names it, and a model that no fit can have written; the error then wraps ErrModel.
func Load(dir string) (*Model, error) {
	files := map[string][]byte{}
	for _, name := range []string{SumsFile, ModelFile, LoadingsFile} {
		data, err := readBounded(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("loading the model in %q: no complete fit in this folder: %s is missing", dir, name)
		case err != nil:
			return nil, fmt.Errorf("loading the model in %q: %s: %w", dir, name, err)
		}
		files[name] = data
		if name != SumsFile && !strings.Contains(string(files[SumsFile]), sumLine(name, data)) {
			return nil, fmt.Errorf("loading the model in %q: %w: sha256 of %s does not match %s", dir,
				ErrModel, name, SumsFile)
		}
	}
	m, err := Parse(files[ModelFile], files[LoadingsFile])
	if err != nil {
		return nil, fmt.Errorf("loading the model in %q: %w: %w", dir, ErrModel, err)
	}
	m.SHA256 = digest(files[SumsFile])
	return m, nil
}

// ReadSHA256 returns the SHA-256, in hexadecimal, of SHA256SUMS of the model in a folder, and reads no other file.
func ReadSHA256(dir string) (string, error) {
	sums, err := readBounded(filepath.Join(dir, SumsFile))
	if err != nil {
		return "", fmt.Errorf("looking at the model in %q: %s: %w", dir, SumsFile, err)
	}
	return digest(sums), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if limit := limits[filepath.Base(path)]; err == nil && (!info.Mode().IsRegular() || info.Size() > limit) {
		return nil, fmt.Errorf("%w: not a regular file of at most %d bytes", ErrModel, limit)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return data, err
}

// Parse returns the model in the contents of ModelFile and LoadingsFile.
func Parse(manifest, tensors []byte) (*Model, error) {
	if bytes.Count(manifest, []byte(",")) > maxCommas {
		return nil, fmt.Errorf("%s: more than %d values", ModelFile, maxCommas)
	}
	m := &Model{}
	if err := json.Unmarshal(manifest, m); err != nil {
		return nil, err
	}
	major, _, _ := strings.Cut(m.Format, ".")
	if major != Format {
		return nil, fmt.Errorf("format %q, must be %q: fit the model again", m.Format, Format)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	all, _, err := safetensors.Read(tensors)
	if err != nil {
		return nil, err
	}
	p, c := len(m.Items), len(questionnaire.Columns(m.Confounds))
	loadings, err := matrix(all, tensorLoadings, p, m.Summary.Factors)
	var confounds *mat.Dense
	if err == nil && c > 0 {
		confounds, err = matrix(all, tensorConfounds, p, c)
	}
	if err != nil {
		return nil, err
	}
	if Standardized(m.Summary.Method) {
		if m.FA, err = parseFA(all, loadings, confounds); err == nil && m.Summary.Method == MethodGRM {
			m.FA.Graded, err = parseGraded(all, m.FA)
		}
		if err == nil {
			m.FA.Scores = m.Summary.Settings.Scores
		}
		return m, err
	}
	m.ICQF = icqf.Model{
		Loadings: loadings, ConfoundLoadings: confounds,
		L1: m.Summary.Penalties.Scores, L2: m.Summary.Penalties.ScoresRidge, Answers: m.Summary.Penalties.Answers,
	}
	if m.ICQF.Noise, err = all.Float64(tensorNoise, p); err != nil {
		return nil, fmt.Errorf("%w: fit the model again", err)
	}
	if _, ok := all[tensorWeights]; ok { // absent if all items have one range
		if m.ICQF.Weights, err = all.Float64(tensorWeights, p); err != nil {
			return nil, err
		}
	}
	k := m.Summary.Factors
	values, err := all.Float64(tensorCalibration, 2, k)
	if err != nil {
		return nil, fmt.Errorf("%w: fit the model again", err)
	}
	m.ICQF.Calibration = &icqf.Calibration{Information: values[:k], Shifts: values[k:]}
	every, _ := m.AllLoadings()
	if mat.Min(every) < 0 || floats.Min(slices.Concat(m.ICQF.Noise, m.ICQF.Weights, values[:k])) < 0 {
		return nil, errors.New("a loading, a noise, a weight or an information below 0")
	}
	return m, nil
}

// matrix returns the named tensor as an r×c matrix.
func matrix(all safetensors.Tensors, name string, r, c int) (*mat.Dense, error) {
	values, err := all.Float64(name, r, c)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(r, c, values), nil
}

// mostError is above every squared error of valid answers. A chart's axis that goes much further has no ticks.
const mostError = 1e300

// check returns an error for a model that no fit can have written.
func (m *Model) check() error {
	s := &m.Summary
	if len(m.Items) == 0 || s.Factors < 1 || s.Factors > len(m.Items) || !(s.Beta >= 0) || !(s.Settings.Ridge >= 0) ||
		len(s.Items) != len(m.Items) || len(s.FactorFits) != s.Factors {
		return fmt.Errorf("%d factors for %d items at beta %v, described as %d of %d", s.Factors, len(m.Items), s.Beta,
			len(s.FactorFits), len(s.Items))
	}
	if w := s.Penalties; !(w.Scores >= 0 && w.ScoresRidge >= 0 && w.Answers >= 0) {
		return fmt.Errorf("penalties %+v", w)
	}
	if r := s.Settings.Range; !(r.Low >= 0 && r.Low < r.High) {
		return fmt.Errorf("range %v", r)
	}
	if m.Visits != nil && (m.Visits.Check() != nil || len(m.VisitItems) == 0) {
		return errors.New("visits without bins or items")
	}
	intervals := s.Sure().check(len(m.Items), s.Factors+len(questionnaire.Columns(m.Confounds)))
	err := cmp.Or(s.Bootstrap.check(s.Factors), errors.Join(intervals, s.checkFactors(), s.Scree.check()))
	if err != nil {
		return err
	}
	for _, p := range s.BCV {
		if !(p.Error >= 0 && p.StandardError >= 0 && p.Error+p.StandardError <= mostError) {
			return fmt.Errorf("a cross-validated error of %v with a standard error of %v", p.Error, p.StandardError)
		}
	}
	if len(s.BCV) > 0 &&
		!slices.ContainsFunc(s.BCV, func(p solver.ErrorPoint) bool { return p.Factors == s.OneStandardErrorFactors }) {
		return fmt.Errorf("the curve lacks the %d factors within one standard error", s.OneStandardErrorFactors)
	}
	for _, item := range slices.Concat(m.Items, m.VisitItems) {
		if item.Name == "" || item.Range == nil || !(item.Range.Low < item.Range.High) {
			return fmt.Errorf("item %q without name or range", item.Name)
		}
	}
	for _, c := range m.Confounds {
		numeric := c.Kind == questionnaire.Numeric && c.Range != nil && c.Range.Low < c.Range.High
		if c.Name == "" || !numeric && (c.Kind != questionnaire.Categorical || len(c.Levels) < 2) {
			return fmt.Errorf("confound %q of kind %q without range or levels", c.Name, c.Kind)
		}
	}
	return nil
}

// check returns an error unless the bootstrap, if any, has as many factors as the model.
func (b *Bootstrap) check(factors int) error {
	switch {
	case b == nil:
	case len(b.Factors) != factors:
		return fmt.Errorf("a bootstrap of %d factors, must be %d", len(b.Factors), factors)
	case len(b.Scores) != factors || !(floats.Min(b.Scores) >= 0):
		return fmt.Errorf("errors %v of the scores of %d factors", b.Scores, factors)
	}
	return nil
}

func shaped(table [][]float64, rows, columns int) bool {
	return len(table) == rows && !slices.ContainsFunc(table, func(row []float64) bool { return len(row) != columns })
}

// checkFactors returns an error if the number of described factors is not that of the model.
func (s *Summary) checkFactors() error {
	var squares [][][]float64
	if s.FactorCorrelations != nil {
		squares = append(squares, s.FactorCorrelations)
	}
	if b := s.Bootstrap; b != nil && b.FactorCorrelations != nil {
		squares = append(squares, b.FactorCorrelations.all()...)
	}
	if e := s.StandardErrors; e != nil && e.FactorCorrelations != nil {
		squares = append(squares, e.FactorCorrelations.all()...)
	}
	for _, a := range squares {
		if !shaped(a, s.Factors, s.Factors) {
			return fmt.Errorf("correlations do not match the %d factors of the model", s.Factors)
		}
	}
	accounted := 0
	if Standardized(s.Method) {
		accounted = s.Factors
	}
	if n := len(s.Accounted); n != accounted {
		return fmt.Errorf("%d factors that account for variance, must be %d", n, accounted)
	}
	for e := s.ExplainedBy; e != nil; e = e.CrossValidated {
		if len(e.Factors) != s.Factors {
			return fmt.Errorf("%d factors that explain variance, must be %d", len(e.Factors), s.Factors)
		}
	}
	for _, item := range s.Compact {
		if len(item.Correlations) != s.Factors {
			return fmt.Errorf("an item of the compact set with correlations of %d factors, must be %d",
				len(item.Correlations), s.Factors)
		}
	}
	return nil
}

// Describe replaces texts and subscales of the items by those of a codebook; for a model of visits only the texts,
// because its subscales are the bins. It returns ErrOtherCodebook for a codebook without any of the items.
func (m *Model) Describe(codebook []questionnaire.Item) error {
	names, found := questionnaire.Names(codebook), false
	for j := range m.Items {
		item := &m.Items[j]
		name := item.Name
		if at := strings.LastIndexByte(name, '@'); m.Visits != nil && at >= 0 {
			name = name[:at]
		}
		at := slices.Index(names, name)
		if at < 0 {
			continue
		}
		found, item.Text = true, codebook[at].Text
		if m.Visits == nil {
			item.Subscale = codebook[at].Subscale
		}
	}
	if !found {
		return ErrOtherCodebook
	}
	return nil
}

// FA is a solution of factor analysis: plain data with the fields of factoranalysis.Scorer, which package fit uses. It
// is immutable and safe for concurrent use.
type FA struct {
	Loadings, Phi     *mat.Dense // p×k, k×k
	Uniquenesses      []float64
	Means, Deviations []float64
	ScoreCorrelations *mat.SymDense // p×p, nil for those of the solution
	// ConfoundLoadings is B, p×c, or nil: the factors are those of the answers less C·Bᵀ, on the scale of the answers.
	ConfoundLoadings *mat.Dense
	Scores           string // a factoranalysis.ScoreKind
	// Graded scores participants by MethodGRM, and is nil for MethodFA. The other fields then describe the normal
	// responses behind the answers, but for Means and Deviations, which are those of the answers.
	Graded *eap.Model
}

// The tensors of FA in addition to those of every model.
const (
	tensorPhi          = "factor_correlations"
	tensorUniquenesses = "uniquenesses"
	tensorMeans        = "item_means"
	tensorDeviations   = "item_deviations"
	tensorCorrelations = "item_correlations"
)

// tensors returns everything but Loadings and ConfoundLoadings.
func (f *FA) tensors() safetensors.Tensors {
	all := safetensors.Tensors{
		tensorPhi: safetensors.Of(f.Phi), tensorUniquenesses: safetensors.OfList(f.Uniquenesses),
		tensorMeans: safetensors.OfList(f.Means), tensorDeviations: safetensors.OfList(f.Deviations),
	}
	if f.ScoreCorrelations != nil {
		all[tensorCorrelations] = safetensors.Of(mat.DenseCopyOf(f.ScoreCorrelations))
	}
	if f.Graded != nil {
		maps.Copy(all, gradedTensors(f.Graded))
	}
	return all
}

// parseFA returns the FA with these loadings in the tensors of a model of p items and k factors.
func parseFA(all safetensors.Tensors, loadings, confounds *mat.Dense) (*FA, error) {
	p, k := loadings.Dims()
	f := &FA{Loadings: loadings, ConfoundLoadings: confounds}
	var err error
	if f.Phi, err = matrix(all, tensorPhi, k, k); err != nil {
		return nil, err
	}
	for name, to := range map[string]*[]float64{
		tensorUniquenesses: &f.Uniquenesses, tensorMeans: &f.Means, tensorDeviations: &f.Deviations,
	} {
		if *to, err = all.Float64(name, p); err != nil {
			return nil, err
		}
	}
	if !(floats.Min(f.Uniquenesses) > 0 && floats.Min(f.Deviations) > 0) {
		return nil, errors.New("a uniqueness or a deviation that is not above 0")
	}
	if _, ok := all[tensorCorrelations]; ok {
		r, err := matrix(all, tensorCorrelations, p, p)
		if err != nil {
			return nil, err
		}
		f.ScoreCorrelations = mat.NewSymDense(p, r.RawMatrix().Data)
	}
	return f, nil
}
