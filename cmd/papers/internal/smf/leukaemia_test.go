package smf

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/linalg"
)

// writeTable writes a file into a new folder and returns its path.
func writeTable(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	data := []byte(content)
	if strings.HasSuffix(name, ".gz") {
		var b strings.Builder
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = []byte(b.String())
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	tinyExpressions = "\xef\xbb\xbf\"\",\"s1\",\"s2\",\"s3\",\"s4\",\"s5\",\"s6\",\"s7\",\"s8\"\n\"g1\",1,2,3,4,5,6," +
		"7,8\n\"g2\",-1,0.5,1e3, 0,0,0,0,0\n"
	tinyPhenotypes = "\"\",kind,part\ns8,A,\ns7,A,\ns6,A,\ns5,A,\ns4,B,y\ns3,B,y\ns2,B,x\ns1,B,x\n"
)

func tinyColumns() PhenotypeColumns { return PhenotypeColumns{Label: "kind", Positive: "A"} }

func TestReadExpressions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x.csv", "x.csv.gz"} {
		e, err := ReadExpressions(writeTable(t, name, tinyExpressions),
			writeTable(t, name, tinyPhenotypes), tinyColumns())
		if err != nil {
			t.Fatal(err)
		}
		want := mat.NewDense(8, 2, []float64{1, -1, 2, 0.5, 3, 1e3, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0})
		if !mat.Equal(e.X, want) || !slices.Equal(e.Genes, []string{"g1", "g2"}) {
			t.Errorf("%s: genes %v of\n%v", name, e.Genes, mat.Formatted(e.X))
		}
		outcome := Outcome{
			Name: "kind", Classes: []string{"B", "A"}, Counts: []int{4, 4}, labels: []int{0, 0, 0, 0, 1, 1, 1, 1},
		}
		if d := cmp.Diff([]Outcome{outcome}, e.Outcomes, cmp.AllowUnexported(Outcome{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Subtypes make an outcome of their own: of the column named, or of the usual one where there is one.
func TestReadSubtypes(t *testing.T) {
	t.Parallel()
	var expressions, phenotypes strings.Builder
	expressions.WriteString("gene")
	phenotypes.WriteString("sample,kind,Cell\n")
	for i := range 12 {
		fmt.Fprintf(&expressions, ",s%d", i)
		fmt.Fprintf(&phenotypes, "s%d,%s\n", i, []string{"A,", "B,x", "B,y"}[i%3])
	}
	expressions.WriteString("\ng1,0,1,2,3,4,5,6,7,8,9,10,11\n")
	for _, subtype := range []string{"", "Cell"} {
		columns := tinyColumns()
		columns.Subtype = subtype
		e, err := ReadExpressions(writeTable(t, "x.csv", expressions.String()),
			writeTable(t, "y.csv", phenotypes.String()), columns)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Outcomes) != 2 || !slices.Equal(e.Outcomes[1].Classes, []string{"A", "B x", "B y"}) ||
			!slices.Equal(e.Outcomes[1].labels[:4], []int{0, 1, 2, 0}) {
			t.Errorf("subtype %q: outcomes %+v", subtype, e.Outcomes)
		}
	}
}

func TestReadExpressionsRefuses(t *testing.T) {
	t.Parallel()
	swap := func(s, from, to string) string { return strings.Replace(s, from, to, 1) }
	for name, c := range map[string]struct {
		expressions, phenotypes string
		subtype                 string
		file, want              string
	}{
		"empty":     {expressions: "", file: "x.csv", want: "no rows"},
		"no gene":   {expressions: ",s1,s2\n", file: "x.csv", want: "no gene"},
		"no sample": {expressions: "gene\ng1\n", file: "x.csv", want: "no sample"},
		"a word": {
			expressions: swap(tinyExpressions, "1e3", "secret"), file: "x.csv",
			want: `line 3, column "4": not a finite number`,
		},
		"NaN": {
			expressions: swap(tinyExpressions, "1e3", "NaN"), file: "x.csv", want: `line 3, column "4"`,
		},
		"too large": {
			expressions: swap(tinyExpressions, "1e3", "1e999"), file: "x.csv", want: `line 3, column "4"`,
		},
		"missing value": {
			expressions: swap(tinyExpressions, ",2,", ",,"), file: "x.csv", want: `line 2, column "3"`,
		},
		"a value too few": {expressions: swap(tinyExpressions, ",7,8", ",7"), file: "x.csv", want: "line 2: "},
		"a quote":         {expressions: swap(tinyExpressions, "\"g2\"", "\"g2"), file: "x.csv", want: "line 3"},
		"gene twice": {
			expressions: swap(tinyExpressions, "g2", "g1"), file: "x.csv", want: `line 3, column "1"`,
		},
		"no name of a gene": {expressions: swap(tinyExpressions, "g2", ""), file: "x.csv", want: `line 3, column "1"`},
		"sample twice": {
			expressions: swap(tinyExpressions, "s3", "s2"), file: "x.csv", want: `line 1, column "4"`,
		},
		"unnamed sample": {expressions: swap(tinyExpressions, "s3", ""), file: "x.csv", want: `line 1, column "4"`},
		"unknown sample": {
			phenotypes: swap(tinyPhenotypes, "s3", "secret"), file: "y.csv", want: `line 7, column "1"`,
		},
		"twice a row": {phenotypes: tinyPhenotypes + "s1,A,\n", file: "y.csv", want: `line 10, column "1"`},
		"a row too few": {
			phenotypes: swap(tinyPhenotypes, "s3,B,y\n", ""), file: "y.csv", want: "column 4 of the expressions",
		},
		"no label": {
			phenotypes: swap(tinyPhenotypes, "s3,B", "s3,"), file: "y.csv", want: `line 7, column "2": no label`,
		},
		"three labels": {
			phenotypes: swap(tinyPhenotypes, "s3,B", "s3,C"), file: "y.csv", want: `column "kind" has 3 values`,
		},
		"another positive": {
			phenotypes: strings.ReplaceAll(tinyPhenotypes, ",A,", ",C,"), file: "y.csv", want: `one of them "A"`,
		},
		"no label column": {
			phenotypes: swap(tinyPhenotypes, "kind", "secret"), file: "y.csv", want: `line 1: no column "kind"`,
		},
		"no subtype column": {subtype: "cell", file: "y.csv", want: `no column "cell"`},
		"rare subtype":      {subtype: "part", file: "y.csv", want: `2 samples of "B x", want at least 4`},
	} {
		if c.expressions == "" && c.want != "no rows" {
			c.expressions = tinyExpressions
		}
		if c.phenotypes == "" {
			c.phenotypes = tinyPhenotypes
		}
		columns := tinyColumns()
		columns.Subtype = c.subtype
		_, err := ReadExpressions(writeTable(t, "x.csv", c.expressions), writeTable(t, "y.csv", c.phenotypes), columns)
		if _, ok := errors.AsType[*table.Error](err); !ok || !strings.Contains(err.Error(), c.file) ||
			!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q of %s", name, err, c.want, c.file)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing.csv")
	if _, err := ReadExpressions(missing, missing, tinyColumns()); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), missing) {
		t.Errorf("a missing file: %v", err)
	}
	plain := writeTable(t, "x.csv", tinyExpressions)
	if err := os.Rename(plain, plain+".gz"); err != nil {
		t.Fatal(err)
	}
	if at, ok := errors.AsType[*table.Error](eachLine(plain+".gz", nil)); !ok || at.File != plain+".gz" ||
		!errors.Is(at, gzip.ErrHeader) {
		t.Errorf("a file that is not zipped: %v", at)
	}
}

// planted returns 36 samples of three subtypes. Five genes are high in class A, g2 above all, five in subtype "B x",
// and one is constant; the others are noise.
func planted() *Expressions {
	const samples, genes = 36, 20
	random := rand.New(rand.NewPCG(1, 2))
	e := &Expressions{X: mat.NewDense(samples, genes, nil)}
	for j := range genes {
		e.Genes = append(e.Genes, fmt.Sprintf("g%d", j))
	}
	var kind, part []string
	for i := range samples {
		for j := range genes {
			e.X.Set(i, j, 100+10*random.NormFloat64())
		}
		e.X.Set(i, 5, 0.1)
		switch i % 3 {
		case 0:
			kind, part = append(kind, "A"), append(part, "A")
			raise(e.X, i, 2, 6, 7, 8, 9)
		case 1:
			kind, part = append(kind, "B"), append(part, "B x")
			raise(e.X, i, 3, 10, 11, 12, 13)
		default:
			kind, part = append(kind, "B"), append(part, "B y")
		}
	}
	e.Outcomes = []Outcome{newOutcome("kind", kind, "A"), newOutcome("subtypes", part, "")}
	return e
}

// compare runs on the samples.
func compare(ctx context.Context, l *Leukaemia, session *report.Session,
	e *Expressions,
) (*LeukaemiaResult, *report.Report, error) {
	l.read = e
	r, err := l.Run(ctx, session)
	if r == nil {
		return nil, nil, err
	}
	return r.Data.(*LeukaemiaResult), r, err
}

// raise adds to genes of a sample, most to the first.
func raise(x *mat.Dense, sample int, genes ...int) {
	for at, j := range genes {
		by := 40.0
		if at == 0 {
			by = 80
		}
		x.Set(sample, j, x.At(sample, j)+by)
	}
}

func smallLeukaemia() *Leukaemia {
	return &Leukaemia{Splits: 2, Folds: 3, Ranks: []int{1, 2}, Genes: 4, Seed: 1, Columns: tinyColumns()}
}

func TestLeukaemia(t *testing.T) {
	t.Parallel()
	l := smallLeukaemia()
	steps := 0
	r, found, err := compare(t.Context(), l, &report.Session{Progress: func(done, total int) {
		if steps++; done != steps || total != 2*5+2*4+2 {
			t.Errorf("step %d reported as %d of %d", steps, done, total)
		}
	}}, planted())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) != 18 || steps != 20 || len(r.Summaries) != 9 || len(r.Supervised) != 2 {
		t.Fatalf("%d cells, %d steps, %d summaries, %d sets of topics", len(r.Cells), steps, len(r.Summaries),
			len(r.Supervised))
	}
	for _, s := range r.Summaries {
		if s.Accuracy < 0.9 || s.AUROC < 0.95 || s.Splits != 2 || (s.Ranks == nil) != (s.Method == "lasso") {
			t.Errorf("%+v", s)
		}
	}
	var mean, squares float64
	for _, c := range r.Cells {
		if c.Train != 18 || c.Test != 18 {
			t.Errorf("%+v", c)
		}
		if c.Outcome == "subtypes" && c.Method == "smf-h" {
			mean += c.LogLoss / 2
			squares += c.LogLoss * c.LogLoss / 2
		}
	}
	if s := r.Summaries[6]; s.Method != "smf-h" || math.Abs(s.LogLoss-mean) > 1e-12 ||
		math.Abs(s.LogLossSD-math.Sqrt(2*(squares-mean*mean))) > 1e-12 {
		t.Errorf("%+v, want the mean %v of the splits", s, mean)
	}
	for _, s := range r.Supervised {
		k := len(s.Topics) - 2
		if k != s.Rank || s.Topics[k].Topic != 0 || s.Topics[0].Topic != 1 {
			t.Fatalf("%s: %d topics at rank %d", s.Variant, len(s.Topics), s.Rank)
		}
		// The gene of class A leads the genes that point to it.
		if g := s.Topics[k+1].Genes[0]; g.Gene != "g2" || g.Towards != "A" || g.Effect <= 0 ||
			math.Abs(g.Effect-g.Loading/math.Sqrt(20)) > 1e-15 {
			t.Errorf("%s: first gene %+v", s.Variant, g)
		}
		for _, topic := range s.Topics {
			if !slices.IsSortedFunc(topic.Genes,
				func(a, b GeneLoading) int { return int(math.Copysign(1, math.Abs(b.Loading)-math.Abs(a.Loading))) }) ||
				len(topic.Genes) != l.Genes {
				t.Errorf("%s: genes %+v", s.Variant, topic.Genes)
			}
			for _, g := range topic.Genes {
				if want := map[bool]string{true: "A", false: "B"}[g.Loading*topic.Coefficient > 0]; g.Towards != want &&
					g.Loading != 0 {
					t.Errorf("%s, topic %d, β = %v: %+v", s.Variant, topic.Topic, topic.Coefficient, g)
				}
			}
		}
	}

	dir := filepath.Join(t.TempDir(), "new")
	if err := found.Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var again LeukaemiaResult
	if err := json.Unmarshal([]byte(read("results.json")), &again); err != nil ||
		again.Supervised[0].Rank != r.Supervised[0].Rank || again.Cells[3] != r.Cells[3] {
		t.Errorf("results.json: %+v, %v", again, err)
	}
	lines := 0
	for _, s := range r.Supervised {
		lines += len(s.Topics) * l.Genes
	}
	for name, want := range map[string]int{"splits.csv": 19, "genes.csv": 1 + lines} {
		if records, err := csv.NewReader(strings.NewReader(read(name))).ReadAll(); err != nil || len(records) != want {
			t.Errorf("%s: %d records, %v; want %d", name, len(records), err, want)
		}
	}
	for _, s := range r.Supervised {
		if svg := read("genes-" + string(s.Variant) + ".svg"); strings.Count(svg, ">g2<") < 1 ||
			strings.Count(svg, string(s.Variant)+",") != len(s.Topics) || !strings.Contains(svg, "towards A<") {
			t.Errorf("%s: a figure without its genes", s.Variant)
		}
	}
	tables := found.Tables
	if len(tables) != 4 || len(tables[0].Lines) != 5 || tables[0].Title != "24 B, 12 A" || len(tables[1].Lines) != 4 ||
		len(tables[2].Lines)+len(tables[3].Lines) != lines {
		t.Errorf("tables %+v", tables)
	}
}

