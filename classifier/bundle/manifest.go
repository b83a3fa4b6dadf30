package bundle

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Format is the version of the manifest that Save writes. Of a later minor version, "1.N", unknown fields are dropped.
const Format = "1"

// ErrManifest is wrapped by every error about the contents of a manifest.
var ErrManifest = errors.New("malformed manifest")

// Penalties of words, the value of penalties in Manifest.Head.
const (
	Plain   = "plain" // of the lasso
	ByRatio = "ratio" // by how often a word goes with an outcome; more for what is no finding, and a bound on denials
)

// Penalties returns the kind of penalties that the coefficients were fitted with, "" if that is not on record.
func (m *Manifest) Penalties() string {
	var head struct {
		Penalties string `json:"penalties"`
	}
	if json.Unmarshal(m.Head, &head) != nil {
		return ""
	}
	return head.Penalties
}

// Manifest says what a model is and where it comes from.
type Manifest struct {
	Format           string          `json:"format"` // set by Save
	Name             string          `json:"name"`   // of the model, as Slug returns it
	Complaint        string          `json:"complaint"`
	Method           string          `json:"method"` // of the topics: "sonmf", "svd", …
	Rank             int             `json:"rank"`   // number of topics
	Weighting        string          `json:"weighting"`
	Text             json.RawMessage `json:"text,omitempty"`    // settings of textproc
	VocabularySHA256 string          `json:"vocabulary_sha256"` // of vocabulary.json, set by Save
	Solver           json.RawMessage `json:"solver,omitempty"`  // settings of the solver
	Seed             uint64          `json:"seed"`
	Training         Training        `json:"training"`
	Recalibrated     *Training       `json:"recalibrated,omitempty"` // notes of the latest recalibration, if any
	Head             json.RawMessage `json:"head,omitempty"`         // settings of the logistic head
	Calibration      Calibration     `json:"calibration"`
	Threshold        float64         `json:"threshold"`           // on the calibrated probability, in [0,1]
	ThresholdRule    string          `json:"threshold_criterion"` // how the threshold was chosen
	Aux              []AuxColumn     `json:"aux,omitempty"`
	// of the outcome, the reference first; empty for a yes/no model
	Classes          []string        `json:"classes,omitempty"`
	AdmissionClasses []string        `json:"admission_classes,omitempty"` // the classes that mean a bed
	Metrics          json.RawMessage `json:"metrics,omitempty"`           // with confidence intervals
	Parent           string          `json:"parent,omitempty"`            // version that this one was held against
	CreatedAt        time.Time       `json:"created_at"`
	Wardcast         string          `json:"wardcast_version"`
	Files            map[string]File `json:"files"` // set by Save
}

// Training describes the notes that a model, or its recalibration, was trained on.
type Training struct {
	From      time.Time `json:"from,omitzero"` // earliest arrival, zero if unknown
	To        time.Time `json:"to,omitzero"`   // latest arrival
	Documents int       `json:"documents"`
	Positives int       `json:"positives"`
}

// CalibrationKind says how the logit z becomes the probability.
type CalibrationKind string

// The kinds: 1/(1+e^-z); 1/(1+e^-(Intercept+Slope·z)); piecewise linear. For several classes, the softmax of 0 for the
// reference and of z, or Offsets+Slope·z, for the others; isotonic maps exist only for yes/no models.
const (
	Uncalibrated CalibrationKind = "none"
	Platt        CalibrationKind = "platt"
	Isotonic     CalibrationKind = "isotonic"
)

// Calibration is the map from logit to probability.
type Calibration struct {
	Kind      CalibrationKind `json:"kind"`
	Intercept float64         `json:"intercept,omitempty"` // of Platt for yes and no
	// of Platt for several classes, one for each but the reference
	Offsets       []float64 `json:"offsets,omitempty"`
	Slope         float64   `json:"slope,omitempty"`         // of Platt
	Logits        []float64 `json:"logits,omitempty"`        // of the isotonic map's points, ascending
	Probabilities []float64 `json:"probabilities,omitempty"` // of the isotonic map's points
}

