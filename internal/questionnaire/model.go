package questionnaire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/safetensors"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/rank"
)

// Format is the version of model.json. A later minor version, "1.N", is read and its unknown fields are dropped.
const Format = "1"

// ErrModel is wrapped by every error about a stored model that is damaged or not what it should be.
var ErrModel = errors.New("malformed model of a questionnaire")

// Model scores participants, and holds what a report tells. The loadings are float64 tensors beside it: "loadings" [p,k]
// and "confound_loadings" [p,c].
type Model struct {
	Format    string     `json:"format"`
	Items     []Item     `json:"items"`
	Confounds []Confound `json:"confounds"`
	ID        string     `json:"id,omitempty"`            // column of the ids, "" for DefaultID if it is there
	Numbered  bool       `json:"numbered,omitempty"`      // there was no such column: participants were numbered
	Missing   []string   `json:"missing_codes,omitempty"` // besides those of every table
	FromLow   bool       `json:"from_low,omitempty"`      // answers count from the low end of their range
	// Visits tells that the items are those of VisitItems at several times.
	Visits     *Visits   `json:"visits,omitempty"`
	VisitItems []Item    `json:"visit_items,omitempty"`
	Summary    Summary   `json:"summary"`
	CreatedAt  time.Time `json:"created_at"`

	factors icqf.Model
	sha256  string // of SumsFile, where the model was loaded
}

// save writes the model into a folder. The sums come last: a model that was written in part is refused.
func (m *Model) save(dir string) error {
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %q: %w", ModelFile, err)
	}
	tensors := []safetensors.Tensor{tensor("loadings", m.factors.Loadings)}
	if m.factors.ConfoundLoadings != nil {
		tensors = append(tensors, tensor("confound_loadings", m.factors.ConfoundLoadings))
	}
	var b bytes.Buffer
	if err := safetensors.Write(&b, tensors, map[string]string{"format": Format}); err != nil {
		return fmt.Errorf("writing %q: %w", LoadingsFile, err)
	}
	manifest = append(manifest, '\n')
	sums := sumLine(ModelFile, manifest) + sumLine(LoadingsFile, b.Bytes())
	for _, f := range []struct {
		name string
		data []byte
	}{{LoadingsFile, b.Bytes()}, {ModelFile, manifest}, {SumsFile, []byte(sums)}} {
		if err := replace(filepath.Join(dir, f.name), f.data); err != nil {
			return err
		}
	}
	return nil
}

// sumLine is a line as sha256sum writes it.
func sumLine(name string, data []byte) string { return digest(data) + "  " + name + "\n" }

func tensor(name string, m *mat.Dense) safetensors.Tensor {
	r, c := m.Dims()
	return safetensors.Tensor{Name: name, Shape: []int{r, c}, Data: mat.DenseCopyOf(m).RawMatrix().Data}
}

// modelLimit bounds each file of a model: 10,000 items of 100 factors take 8 MB.
const modelLimit = 1 << 28

// Load reads the model in the output folder of a fit. It refuses files whose SHA-256 is not that in SHA256SUMS, by name,
// and whatever no fit can have written; the error then wraps ErrModel.
func Load(dir string) (*Model, error) {
	files := map[string][]byte{}
	sums := ""
	for _, name := range []string{SumsFile, ModelFile, LoadingsFile} {
		data, err := readBounded(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: no fit was written there to its end", err)
		}
		if err != nil {
			return nil, fmt.Errorf("loading the model in %q: %s: %w", dir, name, err)
		}
		files[name] = data
		if name == SumsFile {
			sums = string(data)
			continue
		}
		if !strings.Contains(sums, sumLine(name, data)) {
			return nil, fmt.Errorf("loading the model in %q: %w: sha256 of %s does not match %s", dir, ErrModel, name, SumsFile)
		}
	}
	m, err := parseModel(files[ModelFile], files[LoadingsFile])
	if err != nil {
		return nil, fmt.Errorf("loading the model in %q: %w: %w", dir, ErrModel, err)
	}
	m.sha256 = digest(files[SumsFile])
	return m, nil
}