// Halves share no sample, hold each class evenly, differ from split to split, and are scaled by the training half
// alone.
func TestLeukaemiaHalves(t *testing.T) {
	t.Parallel()
	e, l := planted(), smallLeukaemia()
	l.read = e
	for i := range 36 { // so that rows can be distinguished after scaling: by the rank of one gene
		e.X.Set(i, 0, float64(i))
	}
	var before []int
	for split := range 5 {
		for o := range e.Outcomes {
			train, test, err := l.halves(&e.Outcomes[o], split)
			if err != nil {
				t.Fatal(err)
			}
			means, deviations := linalg.ColumnMoments(train.x)
			var rows []int
			x := linalg.SelectRows(e.X, train.rows)
			rawMeans, rawDeviations := linalg.ColumnMoments(x)
			for j := range 20 {
				want := 1 / math.Sqrt(20)
				if j == 5 {
					want = 0
				}
				if math.Abs(means[j]) > 1e-12 || math.Abs(deviations[j]-want) > 1e-9 {
					t.Errorf("split %d, gene %d: mean %v, deviation %v in training", split, j, means[j], deviations[j])
				}
			}
			for i := range test.rows {
				if got, want := test.x.At(i, 0),
					(e.X.At(test.rows[i], 0)-rawMeans[0])/rawDeviations[0]/math.Sqrt(20); math.Abs(got-want) > 1e-12 {
					t.Errorf("split %d: sample %d of the test half is %v, want %v", split, i, got, want)
				}
			}
			rows = slices.Concat(train.rows, test.rows)
			slices.Sort(rows)
			if len(slices.Compact(rows)) != 36 {
				t.Errorf("split %d: halves %v and %v", split, train.rows, test.rows)
			}
			for _, part := range []*samples{&train.samples, test} {
				count := make([]int, len(e.Outcomes[o].Classes))
				for at, i := range part.rows {
					count[part.data.Labels[at]]++
					if part.data.Labels[at] != e.Outcomes[o].labels[i] {
						t.Errorf("split %d: label %d of sample %d", split, part.data.Labels[at], i)
					}
				}
				for c, n := range count {
					if 2*n != e.Outcomes[o].Counts[c] {
						t.Errorf("split %d: %v of %v samples of the classes", split, count, e.Outcomes[o].Counts)
					}
				}
			}
			if o == 0 && slices.Equal(train.rows, before) {
				t.Errorf("split %d is the one before", split)
			} else if o == 0 {
				before = train.rows
			}
		}
	}
}

