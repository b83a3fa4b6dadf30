package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// With --bootstrap there is a table with a row for each item and each column of the loadings, whose loadings are those
// of loadings.csv, and what each factor explains is cross-validated. Without it there is neither.
func TestQuestionnaireBootstrap(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	for _, method := range []string{model.MethodICQF, model.MethodFA, model.MethodL1} {
		fit := []string{
			"questionnaire", "fit", path, "--items", "q*", "--missing-code", "-9999", "--range", "0:4",
			"--factors", "2", "--method", method, "--confounds", "sex:categorical",
		}
		dir := t.TempDir()
		result := func(more ...string) (s model.Summary) {
			succeed(t, "", slices.Concat(fit, []string{"--out", dir}, more)...)
			data, err := os.ReadFile(filepath.Join(dir, model.ResultFile))
			if err == nil {
				err = json.Unmarshal(data, &s)
			}
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := result("--bootstrap", "40")
		if s.Bootstrap == nil || s.Bootstrap.Replicates != 40 || s.ExplainedBy == nil ||
			s.ExplainedBy.CrossValidated == nil {
			t.Fatalf("%s: bootstrap %+v, explained by %+v", method, s.Bootstrap, s.ExplainedBy)
		}
		if (s.Bootstrap.FactorCorrelations != nil) != (method == model.MethodFA) {
			t.Errorf("%s: factor correlations %+v", method, s.Bootstrap.FactorCorrelations)
		}
		loadings, intervals := readTable(t, filepath.Join(dir, model.TableFile)),
			readTable(t, filepath.Join(dir, model.IntervalsFile))
		if head := strings.Join(intervals[0], ","); head != "item,factor,loading,se,low,high" ||
			len(intervals)-1 != (len(loadings)-1)*(len(loadings[0])-1) {
			t.Fatalf("%s: %d rows of %q for %d items on %d columns", method, len(intervals)-1, head, len(loadings)-1,
				len(loadings[0])-1)
		}
		for _, row := range intervals[1:] {
			item := slices.IndexFunc(loadings, func(of []string) bool { return of[0] == row[0] })
			if want := loadings[item][slices.Index(loadings[0], row[1])]; row[2] != want {
				t.Errorf("%s: loading %q of %s on %s, want %q", method, row[2], row[0], row[1], want)
			}
			low, _ := strconv.ParseFloat(row[4], 64)
			if high, err := strconv.ParseFloat(row[5], 64); err != nil || low > high {
				t.Errorf("%s: an interval from %q to %q", method, row[4], row[5])
			}
		}
		if s := result(); s.Bootstrap != nil || s.ExplainedBy == nil || s.ExplainedBy.CrossValidated != nil {
			t.Errorf("%s without bootstrap: %+v, explained by %+v", method, s.Bootstrap, s.ExplainedBy)
		}
		if _, err := os.Stat(filepath.Join(dir, model.IntervalsFile)); !os.IsNotExist(err) {
			t.Errorf("%s without bootstrap leaves the intervals of an earlier fit: %v", method, err)
		}
	}
	fail(t, cli.ExitUsage,
		[]string{"questionnaire", "fit", path, "--items", "q*", "--out", t.TempDir(), "--bootstrap", "39"},
		"39 replicates", "at least 40")
}

// readTable reads a CSV.
func readTable(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
