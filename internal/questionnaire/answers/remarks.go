package answers

import (
	"maps"
	"slices"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Remarks are warnings and information about the file.
type Remarks struct {
	// Unanswered and Incomplete are the first lines of participants who have no row: those without any answer, and
	// those who lack a confound. Visits are lines of the latter kind whose participants have other rows.
	Unanswered, Incomplete, Visits []int
	// Dropped are items of visits that are left out because no answers were given or all were the same.
	Dropped []string
	// Inferred are the items without a range of their own: it is the least and the largest answer to each.
	Inferred []string
	// Apart are answers to them that are far from all others, and ApartConfounds such values of confounds, nil without
	// any.
	Apart, ApartConfounds *Apart
	// Labelled and LimeSurvey are the numbers of answers that were labels of the codebook and codes such as A1.
	// Unsaved are participants with boxes of forms that are not complete, which are missing answers.
	Labelled, LimeSurvey, Unsaved int

	// Either are items all of whose answers are codes that are labels of other codes too: they count as codes.
	Either  []string
	Merged  []Merged
	Lacking []Lacking
	// Single are items to which all but one gave the same answer: they do not vary once that one is held out.
	Single []string
	// Opposed and Warnings, about input that may distort the factors, are filled in by package fit.
	Opposed  []Opposed
	Warnings []string
	// FoundID is the column of ids if it was found by its name, "" if it was given or is missing.
	FoundID string
	// Repeated counts the participants with several visits in a bin.
	Repeated int
	// Numbered: the ids are row numbers, which cannot be matched with another file.
	Numbered bool
}

// Lacking are groups that never answered the Scales, which other participants answered.
type Lacking struct {
	Column       string
	Groups       []string
	Participants int      // of all these groups
	Scales       []string // an item without a subscale is its own scale
}

// Opposed are items that correlate negatively with their scale, "" for items without one.
type Opposed struct {
	Scale string
	Items []string
}

// LeastGroup is the minimum size of a group to report: a smaller one may lack scales by chance, or identify a person.
const LeastGroup = 5

// lack records the groups that lack whole scales.
func (t *Table) lack(g Grouping) {
	people := map[string]map[string]bool{} // by group
	for i, group := range g.Values {
		if people[group] == nil {
			people[group] = map[string]bool{}
		}
		people[group][t.IDs[i]] = true
	}
	scales := questionnaire.ScalesOf(t.Items, linalg.Indices(len(t.Items)), true)
	answeredBy := make([]map[string]bool, len(scales)) // by which groups
	for s, scale := range scales {
		answeredBy[s] = map[string]bool{}
		for i, group := range g.Values {
			if slices.ContainsFunc(scale.Items, func(j int) bool { return answered(t.Answers.At(i, j)) }) {
				answeredBy[s][group] = true
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(people)) {
		l := Lacking{Column: g.Column, Groups: []string{group}, Participants: len(people[group])}
		for s, by := range answeredBy {
			if len(by) > 0 && !by[group] {
				l.Scales = append(l.Scales, scales[s].Name)
			}
		}
		if group == "" || l.Participants < LeastGroup || len(l.Scales) == 0 {
			continue
		}
		same := slices.IndexFunc(t.Lacking,
			func(o Lacking) bool { return o.Column == l.Column && slices.Equal(o.Scales, l.Scales) })
		if same < 0 {
			t.Lacking = append(t.Lacking, l)
			continue
		}
		t.Lacking[same].Groups = append(t.Lacking[same].Groups, group)
		t.Lacking[same].Participants += l.Participants
	}
}

// Merged is a label with more than two values: all but the positive one count as one.
type Merged struct {
	questionnaire.Label
	Values int // other than the positive one
}

// Apart are answers, or values of confounds, far from all others: they look like unnamed codes of missing entries.
type Apart struct {
	questionnaire.Range
	Answers int
	Line    int // of the first
	Column  string
}

// findSingle records items to which all participants but one gave the same answer.
func (t *Table) findSingle() {
	for j, item := range t.Items {
		counts, all := map[float64]int{}, 0
		for i := range t.IDs {
			if v := t.Answers.At(i, j); answered(v) {
				counts[v]++
				all++
			}
		}
		if len(counts) == 2 && all > 2 && slices.Max(slices.Collect(maps.Values(counts))) == all-1 {
			t.Single = append(t.Single, item.Name)
		}
	}
}
