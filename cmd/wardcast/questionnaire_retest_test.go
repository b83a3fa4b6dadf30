package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// The visits of the people of Shrout and Fleiss (1979), by the answers and with the factor of a fit.
func TestQuestionnaireRetest(t *testing.T) {
	t.Parallel()
	text := "id,wave,q1\n"
	for i, row := range []string{"9 2 5 8", "6 1 3 2", "8 4 6 8", "7 1 2 6", "10 5 6 9", "6 2 4 7"} {
		for wave, answer := range strings.Fields(row) {
			text += fmt.Sprintf("p%d,%d,%s\n", i, wave, answer)
		}
	}
	path := clitest.File(t, "visits.csv", text)
	call := []string{"questionnaire", "retest", path, "--time", "wave", "--bins", "0,1,2,3,4"}
	printed := succeed(t, "", append(call, "--items", "q*")...)
	for _, want := range []string{"SCORE ", "\nprorated_all  6 ", " 0.290 ", " 0.715 ", " 0.342 to 0.946"} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is missing in\n%s", want, printed)
		}
	}
	fail(t, cli.ExitUsage, call, "--items or --codebook must say")
	one := []string{"questionnaire", "retest", path, "--time", "wave", "--bins", "0,4", "--items", "q*"}
	fail(t, cli.ExitFailed, one, `column "wave": no participant has a score in each of several bins`)

	dir := filepath.Join(t.TempDir(), "model")
	succeed(t, "", "questionnaire", "fit", answersFile(t), "--items", "q*", "--missing-code", "-9999", "--factors", "2",
		"--beta", "0.1", "--out", dir)
	fail(t, cli.ExitFailed, append(call, "--model", dir), "q2")
}