// ReadSHA256 returns the SHA-256, in hexadecimal, of the file SHA256SUMS of the model in a folder, and reads nothing else of it.
func ReadSHA256(dir string) (string, error) {
	sums, err := readBounded(filepath.Join(dir, SumsFile))
	if err != nil {
		return "", fmt.Errorf("looking at the model in %q: %s: %w", dir, SumsFile, err)
	}
	return digest(sums), nil
}

// digest returns the SHA-256 of data in hexadecimal.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > modelLimit) {
		return nil, fmt.Errorf("%w: no regular file of at most %d bytes", ErrModel, modelLimit)
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

// parseModel returns the model that the two files hold.
func parseModel(manifest, tensors []byte) (*Model, error) {
	m := &Model{}
	if err := json.Unmarshal(manifest, m); err != nil {
		return nil, err
	}
	if major, _, _ := strings.Cut(m.Format, "."); major != Format {
		return nil, fmt.Errorf("format %q, want %q", m.Format, Format)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	list, _, err := safetensors.Read(tensors)
	if err != nil {
		return nil, err
	}
	named := models.Tensors{}
	for _, t := range list {
		named[t.Name] = models.Tensor{Shape: t.Shape, Data: t.Data}
	}
	p, k, c := len(m.Items), m.Summary.Factors, len(confoundColumns(m.Confounds))
	loadings, err := named.Float64("loadings", p, k)
	if err != nil {
		return nil, err
	}
	m.factors = icqf.Model{Loadings: mat.NewDense(p, k, loadings), L1: m.Summary.Beta, L2: m.Summary.Settings.Ridge}
	if c > 0 {
		confounds, err := named.Float64("confound_loadings", p, c)
		if err != nil {
			return nil, err
		}
		m.factors.ConfoundLoadings = mat.NewDense(p, c, confounds)
	}
	if all, _ := m.allLoadings(); mat.Min(all) < 0 {
		return nil, errors.New("a loading below 0")
	}
	return m, nil
}

// mostError is above every squared error of answers up to mostScale. An axis that goes much further has no ticks.
const mostError = 1e300

// check returns an error for what no fit can have written.
func (m *Model) check() error {
	s := &m.Summary
	if len(m.Items) == 0 || s.Factors < 1 || s.Factors > len(m.Items) || !(s.Beta >= 0) || !(s.Settings.Ridge >= 0) || len(s.Items) != len(m.Items) || len(s.FactorFits) != s.Factors {
		return fmt.Errorf("%d factors of %d items at beta %v, described as %d of %d", s.Factors, len(m.Items), s.Beta, len(s.FactorFits), len(s.Items))
	}
	if r := s.Settings.Range; !(r.Low >= 0 && r.Low < r.High) {
		return fmt.Errorf("range %v to %v", r.Low, r.High)
	}
	if m.Visits != nil && (m.Visits.check() != nil || len(m.VisitItems) == 0) {
		return errors.New("visits without bins or items")
	}
	for _, p := range s.BCV {
		if !(p.Error >= 0 && p.StandardError >= 0 && p.Error+p.StandardError <= mostError) {
			return fmt.Errorf("a cross-validated error of %v with a standard error of %v", p.Error, p.StandardError)
		}
	}
	if len(s.BCV) > 0 && !slices.ContainsFunc(s.BCV, func(p rank.Point) bool { return p.Factors == s.OneStandardErrorFactors }) {
		return fmt.Errorf("%d factors within one standard error are none of the curve", s.OneStandardErrorFactors)
	}
	for _, item := range slices.Concat(m.Items, m.VisitItems) {
		if item.Name == "" || item.Range == nil || !(item.Range.Low < item.Range.High) {
			return fmt.Errorf("item %q without name or range", item.Name)
		}
	}
	for _, c := range m.Confounds {
		numeric := c.Kind == models.Numeric && c.Range != nil && c.Range.Low < c.Range.High
		if c.Name == "" || !numeric && (c.Kind != models.Categorical || len(c.Levels) < 2) {
			return fmt.Errorf("confound %q of kind %q without range or levels", c.Name, c.Kind)
		}
	}
	return nil
}
