package cfa

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
)

// The operators of the syntax, and of the parameters that no line of a model names.
const (
	opLoading    = "=~"
	opCovariance = "~~"
	opEqual      = "=="
	opMean       = "~1"
	opThreshold  = "|"
	opScale      = "~*~"
)

// term is one parameter that a model names: lhs op rhs, with its modifiers.
type term struct {
	line         int
	lhs, op, rhs string
	fixed, start *float64
	free         bool   // NA
	label        string // equal labels are equal parameters
}

// is reports whether the term names this parameter: a covariance either way round.
func (t *term) is(op, lhs, rhs string) bool {
	return t.op == op && (t.lhs == lhs && t.rhs == rhs || op == opCovariance && t.lhs == rhs && t.rhs == lhs)
}

var (
	// operators are all of lavaan's, so that those of other models are named in the error; longer ones first.
	operators = regexp.MustCompile(`=~|~\*~|~~|:=|==|<~|~|\||<|>`)
	name      = regexp.MustCompile(`^[\p{L}_.][\p{L}\p{N}_.\-]*$`)
	starting  = regexp.MustCompile(`^start\(([^()]*)\)$`)
)

// statement is a line of a model, with the lines on which it goes on.
type statement struct {
	line int
	text string
}

// statements splits a model into its statements, without comments. A statement goes on in the next line after an
// operator, a plus or a star, and before a plus.
func statements(text string) (all []statement) {
	open := false // the last statement goes on
	for i, line := range strings.Split(text, "\n") {
		if at := strings.IndexAny(line, "#!"); at >= 0 {
			line = line[:at]
		}
		for part := range strings.SplitSeq(line, ";") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			if (open || strings.HasPrefix(part, "+")) && len(all) > 0 {
				all[len(all)-1].text += " " + part
			} else {
				all = append(all, statement{i + 1, part})
			}
			open = strings.ContainsRune("~+*=,|", rune(part[len(part)-1]))
		}
	}
	return all
}

// maxTerms bounds the terms of a model: each is compared with all before it.
const maxTerms = 10_000

var errManyTerms = fmt.Errorf("more than %d terms", maxTerms)

// parse reads the part of lavaan's syntax that means measurement models:
//
//	factor =~ item + 1*item + a*item + NA*item + start(0.5)*item
//	item ~~ item        a residual covariance; factor ~~ factor alike, and 0*, 1* and labels as above
//	a == b              the parameters with these labels are equal
//
// The error is a *table.Error with the line.
func parse(file, text string) ([]term, error) {
	var all []term
	for _, s := range statements(text) {
		terms, err := s.terms()
		if err == nil && len(all)+len(terms) > maxTerms {
			err = errManyTerms
		}
		if err != nil {
			return nil, &table.Error{File: file, Line: s.line, Err: err}
		}
		for _, t := range terms {
			same := func(o term) bool { return o.op != opEqual && o.is(t.op, t.lhs, t.rhs) }
			if first := slices.IndexFunc(all, same); first >= 0 {
				return nil, &table.Error{File: file, Line: t.line, Err: fmt.Errorf("%s %s %s stands on line %d too",
					t.lhs, t.op, t.rhs, all[first].line)}
			}
			all = append(all, t)
		}
	}
	return all, nil
}

func (s *statement) terms() ([]term, error) {
	found := operators.FindAllStringIndex(s.text, -1)
	if len(found) == 0 {
		return nil, errors.New("no line of a model: it has no =~ and no ~~")
	}
	at := found[0]
	op := s.text[at[0]:at[1]]
	if !slices.Contains([]string{opLoading, opCovariance, opEqual}, op) {
		return nil, fmt.Errorf("%s is not part of a measurement model here; =~, ~~ and == are", op)
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("a second operator, %s: is a side of %s empty, or the end of a line missing",
			s.text[found[1][0]:found[1][1]], op)
	}
	left, right := strings.Split(s.text[:at[0]], "+"), strings.Split(s.text[at[1]:], "+")
	if len(left)*len(right) > maxTerms {
		return nil, errManyTerms
	}
	var all []term
	for _, lhs := range left {
		if lhs = strings.TrimSpace(lhs); !name.MatchString(lhs) {
			return nil, notName(lhs, "left", op)
		}
		for _, rhs := range right {
			t := term{line: s.line, lhs: lhs, op: op}
			modifiers := strings.Split(rhs, "*")
			last := len(modifiers) - 1
			if t.rhs = strings.TrimSpace(modifiers[last]); !name.MatchString(t.rhs) {
				return nil, notName(t.rhs, "right", op)
			}
			if op == opEqual && (last > 0 || len(left)+len(right) > 2) {
				return nil, errors.New("== stands between two labels")
			}
			for _, m := range modifiers[:last] {
				if err := t.modify(strings.TrimSpace(m)); err != nil {
					return nil, err
				}
			}
			all = append(all, t)
		}
	}
	return all, nil
}

func notName(text, side, op string) error {
	if text == "" {
		return fmt.Errorf("a name is missing on the %s of %s", side, op)
	}
	return fmt.Errorf("%q on the %s of %s is not a name", text, side, op)
}

// modify reads what stands before a star.
func (t *term) modify(text string) error {
	v, err := wording.Number(text)
	match := starting.FindStringSubmatch(text)
	again := false
	switch {
	case err == nil:
		again, t.fixed = t.fixed != nil || t.free, &v
	case text == "NA":
		again, t.free = t.fixed != nil || t.free, true
	case match != nil:
		if v, err = wording.Number(match[1]); err != nil {
			return fmt.Errorf("%s holds no number", text)
		}
		again, t.start = t.start != nil, &v
	case name.MatchString(text):
		again, t.label = t.label != "", text
	default:
		return fmt.Errorf("%q before * is neither a number, NA, start(number) nor a label", text)
	}
	if again {
		return fmt.Errorf("%s* is a second value or label of %s", text, t.rhs)
	}
	return nil
}
