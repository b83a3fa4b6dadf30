package cfa_test

import (
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/cfa"
)

// Answers that look like codes of missing entries are remarked on before a search that they lead astray.
func TestCodesOfMissingEntries(t *testing.T) {
	t.Parallel()
	plain := ordered(1, 100, 0, 0, .2, .8)
	coded := strings.Replace(plain, "b,2,", "b,999,", 3)
	for _, c := range []struct {
		name, text string
		missing    []string
		answers    int
	}{
		{name: "plain answers", text: plain},
		{name: "a code", text: coded, answers: 3},
		{name: "a code that is named", text: coded, missing: []string{"999"}},
	} {
		remarked, found := false, 0
		_, err := attempt(t, cfa.Options{Missing: c.missing, Remark: func(of answers.Remarks) {
			remarked = true
			if of.Apart != nil {
				found = of.Apart.Answers
			}
		}}, c.text, model)
		if !remarked || found != c.answers {
			t.Errorf("%s: %d answers are apart, want %d; error %v", c.name, found, c.answers, err)
		}
	}
}
