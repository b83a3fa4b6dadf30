package factorize_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix/safetensors"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/sonmf"
)

// example returns a 12×8 matrix with zeros.
func example() *mat.Dense {
	random := rand.New(rand.NewPCG(1, 1))
	x := mat.NewDense(12, 8, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return max(0, random.Float64()-0.4) }, x)
	return x
}

// binary returns 1 where x is positive, 0 elsewhere.
func binary(x *mat.Dense) *mat.Dense {
	b := mat.DenseCopyOf(x)
	b.Apply(func(_, _ int, v float64) float64 {
		if v > 0 {
			return 1
		}
		return 0
	}, b)
	return b
}

// objective returns what the report says of the factors, by its definition and entry by entry.
func objective(r *factorize.Report, x, topics, scores *mat.Dense) float64 {
	var m mat.Dense
	m.Mul(scores, topics.T())
	n, p := x.Dims()
	var sum float64
	for i := range n {
		for j := range p {
			switch v := m.At(i, j); methods.Domain(r.Method) {
			case solver.Binary:
				sum += math.Log(1+math.Exp(v)) - x.At(i, j)*v
			default:
				sum += (x.At(i, j) - v) * (x.At(i, j) - v)
			}
		}
	}
	if r.Method == methods.L1NMF {
		sum = sum/2 + *r.Settings.L1Topics*mat.Sum(topics) + *r.Settings.L1Scores*mat.Sum(scores)
	}
	return sum
}

// writeCSV writes a matrix with a header.
func writeCSV(t *testing.T, x mat.Matrix) string {
	t.Helper()
	n, p := x.Dims()
	var b strings.Builder
	for j := range p {
		fmt.Fprintf(&b, "term%d,", j)
	}
	b.WriteString("\n")
	text := strings.Replace(b.String(), ",\n", "\n", 1)
	b.Reset()
	b.WriteString(text)
	for i := range n {
		for j := range p {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%.17g", x.At(i, j))
		}
		b.WriteByte('\n')
	}
	return writeFile(t, "x.csv", b.String())
}

// writeMTX writes the entries other than 0.
func writeMTX(t *testing.T, x mat.Matrix) string {
	t.Helper()
	n, p := x.Dims()
	var entries []string
	for i := range n {
		for j := range p {
			if v := x.At(i, j); v != 0 {
				entries = append(entries, fmt.Sprintf("%d %d %.17g\n", i+1, j+1, v))
			}
		}
	}
	return writeFile(t, "x.mtx", fmt.Sprintf("%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n%s", n, p,
		len(entries), strings.Join(entries, "")))
}

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeNPY(t *testing.T, m *mat.Dense) string {
	t.Helper()
	n, p := m.Dims()
	file := []byte(fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", n, p))
	file = append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(file)), 0}, file...)
	for _, v := range mat.DenseCopyOf(m).RawMatrix().Data {
		for bits, shift := math.Float64bits(v), 0; shift < 64; shift += 8 {
			file = append(file, byte(bits>>shift))
		}
	}
	return writeFile(t, "factor.npy", string(file))
}

// output reads what a run without labels has written.
func output(t *testing.T, dir string) (report factorize.Report, topics, scores *mat.Dense) {
	t.Helper()
	report, factors := outputs(t, dir)
	if len(factors) != 2 {
		t.Errorf("%d tensors, want 2", len(factors))
	}
	return report, factors["topics"], factors["scores"]
}

// outputs reads what a run has written. A vector is a column; a matrix without entries is nil.
func outputs(t *testing.T, dir string) (report factorize.Report, factors map[string]*mat.Dense) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, factorize.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(filepath.Join(dir, factorize.FactorsFile)); err != nil {
		t.Fatal(err)
	}
	tensors, _, err := safetensors.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	factors = map[string]*mat.Dense{}
	for name, f := range tensors {
		factors[name] = nil
		if shape := append(slices.Clone(f.Shape), 1); shape[0]*shape[1] > 0 {
			factors[name] = mat.NewDense(shape[0], shape[1], f.Data)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("%d files, want 2", len(entries))
	}
	return report, factors
}

