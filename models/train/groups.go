package train

import (
	"maps"
	"slices"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// Group holds the notes of one complaint.
type Group struct {
	Data
	Complaint string // as first spelled
	At        []int  // positions of the rows in the table
}

// enough reports whether the group holds so many notes, and so many of each outcome.
func (g *Group) enough(documents, events int) bool {
	counts := make([]int, max(len(g.Classes), 2))
	for _, class := range g.labels() {
		counts[class]++
	}
	return len(g.Rows) >= documents && slices.Min(counts) >= events
}

// Groups returns the complaints with so many notes, and enough of each outcome to measure predictions by
// cross-validation, in the order of the names of their models.
func Groups(d Data, minDocuments int) []Group {
	return slices.DeleteFunc(byComplaint(d), func(g Group) bool { return !g.enough(minDocuments, minClass) })
}

// byComplaint returns all complaints in that order. Notes without a complaint belong to no group.
func byComplaint(d Data) []Group {
	d.Pooled = false
	found := byModel(d.Rows)
	delete(found, bundle.Other)
	groups := make([]Group, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		at := found[name]
		groups = append(groups, Group{d.subset(at), d.Rows[at[0]].Complaint, at})
	}
	return groups
}

// byModel returns the positions of the rows of each complaint, by the name that a model of its own has or would have.
func byModel(all []Row) map[string][]int {
	return scoredBy(all, func(string) bool { return true })
}

// scoredBy returns the positions of the rows that each model scores: that of the complaint, else that of all.
func scoredBy(all []Row, exists func(model string) bool) map[string][]int {
	found := map[string][]int{}
	for i := range all {
		name := bundle.Slug(all[i].Complaint)
		if !exists(name) {
			name = bundle.Other
		}
		found[name] = append(found[name], i)
	}
	return found
}

func labels(all []Row) []bool {
	y := make([]bool, len(all))
	for i := range all {
		y[i] = all[i].Positive
	}
	return y
}

// Positives returns the number of admitted rows.
func Positives(all []Row) int {
	n := 0
	for i := range all {
		if all[i].Positive {
			n++
		}
	}
	return n
}

// rarer returns the number of notes of the rarer outcome.
func rarer(rows []Row) int {
	n := Positives(rows)
	return min(n, len(rows)-n)
}
