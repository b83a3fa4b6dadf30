package answers

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/internal/questionnaire"
)

// apart returns the range of the answers that lie far from all others; the answers to each item are sorted. The widest
// gap between two answers must be wider than the narrowest gap, and at least as wide as the answers on either side of
// it. The side with fewer answers is apart; if both have as many, the one that reaches farther from 0.
func apart(items ...[]float64) (far questionnaire.Range, ok bool) {
	var distinct []float64
	excess := 0 // of answers above the gap over those below it
	for _, sorted := range items {
		for i, v := range sorted {
			if i == 0 || v != sorted[i-1] {
				distinct = append(distinct, v)
			}
		}
		excess += len(sorted)
	}
	slices.Sort(distinct)
	narrowest, widest, at := math.Inf(1), 0.0, 0
	for i := 1; i < len(distinct); i++ {
		gap := distinct[i] - distinct[i-1]
		if gap > widest {
			widest, at = gap, i
		}
		if gap > 0 {
			narrowest = min(narrowest, gap)
		}
	}
	if !(widest > narrowest) {
		return far, false
	}
	for _, sorted := range items {
		below, _ := slices.BinarySearch(sorted, distinct[at])
		excess -= 2 * below
	}
	low, high := ends(distinct[:at]), ends(distinct[at:])
	if far = high; excess > 0 || excess == 0 && -low.Low > high.High {
		far = low
	}
	return far, widest >= max(low.High-low.Low, high.High-high.Low)
}

func ends(sorted []float64) questionnaire.Range {
	return questionnaire.Range{Low: sorted[0], High: sorted[len(sorted)-1]}
}

var usualCode = regexp.MustCompile(`^(-[6-9]|-?(66+|77+|88+|9+\d))$`)

// conventional reports whether both ends look like codes of missing answers, as 88, 99, 998, -9 and -99 do.
func conventional(r questionnaire.Range) bool {
	code := func(v float64) bool { return usualCode.MatchString(strconv.FormatFloat(v, 'f', -1, 64)) }
	return code(r.Low) && code(r.High)
}

// noAnswer matches labels of choices that are no answer.
var noAnswer = regexp.MustCompile(`(?i)^(?:` + strings.ReplaceAll(saysNoAnswer+`)(?:(?: or |[ ,/;]+)(?:`+saysNoAnswer,
	" ", `\s+`) + `))*\W*$`)

const saysNoAnswer = `unknown|(?:i )?(?:don['’]?t|do not) know|dk|n/?a|no (?:answer|response|data)` +
	`|(?:question )?not (?:applicable|available|asked|answered|assessed|recorded|collected|known|reported)` +
	`|refused?(?: to (?:answer|say))?|declined?(?: to (?:answer|say))?` +
	`|(?:i )?(?:would )?prefer(?:red)? not to (?:answer|say|respond|disclose)|missing|skipped`

// scale returns the range of the choices that are answers, nil unless these are two numbers or more, and the choices
// that look like codes of missing answers: those far from the others with a conventional code, those at an end with a
// label that says so, and those with such a label and no number.
func scale(choices []questionnaire.Choice, missing *questionnaire.Missing) (r *questionnaire.Range,
	doubtful []questionnaire.Choice,
) {
	var codes []float64
	label := map[float64]questionnaire.Choice{}
	for _, c := range choices {
		v, err := missing.Value(c.Code)
		switch {
		case err != nil && noAnswer.MatchString(c.Label):
			doubtful = append(doubtful, c)
		case err != nil:
			return nil, nil
		case answered(v):
			codes = append(codes, v)
			label[v] = c
		}
	}
	slices.Sort(codes)
	for left := 0; left != len(codes); { // until nothing more is taken out
		left = len(codes)
		far, ok := apart(codes)
		out := func(v float64) bool {
			atEnd := v == codes[0] || v == codes[len(codes)-1]
			return ok && conventional(far) && far.Holds(v) || atEnd && noAnswer.MatchString(label[v].Label)
		}
		for _, v := range codes {
			if out(v) {
				doubtful = append(doubtful, label[v])
			}
		}
		codes = slices.DeleteFunc(slices.Clone(codes), out)
	}
	if len(codes) == 0 || codes[0] == codes[len(codes)-1] {
		return nil, doubtful
	}
	return &questionnaire.Range{Low: codes[0], High: codes[len(codes)-1]}, doubtful
}
