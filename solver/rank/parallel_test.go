package rank_test

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/rank"
)

// items draws n participants of p items that load in turn on one of k factors with loadings of .5 to .8, every third
// item keyed the other way round. Factors correlate by phi.
func items(n, p, k int, phi float64) *mat.Dense {
	random := rand.New(rand.NewPCG(1, uint64(n*p+k)))
	x, loadings := mat.NewDense(n, p, nil), mat.NewDense(p, k, nil)
	for j := range p {
		v := 0.5 + 0.3*random.Float64()
		if j/k%3 == 2 {
			v = -v
		}
		loadings.Set(j, j%k, v)
	}
	factors := make([]float64, k)
	for i := range n {
		common := random.NormFloat64()
		for t := range factors {
			factors[t] = math.Sqrt(phi)*common + math.Sqrt(1-phi)*random.NormFloat64()
		}
		for j := range p {
			l := loadings.At(j, j%k)
			x.Set(i, j, l*factors[j%k]+math.Sqrt(1-l*l)*random.NormFloat64())
		}
	}
	return x
}

// likert cuts every column at its thresholds.
func likert(x *mat.Dense, thresholds ...float64) *mat.Dense {
	out := new(mat.Dense)
	out.Apply(func(_, _ int, v float64) float64 {
		category, _ := slices.BinarySearch(thresholds, v)
		return float64(category + 1)
	}, x)
	return out
}

// punched takes a share of the answers out.
func punched(x *mat.Dense, share float64) *mat.Dense {
	random := rand.New(rand.NewPCG(2, 0))
	out := new(mat.Dense)
	out.Apply(func(_, _ int, v float64) float64 {
		if random.Float64() < share {
			return math.NaN()
		}
		return v
	}, x)
	return out
}

func randomNormal(n, p int) *mat.Dense {
	random := rand.New(rand.NewPCG(3, 0))
	x := mat.NewDense(n, p, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, x)
	return x
}

