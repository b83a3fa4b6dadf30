package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix/safetensors"
	"github.com/wardcast/wardcast/solver/methods"
)

// matrices is one matrix, documents by terms, in the forms that factorize reads; of 0 and 1 if asked for.
func matrices(t *testing.T, zeroOne bool) map[string]string {
	t.Helper()
	const n, p = 12, 7
	at := func(i, j int) float64 {
		v := float64((i*j+i+3*j)%5) * float64(1+(i+j)%2)
		if zeroOne {
			return min(v, 1)
		}
		return v
	}
	var mtx, csv, header, npy bytes.Buffer
	var entries []string
	for i := range n {
		for j := range p {
			v := at(i, j)
			if v != 0 {
				entries = append(entries, fmt.Sprintf("%d %d %v", i+1, j+1, v))
			}
			fmt.Fprintf(&csv, "%v", v)
			if j < p-1 {
				csv.WriteByte(',')
			}
		}
		csv.WriteByte('\n')
	}
	fmt.Fprintf(&mtx, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n%s\n", n, p, len(entries),
		strings.Join(entries, "\n"))
	header.WriteString("a,b,c,d,e,f,g\n")
	header.Write(csv.Bytes())
	// The format's version 1.0: magic, version, length of the header, header padded to a multiple of 64.
	dict := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", n, p)
	dict += strings.Repeat(" ", 64-(10+len(dict)+1)%64) + "\n"
	npy.WriteString("\x93NUMPY\x01\x00")
	npy.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(dict))))
	npy.WriteString(dict)
	for i := range n {
		for j := range p {
			npy.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(at(i, j))))
		}
	}
	dir := t.TempDir()
	files := map[string]string{}
	for name, data := range map[string][]byte{
		"x.mtx": mtx.Bytes(), "x.csv": csv.Bytes(), "header.csv": header.Bytes(), "x.npy": npy.Bytes(),
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{name: data, name + ".gz": packed.Bytes()} {
			files[name] = filepath.Join(dir, name)
			if err := os.WriteFile(files[name], data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

// factorized is result.json.
type factorized struct {
	Method        string  `json:"method"`
	Status        string  `json:"status"`
	Iterations    int     `json:"iterations"`
	Objective     float64 `json:"objective"`
	MeanObjective float64 `json:"mean_objective"`
	Orthogonality float64 `json:"orthogonality_residual"`
	Seconds       map[string]float64
	Trace         []map[string]float64
	Settings      map[string]any
	Version       string
}

// TestFactorize fits a sparse and a dense matrix by every method, and by one of them the same matrix from every form of
// file, which gives the same factors.
func TestFactorize(t *testing.T) {
	t.Parallel()
	const n, p, rank = 12, 7, 2
	for _, method := range methods.Names() {
		orthonormal := strings.HasPrefix(method, "s") && method != methods.SemiNMF
		first := 0.
		for name, path := range matrices(t, methods.Domain(method) == solver.Binary) {
			if method != methods.SONMF && name != "x.mtx" && name != "x.csv" {
				continue
			}
			out := filepath.Join(t.TempDir(), "out")
			succeed(t, "", "factorize", "--method", method, "--input", path, "--rank", "2", "--out", out, "--trace",
				"--threads", "1")
			data := clitest.Read(t, filepath.Join(out, "result.json"))
			clitest.WantFields(t, "result.json", clitest.Object(t, string(data)), "method", "status", "iterations",
				"objective", "mean_objective", "orthogonality_residual", "train_accuracy", "seconds", "trace",
				"settings", "version")
			var r factorized
			if err := json.Unmarshal(data, &r); err != nil {
				t.Fatal(err)
			}
			if r.Method != method || r.Status == "" || r.Version == "" || r.Objective <= 0 || orthonormal !=
				(r.Orthogonality < 1e-10) || math.Abs(r.MeanObjective*n*p-r.Objective) > 1e-9*r.Objective {
				t.Errorf("%s of %s: result.json holds %+v", method, name, r)
			}
			for _, s := range []string{"load", "init", "solve"} {
				if v, ok := r.Seconds[s]; !ok || v < 0 {
					t.Errorf("%s of %s: seconds.%s is %v", method, name, s, v)
				}
			}
			if method != methods.SVD {
				if len(r.Trace) != r.Iterations+1 ||
					math.Abs(r.Trace[r.Iterations]["objective"]-r.Objective) > 1e-9*r.Objective {
					t.Errorf("%s: the trace has %d iterates and ends at %v, want %d and %v", name, len(r.Trace),
						r.Trace[len(r.Trace)-1], r.Iterations+1, r.Objective)
				}
				for i, it := range r.Trace {
					if it["iteration"] != float64(i) || i > 0 && method != methods.ONMF &&
						it["objective"] > r.Trace[i-1]["objective"]*(1+1e-12) {
						t.Errorf("%s: iterate %d of the trace is %v after %v", name, i, it, r.Trace[max(i-1, 0)])
					}
				}
			}
			tensors, _, err := safetensors.Read(clitest.Read(t, filepath.Join(out, "factors.safetensors")))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]int{}
			for name, tensor := range tensors {
				got[name] = tensor.Shape
			}
			if diff := cmp.Diff(map[string][]int{"scores": {n, rank}, "topics": {p, rank}}, got); diff != "" {
				t.Errorf("%s of %s: shapes (-want +got):\n%s", method, name, diff)
			}
			// A sparse matrix may be summed in another order than a dense one.
			if first == 0 {
				first = r.Objective
			} else if math.Abs(r.Objective-first) > 1e-9*first {
				t.Errorf("%s of %s: the objective is %v, of another form of the matrix %v", method, name,
					r.Objective, first)
			}
		}
	}
}

func TestFactorizeFlags(t *testing.T) {
	t.Parallel()
	files := matrices(t, false)
	out := filepath.Join(t.TempDir(), "out")
	run := func(args ...string) map[string]any {
		t.Helper()
		return clitest.Object(t, succeed(t, "",
			append([]string{"factorize", "--input", files["x.csv"], "--rank", "2", "--out", out, "--output=json"},
				args...)...))
	}
	r := run("--max-iter", "3", "--rel-tol", "0")
	if r["iterations"] != 3. {
		t.Errorf("%v updates under --max-iter 3", r["iterations"])
	}
	if trace, ok := r["trace"].([]any); ok && len(trace) > 0 {
		t.Errorf("%d iterates in a trace that nobody asked for", len(trace))
	}
	for _, init := range []string{"random", "kmeans"} {
		if r := run("--init", init, "--seed", "7"); r["objective"].(float64) <= 0 {
			t.Errorf("the objective from start %s is %v", init, r["objective"])
		}
	}
	transposed := run("--input-orientation", "terms-by-documents", "--method", "svd")
	if direct := run("--method", "svd"); math.Abs(direct["objective"].(float64)-transposed["objective"].(float64)) >
		1e-9*direct["objective"].(float64) {
		t.Errorf("svd of the transpose has objective %v, want %v", transposed["objective"], direct["objective"])
	}
	table := succeed(t, "", "factorize", "--input", files["x.csv"], "--rank", "2", "--out", out)
	if !strings.HasPrefix(table, "METHOD ") || strings.Count(table, "\n") != 2 {
		t.Errorf("factorize prints %q, want a table of one line", table)
	}

	if settings := run("--method", "l1-nmf", "--l1-topics", "0.25", "--l1-scores",
		"0")["settings"].(map[string]any); settings["l1_topics"] != .25 || settings["l1_scores"] != 0. {
		t.Errorf("the settings of --l1-topics 0.25 --l1-scores 0 are %v", settings)
	}
	one, best := run("--init", "random", "--seed", "7"), run("--init", "random", "--seed", "7", "--restarts", "5")
	if best["objective"].(float64) > one["objective"].(float64) || best["settings"].(map[string]any)["restarts"] != 5. {
		t.Errorf("the best of 5 starts has objective %v, the first %v; settings %v", best["objective"],
			one["objective"], best["settings"])
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown method":   {[]string{"--method", "oracle"}, "oracle"},
		"unknown step":     {[]string{"--step", "oracle"}, "oracle"},
		"step of another":  {[]string{"--method", "nmf", "--step", "exact"}, "no step to choose"},
		"penalty of sonmf": {[]string{"--l1-topics", "1"}, "no ℓ1 penalties"},
		"negative penalty": {[]string{"--method", "l1-nmf", "--l1-scores=-3"}, "-3"},
		"restarts of one":  {[]string{"--restarts", "3"}, "choose the start random or kmeans"},
		"no restart":       {[]string{"--restarts=-1"}, "--restarts is -1"},
		"zero restarts":    {[]string{"--restarts", "0"}, "--restarts is 0"},
		"zero updates":     {[]string{"--max-iter", "0"}, "--max-iter is 0"},
		"many threads":     {[]string{"--threads", "100000"}, "100000 threads"},
		"penalty of -1":    {[]string{"--method", "l1-nmf", "--l1-topics=-1"}, "-1"},
		"two inputs":       {[]string{"--input", files["x.mtx"]}, "--input takes one file"},
		"rank of none":     {[]string{"--rank", "0"}, "x.csv"},
		"negative rank":    {[]string{"--rank=-1"}, "x.csv"},
		"rank too large":   {[]string{"--rank", "8"}, "x.csv"},
		"start shape":      {[]string{"--start-topics", files["x.npy"]}, "x.npy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, cli.ExitUsage, append([]string{
				"factorize", "--input", files["x.csv"], "--rank", "1", "--out", filepath.Join(t.TempDir(), "out"),
			}, c.args...), c.want)
		})
	}
	for name, c := range map[string]struct {
		content string
		file    string
		args    []string
		want    []string
	}{
		"not a number": {"1,2\n3,x\n", "m.csv", nil, []string{"m.csv", "line 2", `column "2"`}},
		"ragged":       {"1,2\n3\n", "m.csv", nil, []string{"m.csv", "line 2"}},
		"outside": {
			"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", "m.mtx", nil, []string{"m.mtx", "line 3"},
		},
		"no matrix":    {"hello", "m.npy", nil, []string{"m.npy"}},
		"no gzip":      {"hello", "m.csv.gz", nil, []string{"m.csv.gz"}},
		"unknown kind": {"1,2\n3,4\n", "m.txt", nil, []string{"m.txt"}},
		"negative": {
			"1,2\n3,-4\n", "m.csv", []string{"--method", "nmf"}, []string{"m.csv", "row 2, column 2 is -4"},
		},
		"not binary": {
			"a,b,c\n1,0,1\n0,1,2\n", "m.csv",
			[]string{"--method", "sonmf-binary", "--input-orientation", "terms-by-documents"},
			[]string{"m.csv", "row 2, column 3 is 2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{
				"factorize", "--input", clitest.File(t, c.file, c.content), "--rank", "1", "--out",
				filepath.Join(t.TempDir(), "out"),
			}, c.args...)
			fail(t, cli.ExitFailed, args, c.want...)
		})
	}
}