// The same matrix in each form and orientation gives the same factors, and a report that holds for them.
func TestRun(t *testing.T) {
	t.Parallel()
	x := example()
	for _, method := range methods.Names() {
		x := x
		if methods.Domain(method) == solver.Binary {
			x = binary(x)
		}
		var first float64
		for name, o := range map[string]factorize.Options{
			"csv":             {Input: writeCSV(t, x)},
			"mtx":             {Input: writeMTX(t, x)},
			"npy":             {Input: writeNPY(t, x), Trace: true},
			"terms in rows":   {Input: writeCSV(t, x.T()), Orientation: factorize.TermsByDocuments},
			"sparse and turn": {Input: writeMTX(t, x.T()), Orientation: factorize.TermsByDocuments},
		} {
			o.Method, o.Rank, o.MaxIter, o.Seed, o.Version = method, 3, 20, 4, "v1"
			o.Out = filepath.Join(t.TempDir(), "made", "here")
			returned, err := factorize.Run(t.Context(), o, nil)
			if err != nil {
				t.Errorf("%s, %s: %v", method, name, err)
				continue
			}
			report, topics, scores := output(t, o.Out)
			if diff := cmp.Diff(*returned, report, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, %s: the file differs from the returned report: %s", method, name, diff)
			}
			if want := objective(&report, x, topics, scores); math.Abs(report.Objective-want) > 1e-12*want {
				t.Errorf("%s, %s: objective %g, of the factors %g", method, name, report.Objective, want)
			}
			if first == 0 {
				first = report.Objective
			}
			if math.Abs(report.Objective-first) > 1e-9*first {
				t.Errorf("%s, %s: objective %.15g, was %.15g in another form", method, name, report.Objective, first)
			}
			if wantTrace := o.Trace; wantTrace != (len(report.Trace) == report.Iterations+1) ||
				!wantTrace && len(report.Trace) != 0 {
				t.Errorf("%s, %s: trace of %d points for %d updates", method, name, len(report.Trace),
					report.Iterations)
			}
		}
	}
}