func TestLeukaemiaResumes(t *testing.T) {
	t.Parallel()
	l := smallLeukaemia()
	l.Splits = 1
	file := filepath.Join(t.TempDir(), "cells.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	some, _, err := compare(ctx, l, &report.Session{Cells: file, Progress: func(done, _ int) {
		if done == 3 {
			cancel()
		}
	}}, planted())
	if !errors.Is(err, context.Canceled) || len(some.Cells) != 3 || len(some.Summaries) != 3 {
		t.Fatalf("%+v, %v", some, err)
	}
	all, _, err := compare(t.Context(), l, &report.Session{Cells: file}, planted())
	if err != nil {
		t.Fatal(err)
	}
	// seconds too: they are not computed again
	if d := cmp.Diff(some.Cells, all.Cells[:3], cmp.AllowUnexported(LeukaemiaCell{})); d != "" {
		t.Errorf("the cells of the first run changed: %s", d)
	}

	for name, change := range map[string]func(*Leukaemia, *Expressions){
		"another seed":    func(l *Leukaemia, _ *Expressions) { l.Seed = 2 },
		"another version": func(l *Leukaemia, _ *Expressions) { l.Version = "2" },
		"other ranks":     func(l *Leukaemia, _ *Expressions) { l.Ranks = []int{1} },
		"another value":   func(_ *Leukaemia, e *Expressions) { e.X.Set(3, 3, 0) },
		"another label":   func(_ *Leukaemia, e *Expressions) { e.Outcomes[1].labels[0] = 1 },
		"another gene":    func(_ *Leukaemia, e *Expressions) { e.Genes[0] = "h" },
	} {
		other, e := *l, planted()
		change(&other, e)
		if got, _, err := compare(t.Context(), &other, &report.Session{Cells: file}, e); got != nil ||
			!errors.Is(err, report.ErrSettings) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLeukaemiaRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Leukaemia){
		"no split":     func(l *Leukaemia) { l.Splits = 0 },
		"one fold":     func(l *Leukaemia) { l.Folds = 1 },
		"no gene":      func(l *Leukaemia) { l.Genes = 0 },
		"no rank":      func(l *Leukaemia) { l.Ranks = nil },
		"rank 0":       func(l *Leukaemia) { l.Ranks = []int{2, 0} },
		"a large rank": func(l *Leukaemia) { l.Ranks = []int{13} },
		"folds":        func(l *Leukaemia) { l.Folds = 19 },
	} {
		l := smallLeukaemia()
		change(l)
		if _, _, err := compare(t.Context(), l, &report.Session{}, planted()); !errors.Is(err, report.ErrSettings) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGolub: the topics of the leukaemia samples lead to genes of the list that Golub et al. printed in 1999.
func TestGolub(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		t.Skip("WARDCAST_SHARED names no folder of data")
	}
	e, err := ReadExpressions(filepath.Join(shared, "data", "esGolub_exprs.csv.gz"),
		filepath.Join(shared, "data", "esGolub_pheno.csv.gz"), PhenotypeColumns{Label: "ALL.AML", Positive: "AML"})
	if err != nil {
		t.Fatal(err)
	}
	if n, p := e.X.Dims(); n != 38 || p != 5000 || !slices.Equal(e.Outcomes[0].Counts, []int{27, 11}) ||
		!slices.Equal(e.Outcomes[1].Classes, []string{"ALL B-cell", "ALL T-cell", "AML"}) {
		t.Fatalf("%d samples of %d genes, %+v", n, p, e.Outcomes)
	}
	everyone := make([]int, 38)
	for i := range everyone {
		everyone[i] = i
	}
	l := Leukaemia{Splits: 1, Folds: 5, Ranks: []int{2}, Genes: 10, Seed: 1, read: e}
	whole, err := l.train(&e.Outcomes[0], everyone)
	if err != nil {
		t.Fatal(err)
	}
	found, err := whole.topics(t.Context(), "smf-w")
	if err != nil {
		t.Fatal(err)
	}
	aml, all := found.Topics[3].Genes, found.Topics[2].Genes
	for gene, of := range map[string][]GeneLoading{
		"X95735_at": aml, "M23197_at": aml, "M55150_at": aml, "M31523_at": all, "M92287_at": all,
	} {
		if !slices.ContainsFunc(of, func(g GeneLoading) bool { return g.Gene == gene }) {
			t.Errorf("%s is not among %+v", gene, of)
		}
	}
}
