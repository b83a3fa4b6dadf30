//go:build unix

package elasticnet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBesideR runs R's glmnet and this package on the same cases, one after the other, three rounds of the best of
// three, on one thread, and prints the ratio of the processor times:
//
//	WARDCAST_R=1 WARDCAST_SHARED=… go test -run TestBesideR -v ./classifier/elasticnet
//
// It also compares coefficients at both sides' optimum. It needs r-base-core, r-cran-glmnet and r-cran-jsonlite,
// and is not parallel, because it sets GOMAXPROCS.
func TestBesideR(t *testing.T) {
	if os.Getenv("WARDCAST_R") != "1" {
		t.Skip("WARDCAST_R is not 1")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, name := range []string{"bow_tfidf", "proj_K50", "proj_K150"} {
		t.Run(name, func(t *testing.T) {
			c := shared(t, name)
			dir := t.TempDir()
			c.write(t, dir)
			kind := "dense"
			if name == "bow_tfidf" {
				kind = "sparse"
			}
			cv, path, oursCV, oursPath := math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)
			var theirs besideR
			for range 3 {
				theirs = runR(t, dir, kind)
				cv, path = min(cv, theirs.CV), min(path, theirs.Path)
				for range 3 {
					oursCV = min(oursCV, seconds(t, func() error {
						_, err := CrossValidate(context.Background(), c.problem, c.folds, DefaultSettings())
						return err
					}))
					oursPath = min(oursPath, seconds(t, func() error {
						_, err := Fit(context.Background(), c.problem, DefaultSettings())
						return err
					}))
				}
			}
			t.Logf("cross-validation %.3f s, glmnet %.3f s, ratio %.2f; path %.3f s, glmnet %.3f s, ratio %.2f", oursCV,
				cv, oursCV/cv, oursPath, path, oursPath/path)
			c.compareTight(t, theirs)
		})
	}
}

// besideR is what testdata/beside.R prints.
type besideR struct {
	CV           float64   `json:"cv"`   // seconds
	Path         float64   `json:"path"` // seconds
	Lambda       []float64 `json:"lambda"`
	Intercept    float64   `json:"intercept"`
	Coefficients []float64 `json:"coefficients"`
}

func seconds(t *testing.T, f func() error) float64 {
	t.Helper()
	start := processorTime(t)
	if err := f(); err != nil {
		t.Fatal(err)
	}
	return (processorTime(t) - start).Seconds()
}

// processorTime returns what this process has used, which other load on the machine disturbs least.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func runR(t *testing.T, dir, kind string) besideR {
	t.Helper()
	command := exec.CommandContext(t.Context(), "Rscript", filepath.Join("testdata", "beside.R"), dir, kind)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("running Rscript: %v", err)
	}
	var r besideR
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("reading what R printed: %v", err)
	}
	return r
}

// write stores the case for R.
func (c *sharedCase) write(t *testing.T, dir string) {
	t.Helper()
	var entries, labels bytes.Buffer
	count := 0
	for j, column := range c.problem.Design.columns {
		for e, v := range column.values {
			fmt.Fprintf(&entries, "%d %d %.17g\n", column.row(e)+1, j+1, v)
			count++
		}
	}
	n, p := c.problem.Design.Dims()
	header := fmt.Sprintf("%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", n, p, count)
	fmt.Fprintln(&labels, "label,fold")
	for i, f := range c.folds {
		label := 0
		if c.problem.Y[i] {
			label = 1
		}
		fmt.Fprintf(&labels, "%d,%d\n", label, f+1)
	}
	for name, data := range map[string][]byte{
		"design.mtx": append([]byte(header), entries.Bytes()...), "labels.csv": labels.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// compareTight compares coefficients at R's λ of least deviance, with tolerances that leave both at the optimum.
func (c *sharedCase) compareTight(t *testing.T, r besideR) {
	t.Helper()
	s := DefaultSettings()
	s.Lambda = r.Lambda
	s.Tolerance = 1e-14
	path, err := Fit(t.Context(), c.problem, s)
	if err != nil {
		t.Fatal(err)
	}
	last := len(r.Lambda) - 1
	worst := math.Abs(path.Intercept[last] - r.Intercept)
	for j, v := range path.Dense(last) {
		worst = max(worst, math.Abs(v-r.Coefficients[j]))
	}
	t.Logf("largest difference of a coefficient: %.2g", worst)
	if worst > 1e-4 {
		t.Errorf("coefficients differ by %v", worst)
	}
}