// TestFactorizeLabels drives smf-w and smf-h by their flags.
func TestFactorizeLabels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	x, y, aux := write("x.csv", "hip,glf,cough\n2,1,0\n1,2,0\n0,1,2\n0,0,3\n3,1,0\n0,1,1\n"),
		write("y.csv", "1,1,0,0,1,0\n"), write("aux.csv", "age\n80\n71\n30\n22\n66\n41\n")
	args := func(more ...string) []string {
		return append([]string{"factorize", "--input", x, "--rank", "2", "--out", filepath.Join(t.TempDir(), "out")},
			more...)
	}
	for _, method := range methods.Supervised() {
		given := []string{
			"--method", method, "--labels", y, "--aux", aux, "--test-input", x, "--test-labels", y,
			"--test-aux", aux, "--xi", "1",
		}
		got := clitest.Object(t, succeed(t, "", args(append(given, "--ridge", "0.1", "--output=json")...)...))
		clitest.WantFields(t, method, got, "method", "status", "objective", "train_accuracy", "test_accuracy",
			"test_auroc", "settings")
		settings := got["settings"].(map[string]any)
		if got["train_accuracy"] != 1. || got["test_auroc"] != 1. || settings["xi"] != 1. || settings["ridge"] != .1 ||
			settings["cross_validation"] != nil {
			t.Errorf("%s gives %v", method, got)
		}
		settings = clitest.Object(t,
			succeed(t, "", args(append(given, "--ridge", "auto", "--output=json")...)...))["settings"].(map[string]any)
		if v, _ := settings["cross_validation"].(map[string]any); v["folds"] != 5. ||
			fmt.Sprint(v["chosen"]) != "[ridge]" {
			t.Errorf("%s with ridge auto says %v", method, settings)
		}
		table := succeed(t, "", args(append(given, "--ridge", "0.1")...)...)
		for _, column := range []string{"XI", "RIDGE", "TRAIN ACCURACY", "TEST ACCURACY", "TEST AUROC"} {
			if !strings.Contains(table, column) {
				t.Errorf("%s prints %q, want %s in it", method, table, column)
			}
		}
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no ridge":        {[]string{"--ridge", "0"}, []string{"grow without bound"}},
		"a step of 9":     {[]string{"--ridge", "0.1", "--step", "9"}, []string{"did not end at a minimum", "cycling"}},
		"nothing amiss":   {[]string{"--ridge", "0.1", "--class-weights", "balanced"}, nil},
		"a single update": {[]string{"--ridge", "0.1", "--max-iter", "1"}, nil},
	} {
		r := wardcast(t, "",
			args(append([]string{"--method", "smf-w", "--labels", y, "--xi", "0.01"}, c.args...)...)...)
		if r.Code != 0 || c.want == nil && r.Stderr != "" {
			t.Errorf("%s: exits %d and says %q", name, r.Code, r.Stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(r.Stderr, want) {
				t.Errorf("%s: says %q, want %q in it", name, r.Stderr, want)
			}
		}
	}
	for name, c := range map[string]struct {
		code int
		args []string
		want []string
	}{
		"none": {cli.ExitUsage, []string{"--method", "smf-w"}, []string{"needs labels"}},
		"weights of nmf": {cli.ExitUsage, []string{"--method", "nmf", "--class-weights", "none"}, []string{
			"class weights", "does not use labels",
		}},
		"weights": {
			cli.ExitUsage,
			[]string{"--method", "smf-w", "--labels", y, "--class-weights", "equal"},
			[]string{"--class-weights", "balanced"},
		},
		"of sonmf": {cli.ExitUsage, []string{"--labels", y}, []string{"does not use labels"}},
		"xi of nmf": {
			cli.ExitUsage, []string{"--method", "nmf", "--xi", "1"}, []string{"xi", "does not use labels"},
		},
		"xi": {
			cli.ExitUsage, []string{"--method", "smf-w", "--labels", y, "--xi", "high"}, []string{"xi", "high"},
		},
		"name for a step": {cli.ExitUsage, []string{"--method", "smf-h", "--labels", y, "--step", "cayley"}, []string{
			"cayley", "number",
		}},
		"number as name": {cli.ExitUsage, []string{"--method", "sonmf", "--step", "0.1"}, []string{"0.1", "cayley"}},
		"test alone": {
			cli.ExitUsage, []string{"--method", "smf-w", "--labels", y, "--test-input", x}, []string{"test documents"},
		},
		"negative": {
			cli.ExitFailed,
			[]string{"--method", "smf-w", "--labels", write("bad.csv", "0\n1\n0\n-1\n0\n1\n")},
			[]string{"bad.csv", "line 4", "negative"},
		},
		"one class": {
			cli.ExitFailed,
			[]string{"--method", "smf-w", "--labels", write("one.csv", "0,0,0,0,0,0\n")},
			[]string{"one.csv", "class 0"},
		},
		"count": {cli.ExitFailed, []string{"--method", "smf-w", "--labels", write("few.csv", "0,1\n")}, []string{
			"few.csv", "2 labels", "6 documents",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, c.code, args(c.args...), c.want...)
		})
	}
}
