package smf

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/internal/table/matrixio"
)

// ErrExpressions is wrapped by errors of files that do not hold expressions or phenotypes.
var ErrExpressions = errors.New("malformed table")

// Expressions are the measured activity of genes in samples of known classes.
type Expressions struct {
	Genes []string
	X     *mat.Dense // samples × genes
	// Outcomes are the two classes of PhenotypeColumns.Label and, if there are subtypes, these within the classes.
	Outcomes []Outcome
}

// Outcome is a label to predict.
type Outcome struct {
	Name    string   `json:"name"`
	Classes []string `json:"classes"` // the reference first
	Counts  []int    `json:"counts"`  // samples of each class
	labels  []int
}

// PhenotypeColumns names columns of the phenotypes, whose first column names the samples.
type PhenotypeColumns struct {
	Label    string `json:"label" name:"label-column" help:"Column of the two classes." default:"ALL.AML"`
	Positive string `json:"positive" name:"positive-label" help:"Class whose log-odds are modelled." default:"AML"`
	// Subtype may be empty in a sample. "" means DefaultSubtype if there is such a column.
	Subtype string `json:"subtype,omitempty" name:"subtype-column" help:"Column of subtypes within the classes, which are compared too (default: Cell, if there)." placeholder:"NAME"`
}

// DefaultSubtype is the column of subtypes of the leukaemia samples of Golub et al. 1999.
const DefaultSubtype = "Cell"

const byteOrderMark = "\xef\xbb\xbf"

// leastOfClass is the least number of samples of a class, so that two of them are in each half.
const leastOfClass = 4

// ReadExpressions reads a table of genes × samples and one of the samples' phenotypes. Both are CSV with a header, gzipped if
// the name ends in .gz. The first column names genes and samples. The files must hold the same samples, in any order.
//
// Errors are *matrixio.Error and name file, line and column; those of the content wrap ErrExpressions. They never name a
// sample.
func ReadExpressions(expressions, phenotypes string, columns PhenotypeColumns) (*Expressions, error) {
	e, samples := &Expressions{}, map[string]int{}
	var rows []float64 // genes × samples
	genes := map[string]bool{}
	err := readTable(expressions, func(line int, fields []string) error {
		if line == 1 {
			for i, name := range fields[1:] {
				if _, twice := samples[name]; twice || name == "" {
					return malformed(line, i+2, "a sample without a name, or listed twice")
				}
				samples[name] = i
			}
			return nil
		}
		if genes[fields[0]] || fields[0] == "" {
			return malformed(line, 1, "a gene without a name, or listed twice")
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

// readPhenotypes returns the outcomes of the samples, which are numbered from 0.
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
			return malformed(line, 1, "a sample that is listed twice")
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
	outcomes := []Outcome{newOutcome(columns.Label, values, columns.Positive)}
	if classes := outcomes[0].Classes; len(classes) != 2 || classes[1] != columns.Positive {
		return nil, whole("column %q has %d values; want two, one of them %q", columns.Label, len(classes), columns.Positive)
	}
	if detail := newOutcome("subtypes", subtypes, ""); len(detail.Classes) > 2 {
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

// newOutcome returns the outcome with these values. Its classes are sorted, but for one that comes last.
func newOutcome(name string, values []string, last string) Outcome {
	counts := map[string]int{}
	for _, v := range values {
		counts[v]++
	}
	o := Outcome{Name: name, Classes: slices.Sorted(maps.Keys(counts))}
	if at := slices.Index(o.Classes, last); at >= 0 {
		o.Classes = append(slices.Delete(o.Classes, at, at+1), last)
	}
	for _, class := range o.Classes {
		o.Counts = append(o.Counts, counts[class])
	}
	for _, v := range values {
		o.labels = append(o.labels, slices.Index(o.Classes, v))
	}
	return o
}

// fingerprint returns the SHA-256 of all that results depend on.
func (e *Expressions) fingerprint() string {
	return report.Fingerprint(func(add func(string, ...any)) {
		add("%q\n%v\n", e.Genes, e.X.RawMatrix().Data)
		for _, o := range e.Outcomes {
			add("%q %q %v\n", o.Name, o.Classes, o.labels)
		}
	})
}

// readTable calls row for each line of a CSV file, the header first as line 1. The fields are only valid in the call.
func readTable(path string, row func(line int, fields []string) error) error {
	err := withContent(path, func(in io.Reader) error {
		content := bufio.NewReader(in)
		if start, _ := content.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
			_, _ = content.Discard(len(byteOrderMark)) // which Peek has read
		}
		records := csv.NewReader(content)
		records.ReuseRecord = true
		for line := 0; ; {
			fields, err := records.Read()
			switch at, ok := errors.AsType[*csv.ParseError](err); {
			case ok:
				return malformed(at.Line, 0, "%v", at.Err)
			case errors.Is(err, io.EOF) && line == 0:
				return malformed(0, 0, "no header")
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			if line++; line > 1 {
				line, _ = records.FieldPos(0)
			}
			if err := row(line, fields); err != nil {
				return err
			}
		}
	})
	if at, ok := errors.AsType[*matrixio.Error](err); ok {
		at.Path = path
	} else if err != nil {
		err = &matrixio.Error{Path: path, Err: err}
	}
	return err
}

// malformed returns an error at a place, to which readTable adds the file.
func malformed(line, column int, format string, args ...any) error {
	return &matrixio.Error{Line: line, Column: column, Err: fmt.Errorf("%w: %s", ErrExpressions, fmt.Sprintf(format, args...))}
}