// AuxKind is the type of an auxiliary column.
type AuxKind string

// The kinds of auxiliary columns.
const (
	Numeric     AuxKind = "numeric"
	Categorical AuxKind = "categorical"
)

// ComplaintColumn is the auxiliary column, always added, by which a model of all complaints knows that of a note.
const ComplaintColumn = "complaint"

// AgeColumn and SexColumn are the auxiliary columns that the text fills where the field is missing.
const (
	AgeColumn = "age"
	SexColumn = "sex"
)

// AuxColumn says how an auxiliary value becomes features: a number a spline, a category one indicator per level. That
// a value is missing is the level "" of a category, and the last feature of a number with Missing.
type AuxColumn struct {
	Name   string    `json:"name"` // field of the note: "age", "sex", "vitals.sbp", …
	Kind   AuxKind   `json:"kind"`
	Levels []string  `json:"levels,omitempty"` // of a categorical column, ascending
	Knots  []float64 `json:"knots,omitempty"`  // of a numeric column's spline, ascending; none for a straight line
	Range  []float64 `json:"range,omitempty"`  // least and greatest value, at which others are capped; nil for none
	// Missing says that the last feature of a numeric column is 1 for a missing value, and 0 for others.
	Missing bool      `json:"missing,omitempty"`
	Mean    []float64 `json:"mean"` // of each feature in training
}

// File describes a file next to the manifest.
type File struct {
	SHA256 string `json:"sha256"` // hexadecimal, lower case
	Size   int64  `json:"size"`   // bytes
}

// The files of a version.
const (
	ManifestFile   = "manifest.json"
	VocabularyFile = "vocabulary.json"
	TensorsFile    = "tensors.safetensors"
	EvaluationFile = "evaluation.json"
	CardFile       = "card.md"
	ReportFile     = "report.json"
	PageFile       = "report.html"
)

// limits are the largest sizes of files in bytes. 100,000 terms take about 10 MiB, 300 topics over them 240 MiB.
var limits = map[string]int64{
	VocabularyFile: 64 << 20,
	TensorsFile:    256 << 20,
	EvaluationFile: 64 << 20,
	CardFile:       16 << 20,
	ReportFile:     64 << 20,
	PageFile:       64 << 20,
}

const manifestLimit = 16 << 20

// Bounds of a vocabulary: its terms, and the commas between all their values.
const (
	maxTerms  = 1_000_000
	maxCommas = 8 * maxTerms
)

// MaxValues bounds the commas of any other JSON file of a store: an object without fields may take 200 bytes.
const MaxValues = 1 << 19

// CheckValues returns an error for JSON of more values than MaxValues, before they are decoded.
func CheckValues(data []byte) error {
	if bytes.Count(data, []byte(",")) > MaxValues {
		return fmt.Errorf("%w: more than %d values", ErrManifest, MaxValues)
	}
	return nil
}

// Limit returns the largest size in bytes of a file of a version, 0 if versions have none of that name.
func Limit(file string) int64 {
	if file == ManifestFile {
		return manifestLimit
	}
	return limits[file]
}

// ParseManifest reads and checks a manifest. The error wraps ErrManifest.
func ParseManifest(data []byte) (*Manifest, error) {
	if err := CheckFormat(data); err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(m.Files))
	for name := range limits {
		if _, ok := m.Files[name]; !ok {
			return nil, fmt.Errorf("%w: %s is not among its files %q", ErrManifest, name, names[:min(len(names), 20)])
		}
	}
	for _, name := range names {
		f := m.Files[name]
		if _, known := limits[name]; !known {
			return nil, fmt.Errorf("%w: unknown file %q", ErrManifest, name)
		}
		if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != 32 ||
			strings.ToLower(f.SHA256) != f.SHA256 {
			return nil, fmt.Errorf("%w: sha256 of %s", ErrManifest, name)
		}
		if f.Size < 0 || f.Size > limits[name] {
			return nil, fmt.Errorf("%w: size %d of %s exceeds %d", ErrManifest, f.Size, name, limits[name])
		}
	}
	if m.VocabularySHA256 != m.Files[VocabularyFile].SHA256 {
		return nil, fmt.Errorf("%w: vocabulary_sha256 is not that of %s", ErrManifest, VocabularyFile)
	}
	return m, nil
}

