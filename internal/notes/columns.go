package notes

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models/train"
)

// DefaultPositive is the label of the admitted unless another is given.
const DefaultPositive = "1"

// siteColumn is the column, if there is one, that tells the subgroups by site apart.
const siteColumn = "site"

// Columns says what the columns of a table mean. An empty name stands for the default: text, label, complaint,
// arrived_at, visit_id, patient_id. The default complaint, time, id and patient columns may be absent; a column that is
// named must be there.
type Columns struct {
	Text      string `json:"text,omitempty"`
	Label     string `json:"label,omitempty"`
	Positive  string `json:"positive,omitempty"` // the label's value that counts as admitted if there are no Classes
	Complaint string `json:"complaint,omitempty"`
	Time      string `json:"time,omitempty"`
	ID        string `json:"id,omitempty"`
	Patient   string `json:"patient,omitempty"`
	Aux       []Aux  `json:"aux,omitempty"`
	// Classes are the label's values that are outcomes of their own, the reference first. The single value AutoClasses
	// stands for all values, the commonest first. Without Classes there are two outcomes, Positive and all else.
	Classes []string `json:"classes,omitempty"`
	// Admission are those of the Classes that count as admitted; none means all but the reference.
	Admission []string `json:"admission,omitempty"`
}

// Aux is an auxiliary column: Column in the file, Name in the note.
type Aux struct {
	Column string         `json:"column"`
	Kind   bundle.AuxKind `json:"kind"`
	Name   string         `json:"name"`
}

// Features returns what the Aux of the rows are.
func (c *Columns) Features() []train.Aux {
	var all []train.Aux
	for _, a := range c.Aux {
		all = append(all, train.Aux{Name: a.Name, Kind: a.Kind})
	}
	return all
}

// ParseAux reads "Age:numeric=age,sex:categorical": column, kind and the note's field, unless that is the column's name
// in lower case.
func ParseAux(list string) ([]Aux, error) {
	var all []Aux
	seen := map[string]bool{}
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		column, kind, ok := strings.Cut(item, ":")
		kind, name, named := strings.Cut(kind, "=")
		a := Aux{
			Column: strings.TrimSpace(column), Kind: bundle.AuxKind(strings.TrimSpace(kind)),
			Name: strings.TrimSpace(name),
		}
		if !named {
			a.Name = strings.ToLower(a.Column)
		}
		if !ok || a.Column == "" || a.Name == "" || a.Kind != bundle.Numeric && a.Kind != bundle.Categorical {
			return nil, fmt.Errorf("auxiliary column %q: write column:%s or column:%s, and =field if the note's "+
				"field has another name", item, bundle.Numeric, bundle.Categorical)
		}
		if a.Name == bundle.ComplaintColumn {
			return nil, fmt.Errorf("auxiliary column %q: the model of all complaints knows the complaint without it",
				item)
		}
		if seen[a.Name] {
			return nil, fmt.Errorf("auxiliary column %q: the field %q is given twice", item, a.Name)
		}
		seen[a.Name] = true
		all = append(all, a)
	}
	return all, nil
}

// named returns the columns with a name for each role.
func (c Columns) named() Columns {
	c.Text = cmp.Or(c.Text, "text")
	c.Label = cmp.Or(c.Label, "label")
	c.Positive = cmp.Or(c.Positive, DefaultPositive)
	c.Complaint = cmp.Or(c.Complaint, "complaint")
	c.Time = cmp.Or(c.Time, "arrived_at")
	c.ID = cmp.Or(c.ID, "visit_id")
	c.Patient = cmp.Or(c.Patient, "patient_id")
	return c
}
