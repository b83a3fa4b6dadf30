package smf

import (
	"cmp"
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
	"github.com/wardcast/wardcast/internal/table"
)

// Expressions are gene expressions in samples of known classes.
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

// leastOfClass is the least number of samples of a class, so that two of them are in each half.
const leastOfClass = 4

// ReadExpressions reads a table of genes × samples and one of the samples' phenotypes, in any format of package table.
// The first column names genes and samples. The files must contain the same samples, in any order.
//
// Errors are *table.Error. They never name a sample.
func ReadExpressions(expressions, phenotypes string, columns PhenotypeColumns) (*Expressions, error) {
	e, samples, genes := &Expressions{}, map[string]int{}, map[string]bool{}
	var values []float64 // genes × samples
	err := eachLine(expressions, func(fields []string, first bool) (column int, err error) {
		gene := fields[0]
		if !first && (genes[gene] || gene == "") {
			return 1, errors.New("a gene without a name, or listed twice")
		}
		for i, field := range fields[1:] {
			if first {
				if _, twice := samples[field]; twice || field == "" {
					return i + 2, errors.New("a sample without a name, or listed twice")
				}
				samples[field] = i
				continue
			}
			v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return i + 2, errors.New("not a finite number")
			}
			values = append(values, v)
		}
		if !first {
			genes[gene], e.Genes = true, append(e.Genes, gene)
		}
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, &table.Error{File: expressions, Err: errors.New("no gene, or no sample")}
	}
	e.X = mat.DenseCopyOf(mat.NewDense(len(e.Genes), len(samples), values).T())
	e.Outcomes, err = readPhenotypes(phenotypes, columns, samples)
	return e, err
}

// readPhenotypes returns the outcomes of the samples, which are numbered from 0.
func readPhenotypes(path string, columns PhenotypeColumns, samples map[string]int) ([]Outcome, error) {
	label, subtype := -1, -1
	values, subtypes := make([]string, len(samples)), make([]string, len(samples))
	err := eachLine(path, func(fields []string, first bool) (column int, err error) {
		if first {
			label, subtype = slices.Index(fields, columns.Label),
				slices.Index(fields, cmp.Or(columns.Subtype, DefaultSubtype))
			if label < 0 {
				return 0, fmt.Errorf("no column %q", columns.Label)
			}
			if subtype < 0 && columns.Subtype != "" {
				return 0, fmt.Errorf("no column %q", columns.Subtype)
			}
			return 0, nil
		}
		i, known := samples[fields[0]]
		switch {
		case !known:
			return 1, errors.New("a sample without expressions")
		case values[i] != "":
			return 1, errors.New("a sample that is listed twice")
		case fields[label] == "":
			return label + 1, errors.New("no label")
		}
		values[i], subtypes[i] = fields[label], fields[label]
		if subtype >= 0 {
			subtypes[i] = strings.TrimSpace(fields[label] + " " + fields[subtype])
		}
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	whole := func(format string, args ...any) error {
		return &table.Error{File: path, Err: fmt.Errorf(format, args...)}
	}
	if i := slices.Index(values, ""); i >= 0 {
		return nil, whole("no row for the sample in column %d of the expressions", i+2)
	}
	outcomes := []Outcome{newOutcome(columns.Label, values, columns.Positive)}
	if classes := outcomes[0].Classes; len(classes) != 2 || classes[1] != columns.Positive {
		return nil, whole("column %q has %d values; want two, one of them %q", columns.Label, len(classes),
			columns.Positive)
	}
	if detail := newOutcome("subtypes", subtypes, ""); len(detail.Classes) > 2 {
		outcomes = append(outcomes, detail)
	}
	for _, o := range outcomes {
		if c := slices.IndexFunc(o.Counts, func(n int) bool { return n < leastOfClass }); c >= 0 {
			return nil, whole("%d samples of %q, want at least %d", o.Counts[c], o.Classes[c], leastOfClass)
		}
	}
	return outcomes, nil
}

// eachLine calls visit for each line of a table, which returns the column, from 1, of an error. The header is read like
// any other line: its fields may be samples, and errors must not name columns by them.
func eachLine(path string, visit func(fields []string, first bool) (column int, err error)) error {
	in, err := table.Open(path, table.Options{IsHeader: func([]string) bool { return false }})
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	for first := true; ; first = false {
		row, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if column, err := visit(row.Cells, first); err != nil {
			at := &table.Error{File: path, Line: row.Line, Err: err}
			if column > 0 {
				at.Column = strconv.Itoa(column)
			}
			return at
		}
	}
}

// newOutcome returns the outcome with these values. Its classes are sorted, except one that comes last.
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

// fingerprint returns the SHA-256 of everything that results depend on.
func (e *Expressions) fingerprint() string {
	return report.Fingerprint(func(add func(string, ...any)) {
		add("%q\n%v\n", e.Genes, e.X.RawMatrix().Data)
		for _, o := range e.Outcomes {
			add("%q %q %v\n", o.Name, o.Classes, o.labels)
		}
	})
}