// CheckFormat returns an error that wraps ErrManifest unless this version of the program can read the file, and it is
// of bounded size once decoded.
func CheckFormat(data []byte) error {
	var head struct {
		Format string `json:"format"`
	}
	if err := CheckValues(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if major, _, _ := strings.Cut(head.Format, "."); major != Format {
		return fmt.Errorf("%w: format %q, must be %q: made by a newer wardcast: upgrade, or roll back", ErrManifest,
			head.Format, Format)
	}
	return nil
}

func (m *Manifest) check() error {
	problem := ""
	switch {
	case !ValidModel(m.Name):
		problem = fmt.Sprintf("name %q", m.Name)
	case m.CreatedAt.Year() < 1 || m.CreatedAt.Year() > 9999 || m.CreatedAt.IsZero():
		problem = "created_at is missing"
	case m.Rank < 0:
		problem = "rank is negative"
	case !(m.Threshold >= 0 && m.Threshold <= 1):
		problem = "threshold is outside [0,1]"
	case m.Training.Documents < 0 || m.Training.Positives < 0 || m.Training.Positives > m.Training.Documents:
		problem = "row counts do not fit"
	case !slices.Contains([]CalibrationKind{Uncalibrated, Platt, Isotonic}, m.Calibration.Kind):
		problem = fmt.Sprintf("calibration %q", m.Calibration.Kind)
	}
	for _, a := range m.Aux {
		if a.Name == "" || a.Kind != Numeric && a.Kind != Categorical {
			problem = fmt.Sprintf("aux column %q of kind %q", a.Name, a.Kind)
		}
	}
	if m.Classes != nil || m.AdmissionClasses != nil {
		if err := CheckAdmission(m.Classes, m.AdmissionClasses); err != nil {
			problem = err.Error()
		}
	}
	if problem != "" {
		return fmt.Errorf("%w: %s", ErrManifest, problem)
	}
	return nil
}

const maxClasses = 1000 // bounds the classes of a model: the rounded probabilities of so many sum to 1 within 1e-9

// ErrClassName is wrapped by the errors of CheckClass.
var ErrClassName = errors.New("a name of a class")

const longestClass = 256 // the largest length in bytes of the name of a class, which every prediction carries

// CheckClass returns an error that wraps ErrClassName, without the name, unless it is a line of 1 to 256 bytes of
// UTF-8.
func CheckClass(name string) error {
	switch {
	case name == "" || len(name) > longestClass:
		return fmt.Errorf("%w of %d bytes, must be 1 to %d", ErrClassName, len(name), longestClass)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w that is not UTF-8", ErrClassName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%w with a control character", ErrClassName)
	}
	return nil
}

// CheckClasses returns an error unless these are the names of several classes, no two the same.
func CheckClasses(names []string) error {
	if n := len(names); n < 2 || n > maxClasses {
		return fmt.Errorf("%d classes, must be 2 to %d", n, maxClasses)
	}
	for i, name := range names {
		if err := CheckClass(name); err != nil {
			return fmt.Errorf("class %d: %w", i+1, err)
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("class %d, %q, has the name of another", i+1, name)
		}
	}
	return nil
}

// CheckAdmission returns the error of CheckClasses, or one unless the classes of admission are some of these, not all.
func CheckAdmission(classes, admission []string) error {
	if err := CheckClasses(classes); err != nil {
		return err
	}
	if n := len(admission); n == 0 || n >= len(classes) {
		return fmt.Errorf("%d of %d classes mean admission, must be at least one and not all", n, len(classes))
	}
	for i, c := range admission {
		if !slices.Contains(classes, c) || slices.Contains(admission[:i], c) {
			return fmt.Errorf("admission class %q appears twice or is not one of the classes %q", c, classes)
		}
	}
	return nil
}
