package reproduce

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table/matrixio"
)

// ErrExpressions is wrapped by the errors of files that hold no expressions or no phenotypes.
var ErrExpressions = errors.New("malformed table")

// Expressions are those of genes in samples of known classes.
type Expressions struct {
	Genes []string
	X     *mat.Dense // samples × genes
	// Outcomes are the two classes of PhenotypeColumns.Label and, where there are subtypes, those within them.
	Outcomes []Outcome
}

// Outcome is what is to be predicted.
type Outcome struct {
	Name    string   `json:"name"`
	Classes []string `json:"classes"` // the reference first
	Counts  []int    `json:"counts"`  // samples of each class
	labels  []int
}

// PhenotypeColumns says where the phenotypes hold what. Their first column names the samples.
type PhenotypeColumns struct {
	Label    string `json:"label"`    // of two values
	Positive string `json:"positive"` // that whose log-odds are modelled
	// Subtype may be empty in a sample. "" means DefaultSubtype where there is such a column.
	Subtype string `json:"subtype,omitempty"`
}

// DefaultSubtype is the column of subtypes of the leukaemia samples of Golub et al. 1999.
const DefaultSubtype = "Cell"

// leastOfClass is the least number of samples of a class: two of them are then in each half.
const leastOfClass = 4

// ReadExpressions reads a table of genes × samples and one of the samples' phenotypes, both CSV with a header, gzipped where
// the name ends in .gz. The first column names genes and samples. The files must hold the same samples, in any order.
//
// Errors are *matrixio.Error and name file, line and column; those of the content wrap ErrExpressions. None names a sample.
func ReadExpressions(expressions, phenotypes string, columns PhenotypeColumns) (*Expressions, error) {
	e, samples := &Expressions{}, map[string]int{}
	var rows []float64 // genes × samples
	genes := map[string]bool{}
	err := readTable(expressions, func(line int, fields []string) error {
		if line == 1 {
			for i, name := range fields[1:] {
				if _, twice := samples[name]; twice || name == "" {
					return malformed(line, i+2, "a sample without a name, or for the second time")
				}
				samples[name] = i
			}
			return nil
		}
		if genes[fields[0]] || fields[0] == "" {
			return malformed(line, 1, "a gene without a name, or for the second time")
		}
		gene := strings.Clone(fields[0]) // without its line
		genes[gene] = true
		e.Genes = append(e.Genes, gene)
		for i, field := range fields[1:] {
			v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return malformed(line, i+2, "not a finite number")
			}
			rows = append(rows, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, &matrixio.Error{Path: expressions, Err: fmt.Errorf("%w: no gene, or no sample", ErrExpressions)}
	}
	e.X = mat.DenseCopyOf(mat.NewDense(len(e.Genes), len(samples), rows).T())
	e.Outcomes, err = readPhenotypes(phenotypes, columns, samples)
	return e, err
}

// readPhenotypes returns the outcomes of samples in the order of their numbers.
func readPhenotypes(path string, columns PhenotypeColumns, samples map[string]int) ([]Outcome, error) {
	label, subtype := -1, -1
	values, subtypes := make([]string, len(samples)), make([]string, len(samples))
	err := readTable(path, func(line int, fields []string) error {
		if line == 1 {
			label, subtype = slices.Index(fields, columns.Label), slices.Index(fields, cmp.Or(columns.Subtype, DefaultSubtype))
			if label < 0 {
				return malformed(line, 0, "no column %q", columns.Label)
			}
			if subtype < 0 && columns.Subtype != "" {
				return malformed(line, 0, "no column %q", columns.Subtype)
			}
			return nil
		}
		i, known := samples[fields[0]]
		switch {
		case !known:
			return malformed(line, 1, "a sample without expressions")
		case values[i] != "":
			return malformed(line, 1, "a sample for the second time")
		case fields[label] == "":
			return malformed(line, label+1, "no label")
		}
		values[i], subtypes[i] = fields[label], fields[label]
		if subtype >= 0 {
			subtypes[i] = strings.TrimSpace(fields[label] + " " + fields[subtype])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	whole := func(format string, args ...any) error {
		return &matrixio.Error{Path: path, Err: fmt.Errorf("%w: %s", ErrExpressions, fmt.Sprintf(format, args...))}
	}
	if i := slices.Index(values, ""); i >= 0 {
		return nil, whole("no row for the sample in column %d of the expressions", i+2)
	}
	outcomes := []Outcome{newOutcome(columns.Label, values)}
	if classes := outcomes[0].Classes; len(classes) != 2 || !slices.Contains(classes, columns.Positive) {
		return nil, whole("column %q has %d values; want two, one of them %q", columns.Label, len(classes), columns.Positive)
	}
	if outcomes[0].Classes[0] == columns.Positive {
		outcomes[0].turn()
	}
	if detail := newOutcome("subtypes", subtypes); len(detail.Classes) > 2 {
		outcomes = append(outcomes, detail)
	}
	for _, o := range outcomes {
		for c, n := range o.Counts {
			if n < leastOfClass {
				return nil, whole("%d samples of %q, want %d at least", n, o.Classes[c], leastOfClass)
			}
		}
	}
	return outcomes, nil
}

// newOutcome returns the outcome of these values, classes in their order.
func newOutcome(name string, values []string) Outcome {
	number := map[string]int{}
	for _, v := range values {
		number[v]++
	}
	o := Outcome{Name: name, Classes: slices.Sorted(maps.Keys(number))}
	for c, v := range o.Classes {
		o.Counts = append(o.Counts, number[v])
		number[v] = c
	}
	for _, v := range values {
		o.labels = append(o.labels, number[v])
	}
	return o
}

// turn changes the reference of two classes.
func (o *Outcome) turn() {
	slices.Reverse(o.Classes)
	slices.Reverse(o.Counts)
	for i, y := range o.labels {
		o.labels[i] = 1 - y
	}
}

// fingerprint returns the SHA-256 of all that results depend on.
func (e *Expressions) fingerprint() string {
	h := sha256.New() // which accepts every write
	_, _ = fmt.Fprintf(h, "%q\n%v\n", e.Genes, e.X.RawMatrix().Data)
	for _, o := range e.Outcomes {
		_, _ = fmt.Fprintf(h, "%q %q %v\n", o.Name, o.Classes, o.labels)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// readTable calls row for each line of a CSV file, the header first. Its fields are those of the call alone.
func readTable(path string, row func(line int, fields []string) error) (err error) {
	defer func() {
		if at, ok := errors.AsType[*matrixio.Error](err); ok {
			at.Path = path
		} else if err != nil {
			err = &matrixio.Error{Path: path, Err: err}
		}
	}()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	in := bufio.NewReader(file)
	if strings.HasSuffix(strings.ToLower(path), ".gz") {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = bufio.NewReader(unzipped)
	}
	const byteOrderMark = "\xef\xbb\xbf"
	if start, _ := in.Peek(len(byteOrderMark)); bytes.Equal(start, []byte(byteOrderMark)) {
		if _, err := in.Discard(len(byteOrderMark)); err != nil {
			return err
		}
	}
	records := csv.NewReader(in)
	records.FieldsPerRecord, records.ReuseRecord = -1, true
	for width := 0; ; {
		fields, err := records.Read()
		switch at, ok := errors.AsType[*csv.ParseError](err); {
		case errors.Is(err, io.EOF) && width > 0:
			return nil
		case errors.Is(err, io.EOF):
			return malformed(0, 0, "no header")
		case ok:
			return malformed(at.Line, 0, "%v", at.Err)
		case err != nil:
			return err
		}
		line, _ := records.FieldPos(0)
		if width == 0 {
			width, line = len(fields), 1
		} else if len(fields) != width {
			return malformed(line, 0, "%d fields, want %d", len(fields), width)
		}
		if err := row(line, fields); err != nil {
			return err
		}
	}
}

// malformed returns an error at a place, the file of which is not known yet.
func malformed(line, column int, format string, args ...any) error {
	return &matrixio.Error{Line: line, Column: column, Err: fmt.Errorf("%w: %s", ErrExpressions, fmt.Sprintf(format, args...))}
}