// readAnswers reads a gzipped CSV file of the shared folder; text that is not a number is a missing answer.
func readAnswers(t testing.TB, path string) *mat.Dense {
	t.Helper()
	root := os.Getenv("WARDCAST_SHARED")
	if root == "" {
		t.Skip("WARDCAST_SHARED is not set")
	}
	file, err := os.Open(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strconv.ParseFloat(records[0][0], 64); err != nil {
		records = records[1:]
	}
	x := mat.NewDense(len(records), len(records[0]), nil)
	x.Apply(func(i, j int, _ float64) float64 {
		v, err := strconv.ParseFloat(records[i][j], 64)
		if err != nil {
			v = math.NaN()
		}
		return v
	}, x)
	return x
}

func parallel(t testing.TB, x *mat.Dense, s rank.ParallelSettings) *rank.ParallelAnalysis {
	t.Helper()
	a, err := rank.Parallel(t.Context(), x, s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// components is the number of components that MAP chooses.
func components(t testing.TB, x *mat.Dense, kind factoranalysis.Kind) int {
	t.Helper()
	c, err := factoranalysis.Correlate(t.Context(), x, kind, 0)
	if err != nil {
		t.Fatal(err)
	}
	squares, _, err := rank.MAP(c.R)
	if err != nil {
		t.Fatal(err)
	}
	return floats.MinIdx(squares)
}

// Both rules find the planted number of factors, in normal and categorical answers, complete or not; MAP finds
// none in noise.
func TestNumberOfFactors(t *testing.T) {
	t.Parallel()
	x := items(500, 24, 4, 0.2)
	for name, c := range map[string]struct {
		x        *mat.Dense
		settings rank.ParallelSettings
	}{
		"complete": {x, rank.ParallelSettings{}},
		"missing":  {punched(x, 0.2), rank.ParallelSettings{}},
		"polychoric": {
			punched(likert(x, -0.7, 0.6), 0.1),
			rank.ParallelSettings{Correlation: factoranalysis.Polychoric, Draws: 20},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.settings.Seed = 1
			if a := parallel(t, c.x, c.settings); a.Suggested != 4 {
				t.Errorf("parallel analysis finds %d: %v above %v", a.Suggested, a.Eigenvalues[:6], a.Reference[:6])
			}
			kind := c.settings.Correlation
			if kind == "" {
				kind = factoranalysis.Pearson
			}
			if m := components(t, c.x, kind); m != 4 {
				t.Errorf("MAP finds %d", m)
			}
		})
	}
	noise := randomNormal(300, 10)
	if m := components(t, noise, factoranalysis.Pearson); m != 0 {
		t.Errorf("MAP finds %d components in noise", m)
	}
}

// Equal seeds give equal bits for any number of threads, other seeds do not; every draw is reported.
func TestParallelIsDeterministic(t *testing.T) {
	x := items(100, 10, 2, 0)
	x = punched(x, 0.1)
	var outcomes []string
	for _, threads := range []int{1, 4} {
		previous := runtime.GOMAXPROCS(threads)
		last := 0
		a := parallel(t, x, rank.ParallelSettings{Draws: 30, Jobs: rank.Jobs{Seed: 5, Progress: func(done, total int) {
			if total != 30 || done != last+1 {
				t.Errorf("%d of %d draws after %d", done, total, last)
			}
			last = done
		}}})
		runtime.GOMAXPROCS(previous)
		if last != 30 {
			t.Errorf("%d threads: %d draws reported", threads, last)
		}
		outcomes = append(outcomes, fmt.Sprint(a.Eigenvalues, a.Reference))
	}
	if outcomes[0] != outcomes[1] {
		t.Error("other threads, other bits")
	}
	if a := parallel(t, x, rank.ParallelSettings{Draws: 30, Jobs: rank.Jobs{Seed: 6}}); fmt.Sprint(a.Eigenvalues,
		a.Reference) == outcomes[0] {
		t.Error("another seed, equal draws")
	}
}

func TestParallelEnds(t *testing.T) {
	t.Parallel()
	x := items(100, 10, 2, 0)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := rank.Parallel(ctx, x, rank.ParallelSettings{Draws: 1000, Jobs: rank.Jobs{Progress: func(done, _ int) {
		if done == 3 {
			cancel(why)
		}
	}}})
	if !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
	for _, s := range []rank.ParallelSettings{{Draws: -1}, {Correlation: "kendall"}, {Jobs: rank.Jobs{Threads: -3}}} {
		if _, err := rank.Parallel(t.Context(), x, s); !errors.Is(err, solver.ErrSettings) {
			t.Errorf("%+v: error %v", s, err)
		}
	}
}

// The partial correlations are those of the residuals of regressions on the components.
func TestMAPIsTheDefinition(t *testing.T) {
	t.Parallel()
	x := items(80, 7, 2, 0.3)
	c, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Pearson, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, fourth, err := rank.MAP(c.R)
	if err != nil {
		t.Fatal(err)
	}
	const p = 7
	var e mat.EigenSym
	e.Factorize(c.R, true)
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	for m, squares := range got {
		// R with the last m components projected out: QRQ, Q = I − VVᵀ.
		q := mat.NewDense(p, p, nil)
		for i := range p {
			q.Set(i, i, 1)
		}
		if m > 0 {
			v := vectors.Slice(0, p, p-m, p)
			var vv mat.Dense
			vv.Mul(v, v.T())
			q.Sub(q, &vv)
		}
		var rest mat.Dense
		rest.Product(q, c.R, q)
		var two, four float64
		for i := range p {
			for j := range p {
				if i != j {
					r := rest.At(i, j) / math.Sqrt(rest.At(i, i)*rest.At(j, j))
					two += r * r / (p * (p - 1))
					four += r * r * r * r / (p * (p - 1))
				}
			}
		}
		if math.Abs(two-squares) > 1e-12 || math.Abs(four-fourth[m]) > 1e-12 {
			t.Errorf("%d components: %v and %v, want %v and %v", m, squares, fourth[m], two, four)
		}
	}
	if len(got) != p-1 {
		t.Errorf("%d means of %d items", len(got), p)
	}
}

// The figures that psych's manual prints for the 25 items of bfi, 2,800 participants with 508 answers missing: six
// factors by parallel analysis, five by MAP.
func TestBFI(t *testing.T) {
	t.Parallel()
	all := readAnswers(t, filepath.Join("data", "bfi.csv.gz"))
	n, _ := all.Dims()
	x := mat.DenseCopyOf(all.Slice(0, n, 0, 25))
	if a := parallel(t, x, rank.ParallelSettings{Jobs: rank.Jobs{Seed: 1}}); a.Suggested != 6 {
		t.Errorf("parallel analysis finds %d", a.Suggested)
	}
	if m := components(t, x, factoranalysis.Pearson); m != 5 {
		t.Errorf("MAP finds %d", m)
	}
}

// On the questionnaires of table 1 R's psych finds the same numbers of factors by parallel analysis and by MAP, except
// where the draws decide.
func TestTable1(t *testing.T) {
	t.Parallel()
	root := os.Getenv("WARDCAST_SHARED")
	if root == "" {
		t.Skip("WARDCAST_SHARED is not set")
	}
	file, err := os.Open(filepath.Join(root, "cases", "icqf", "table1_fa.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	compared, different := 0, 0
	for _, record := range records[1:] {
		if compared == 12 {
			break
		}
		compared++
		x := readAnswers(t, filepath.Join("cases", "icqf", "table1", record[0]+"_M.csv.gz"))
		factors := parallel(t, x, rank.ParallelSettings{Draws: 20, Jobs: rank.Jobs{Seed: 1}}).Suggested
		want := []string{record[1], record[3]}
		got := []string{strconv.Itoa(factors), strconv.Itoa(components(t, x, factoranalysis.Pearson))}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Logf("%s: psych finds %v, here %v", record[0], want, got)
			different++
		}
	}
	t.Logf("%d sets compared, %d differ", compared, different)
	if different > 1 {
		t.Errorf("%d of %d sets differ", different, compared)
	}
}

func BenchmarkParallel(b *testing.B) {
	for _, s := range []struct{ n, p, k int }{{2800, 25, 5}, {200, 100, 10}} {
		b.Run(fmt.Sprintf("n=%d/p=%d/k=%d", s.n, s.p, s.k), func(b *testing.B) {
			x := punched(likert(items(s.n, s.p, s.k, 0.2), -1.5, -0.8, 0, 0.8, 1.5), 0.01)
			b.ReportAllocs()
			for b.Loop() {
				parallel(b, x, rank.ParallelSettings{Draws: 20})
			}
		})
	}
}

// Skewed answers make normal draws find two factors where there is one. Strict finds one more often, and all of five.
func TestStrict(t *testing.T) {
	t.Parallel()
	skewed := func(p, k int, seed uint64) *mat.Dense {
		r := rand.New(rand.NewPCG(seed, 0))
		x, factors := mat.NewDense(500, p, nil), make([]float64, k)
		for i := range 500 {
			common := r.NormFloat64()
			for t := range factors {
				factors[t] = math.Sqrt(.4)*common + math.Sqrt(.6)*r.NormFloat64()
			}
			for j := range p {
				l := .45 + .06*float64(j%6)
				if j%2 == 1 { // keyed the other way round
					l = -l
				}
				x.Set(i, j, l*factors[j%k]+math.Sqrt(1-l*l)*r.NormFloat64())
			}
		}
		return likert(x, 0.2275, 0.7388, 1.2265, 1.7507)
	}
	const samples = 12
	right := map[bool]int{}
	for seed := range uint64(samples) {
		x := skewed(6, 1, seed)
		for _, strict := range []bool{false, true} {
			if parallel(t, x, rank.ParallelSettings{Strict: strict, Draws: 40}).Suggested == 1 {
				right[strict]++
			}
		}
	}
	if right[true] < samples-3 || right[false] > samples/2 {
		t.Errorf("of %d samples, strict is right in %d, not strict in %d", samples, right[true], right[false])
	}
	if a := parallel(t, skewed(30, 5, 1), rank.ParallelSettings{Strict: true, Draws: 40}); a.Suggested != 5 ||
		a.Eigenvalues[5] > a.Reference[5] {
		t.Errorf("of five factors it finds %d: %+v", a.Suggested, a)
	}
	_, err := rank.Parallel(t.Context(), items(50, 6, 1, 0),
		rank.ParallelSettings{Strict: true, Correlation: factoranalysis.Polychoric})
	if !errors.Is(err, solver.ErrSettings) {
		t.Errorf("polychoric correlations: %v", err)
	}
}

// With fewer participants than items, what many components leave is rounding.
func TestFilledMAPOfFewParticipants(t *testing.T) {
	t.Parallel()
	const n, p = 20, 40
	c, err := factoranalysis.Correlate(t.Context(), items(n, p, 2, 0), factoranalysis.Pearson, 1)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := rank.MAP(c.R)
	if err != nil || floats.MinIdx(all) <= n/2 {
		t.Errorf("of all components MAP finds %d (%v)", floats.MinIdx(all), err)
	}
	if squares, fourth, err := rank.FilledMAP(t.Context(), c, n); err != nil || len(squares) != n/2+1 ||
		len(fourth) != n/2+1 {
		t.Errorf("%d and %d means (%v)", len(squares), len(fourth), err)
	}
}