// The names in result.json are those that other programs rely on.
func TestReportNames(t *testing.T) {
	t.Parallel()
	o := factorize.Options{Method: "sonmf", Input: writeCSV(t, example()), Rank: 2, Trace: true, Out: t.TempDir()}
	if _, err := factorize.Run(t.Context(), o, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(o.Out, factorize.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	keys := func(v any) []string {
		var names []string
		for name := range v.(map[string]any) {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	for name, c := range map[string]struct {
		got  any
		want []string
	}{
		"report": {got, []string{
			"iterations", "mean_objective", "method", "objective", "orthogonality_residual", "seconds",
			"settings", "status", "trace", "train_accuracy", "version",
		}},
		"seconds": {got["seconds"], []string{"init", "load", "solve"}},
		"trace":   {got["trace"].([]any)[0], []string{"iteration", "objective", "seconds"}},
	} {
		if diff := cmp.Diff(c.want, keys(c.got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if step := got["settings"].(map[string]any)["step"]; step != string(sonmf.StepExtrapolated) {
		t.Errorf("step %v in the settings, want the default by its name", step)
	}
}

// Of topics whose fourth powers overflow, all but their distance from orthonormal is written.
func TestHugeTopics(t *testing.T) {
	t.Parallel()
	x := example()
	x.Scale(1e100, x)
	_, p := x.Dims()
	o := factorize.Options{Method: "nmf", Input: writeCSV(t, x), Rank: 2, MaxIter: 5, Out: t.TempDir()}
	// two documents, so that scores are near 1
	o.StartTopics = writeNPY(t, mat.DenseCopyOf(x.Slice(0, o.Rank, 0, p).T()))
	if _, err := factorize.Run(t.Context(), o, nil); err != nil {
		t.Fatal(err)
	}
	if report, _, _ := output(t, o.Out); report.OrthogonalityResidual != nil || !(report.Objective > 0) {
		t.Errorf("%+v", report)
	}
}

// A run goes on from the factors of another.
func TestRunFromFactors(t *testing.T) {
	t.Parallel()
	o := factorize.Options{
		Method: "sonmf", Input: writeMTX(t, example()), Rank: 2, MaxIter: 3, Trace: true, Out: t.TempDir(),
	}
	before, err := factorize.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, topics, scores := output(t, o.Out)
	o.StartTopics, o.StartScores = writeNPY(t, topics), writeNPY(t, scores)
	after, err := factorize.Run(t.Context(), o, nil) // over the first
	if err != nil {
		t.Fatal(err)
	}
	if start := after.Trace[0].Objective; math.Abs(start-before.Objective) > 1e-12*before.Objective {
		t.Errorf("starts at %g, the first run ended at %g", start, before.Objective)
	}
	output(t, o.Out)
}

// The best of several starts is the best of single runs with their seeds.
func TestRestarts(t *testing.T) {
	t.Parallel()
	o := factorize.Options{
		Method: methods.NMF, Input: writeCSV(t, example()), Rank: 4, Init: solver.InitRandom,
		Seed: 3, MaxIter: 5, Trace: true,
	}
	run := func(o factorize.Options) (*factorize.Report, *mat.Dense) {
		o.Out = t.TempDir()
		if _, err := factorize.Run(t.Context(), o, nil); err != nil {
			t.Fatal(err)
		}
		report, topics, _ := output(t, o.Out)
		return &report, topics
	}
	const restarts = 4
	least := math.Inf(1)
	var want *mat.Dense
	var kept uint64
	seen := map[float64]bool{}
	for seed := range uint64(restarts) {
		single := o
		single.Seed += seed
		report, topics := run(single)
		seen[report.Objective] = true
		if report.Objective < least {
			least, want, kept = report.Objective, topics, single.Seed
		}
	}
	if len(seen) < 2 {
		t.Fatalf("all starts end at %v", least)
	}
	o.Restarts = restarts
	report, topics := run(o)
	if report.Settings.SeedKept != kept {
		t.Errorf("seed %d is said to be kept, want %d", report.Settings.SeedKept, kept)
	}
	if report.Objective != least || !mat.Equal(topics, want) || report.Settings.Starts != restarts ||
		len(report.Trace) != report.Iterations+1 {
		t.Errorf("objective %v of %d restarts, the best single run has %v; %d points of %d updates", report.Objective,
			report.Settings.Starts, least, len(report.Trace), report.Iterations)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	good := writeCSV(t, example())
	below := mat.NewDense(3, 2, []float64{1, 0, 0, 3, -4, 1})
	negative := writeCSV(t, below)
	factor := func(rows, cols int, first ...float64) string {
		return writeNPY(t, mat.NewDense(rows, cols, append(first, make([]float64, rows*cols-len(first))...)))
	}
	for name, c := range map[string]struct {
		o    factorize.Options
		want string
	}{
		"method": {factorize.Options{Method: "lda", Input: good, Rank: 2}, `method "lda" is not one of sonmf, `},
		"orientation": {
			factorize.Options{Method: "sonmf", Input: good, Rank: 2, Orientation: "words"}, "input orientation",
		},
		"rank":    {factorize.Options{Method: "sonmf", Input: good, Rank: 9}, "rank out of range"},
		"no rank": {factorize.Options{Method: "svd", Input: good}, "rank out of range"},
		"start": {
			factorize.Options{Method: "sonmf", Input: good, Rank: 2, Init: "nndsvd"}, "not one of svd, random, kmeans",
		},
		"step": {
			factorize.Options{Method: "sonmf", Input: good, Rank: 2, Step: "newton"},
			"not one of extrapolated, exact, cayley",
		},
		"step of svd": {factorize.Options{Method: "svd", Input: good, Rank: 2, Step: "exact"}, "no step to choose"},
		"penalty": {
			factorize.Options{Method: "nmf", Input: good, Rank: 2, L1Topics: new(float64)}, "no ℓ1 penalties",
		},
		"restarts": {factorize.Options{Method: "sonmf", Input: good, Rank: 2, Restarts: -1}, "-1 restarts"},
		"one start": {
			factorize.Options{Method: "sonmf", Input: good, Rank: 2, Restarts: 2}, "choose the start random or kmeans",
		},
		"given start": {
			factorize.Options{Method: "sonmf", Input: good, Rank: 2, Restarts: 2, Init: "random", StartTopics: good},
			"choose the start random or kmeans",
		},
		"no start": {
			factorize.Options{Method: "svd", Input: good, Rank: 2, Restarts: 2, Init: "random"},
			"choose the start random or kmeans",
		},
		"negative": {factorize.Options{Method: "nmf", Input: negative, Rank: 1}, "x.csv\" by nmf: value out of " +
			"range: row 3, column 1 is -4, must be non-negative"},
		"neg. turned": {
			factorize.Options{Method: "onmf", Input: negative, Rank: 1, Orientation: factorize.TermsByDocuments},
			"row 3, column 1 is -4, must be non-negative",
		},
		"neg. sparse": {factorize.Options{
			Method: "l1-nmf", Input: writeMTX(t, below), Rank: 1, Orientation: factorize.TermsByDocuments,
		}, "row 3, column 1 is -4, must be non-negative"},
		"not binary": {
			factorize.Options{Method: "log-nmf", Input: negative, Rank: 1}, "row 2, column 2 is 3, must be 0 or 1",
		},
		"many threads": {
			factorize.Options{Method: "svd", Input: good, Rank: 2, Threads: 100000},
			"100000 threads, must be 0 to 1024",
		},
		"tolerance": {
			factorize.Options{Method: "svd", Input: good, Rank: 2, RelTol: math.Inf(1)}, "tolerances +Inf",
		},
		"score shape": {
			factorize.Options{Method: "svd", Input: good, Rank: 2, StartScores: factor(8, 2)},
			"factor.npy\": shapes do not match: 8×2, must be 12×2",
		},
		"neg. topic": {
			factorize.Options{Method: "nmf", Input: good, Rank: 2, StartTopics: factor(8, 2, 1, 1, 1, -2)},
			"factor.npy\": value out of range: row 2, column 2 is -2, must be non-negative for nmf",
		},
		"neg. score": {
			factorize.Options{Method: "semi-nmf", Input: good, Rank: 2, StartScores: factor(12, 2, -1)},
			"row 1, column 1 is -1, must be non-negative",
		},
		"zero topics": {factorize.Options{
			Method: "onmf", Input: good, Rank: 2, StartTopics: factor(8, 2), StartScores: factor(12, 2, 1),
		}, "every entry is 0"},
		"zero scores": {
			factorize.Options{Method: "l1-nmf", Input: good, Rank: 2, StartScores: factor(12, 2)}, "every entry is 0",
		},
		"zero alone": {
			factorize.Options{Method: "semi-nmf", Input: good, Rank: 2, StartTopics: factor(8, 2)}, "every entry is 0",
		},
		"threads": {factorize.Options{Method: "svd", Input: good, Rank: 2, Threads: -1}, "-1 threads"},
		"no file": {factorize.Options{Method: "svd", Input: good + ".gz", Rank: 2}, "no such file"},
		"not a number": {
			factorize.Options{Method: "svd", Input: writeFile(t, "y.csv", "1,2\n3,x\n"), Rank: 1}, `line 2, column "2"`,
		},
		"start shape": {
			factorize.Options{Method: "sonmf", Input: good, Rank: 2, StartTopics: writeNPY(t, mat.NewDense(3, 2, nil))},
			"3×2, must be 8×2",
		},
		"sparse start": {
			factorize.Options{Method: "sonmf", Input: good, Rank: 8, StartTopics: writeMTX(t, example())},
			"start factors are dense",
		},
	} {
		dir := t.TempDir()
		c.o.Out = filepath.Join(dir, "made", "here")
		_, err := factorize.Run(t.Context(), c.o, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("%s: %v was left behind", name, entries)
		}
	}
	if _, err := factorize.Run(t.Context(), factorize.Options{Method: "svd", Input: good, Rank: 2},
		nil); !errors.Is(err, factorize.ErrOptions) {
		t.Errorf("no output folder: error %v", err)
	}
}

// stopper cancels after some updates.
type stopper struct {
	after  int
	cancel context.CancelFunc
}

func (s stopper) Record(it solver.Iterate) error {
	if it.Iteration == s.after {
		s.cancel()
	}
	return nil
}

// A run that is interrupted leaves what it has reached.
func TestCancelledRunWritesItsBest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := factorize.Options{Method: "sonmf", Input: writeCSV(t, example()), Rank: 2, Out: t.TempDir()}
	_, err := factorize.Run(ctx, o, stopper{after: 2, cancel: cancel})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	report, _, _ := output(t, o.Out)
	if report.Status != "cancelled" || report.Iterations != 2 {
		t.Errorf("status %q after %d updates", report.Status, report.Iterations)
	}
	o.Out = t.TempDir()
	if _, err := factorize.Run(ctx, o, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before the start: error %v", err)
	}
}

// Not parallel: the number of threads is the process's.
func TestThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	o := factorize.Options{Method: "svd", Input: writeCSV(t, example()), Rank: 2, Threads: before + 1, Out: t.TempDir()}
	report, err := factorize.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Settings.Threads != before+1 || runtime.GOMAXPROCS(0) != before {
		t.Errorf("ran on %d threads and left %d, want %d and %d", report.Settings.Threads, runtime.GOMAXPROCS(0),
			before+1, before)
	}
}
