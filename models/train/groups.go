package train

import (
	"maps"
	"slices"

	"github.com/wardcast/wardcast/models"
)

// group holds the notes of one complaint.
type group struct {
	complaint string // as first spelled
	rows      []int
	classes   []int // rows of each class
}

// enough reports whether the group can have a model of its own.
func (g *group) enough(documents int) bool {
	return len(g.rows) >= documents && slices.Min(g.classes) >= minClass
}

// byComplaint returns the groups in the order of the names of their models. Notes without a complaint belong to no group.
func byComplaint(d *Data) []group {
	classes := d.labels()
	found := map[string]*group{}
	for i, row := range d.Rows {
		name := models.Slug(row.Complaint)
		if name == models.Other {
			continue
		}
		if found[name] == nil {
			found[name] = &group{complaint: row.Complaint, classes: make([]int, max(len(d.Classes), 2))}
		}
		found[name].rows = append(found[name].rows, i)
		found[name].classes[classes[i]]++
	}
	groups := make([]group, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		groups = append(groups, *found[name])
	}
	return groups
}

// Group holds the notes of one complaint.
type Group struct {
	Data
	Complaint string
	At        []int // positions of the rows in the table
}

// Groups returns the complaints with enough notes for a model of their own.
func Groups(d Data, minDocuments int) []Group {
	var out []Group
	d.Pooled = false
	for _, g := range byComplaint(&d) {
		if g.enough(minDocuments) {
			out = append(out, Group{d.subset(g.rows), g.complaint, g.rows})
		}
	}
	return out
}

// take returns these entries of a list.
func take[T any](all []T, at []int) []T {
	out := make([]T, len(at))
	for i, r := range at {
		out[i] = all[r]
	}
	return out
}

func labels(all []Row) []bool {
	y := make([]bool, len(all))
	for i := range all {
		y[i] = all[i].Positive
	}
	return y
}

func positives(all []Row) int {
	n := 0
	for i := range all {
		if all[i].Positive {
			n++
		}
	}
	return n
}
