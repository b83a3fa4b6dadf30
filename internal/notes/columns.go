package notes

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/train"
)

// DefaultPositive is the label of the admitted unless another is given.
const DefaultPositive = "1"

// siteColumn is the optional column of the site, for the subgroups by site.
const siteColumn = "site"

// Columns names the columns of a table by their roles. An empty name is the default: text, label, complaint,
// arrived_at, visit_id, patient_id. The last four may be absent, unless they are named here.
type Columns struct {
	Text      string `json:"text,omitempty"`
	Label     string `json:"label,omitempty"`
	Positive  string `json:"positive,omitempty"` // the label's value that counts as admitted if there are no Classes
	Complaint string `json:"complaint,omitempty"`
	Time      string `json:"time,omitempty"`
	ID        string `json:"id,omitempty"`
	Patient   string `json:"patient,omitempty"`
	Aux       []Aux  `json:"aux,omitempty"`
	// Classes are the outcomes, the reference first, or AutoClasses for all values of the label, the most common first.
	// Without Classes there are two outcomes: Positive and all other values.
	Classes []string `json:"classes,omitempty"`
	// Admission are the Classes that count as admitted; if empty, all except the reference.
	Admission []string `json:"admission,omitempty"`
	// Warn is that of table.Options.
	Warn func(message string, facts ...any) `json:"-"`
}

// Aux is an auxiliary column: Column in the file, Name in the note.
type Aux struct {
	Column string         `json:"column"`
	Kind   bundle.AuxKind `json:"kind"`
	Name   string         `json:"name"`
}

// Features returns the names and kinds of the rows' Aux values.
func (c *Columns) Features() []train.Aux {
	return lists.Map(c.Aux, func(a Aux) train.Aux { return train.Aux{Name: a.Name, Kind: a.Kind} })
}

// ParseAux reads "Age:numeric=age,sex:categorical": column, kind and the note's field, by default the column's name in
// lower case.
func ParseAux(list string) ([]Aux, error) {
	var all []Aux
	seen, known := map[string]bool{}, slices.Concat(msg.NumberNames(), msg.WordNames())
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
			a.Name = strings.TrimPrefix(strings.ToLower(a.Column), fieldsPrefix)
		}
		if !ok || a.Column == "" || a.Name == "" || a.Kind != bundle.Numeric && a.Kind != bundle.Categorical {
			return nil, fmt.Errorf("auxiliary column %q: write column:%s or column:%s, and =field if the note's "+
				"field has another name", item, bundle.Numeric, bundle.Categorical)
		}
		if a.Name == bundle.ComplaintColumn {
			return nil, fmt.Errorf("auxiliary column %q: the model of all complaints already uses the complaint", item)
		}
		if !msg.SiteField(a.Name) && !slices.Contains(known, a.Name) {
			return nil, fmt.Errorf("auxiliary column %q: a note cannot have a field %q: besides %s, a field's name has "+
				"the letters a to z, digits and underscores; write %s:%s=NAME", item, a.Name, strings.Join(known, ", "),
				a.Column, a.Kind)
		}
		if a.Kind == bundle.Numeric && slices.Contains(msg.WordNames(), a.Name) {
			return nil, fmt.Errorf("auxiliary column %q: the field %q of a note is a word; write %s:%s", item, a.Name,
				a.Column, bundle.Categorical)
		}
		if seen[a.Name] {
			return nil, fmt.Errorf("auxiliary column %q: the field %q is given twice", item, a.Name)
		}
		seen[a.Name] = true
		all = append(all, a)
	}
	return all, nil
}

// named returns the columns with their default names filled in.
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

// ColumnFlags are the flags that name the columns of notes.
type ColumnFlags struct {
	TextColumn      string `help:"Column of the note's text (default: text)." placeholder:"NAME"`
	ComplaintColumn string `help:"Column of the presenting complaint (default: complaint, if present)." placeholder:"NAME"`
	TimeColumn      string `help:"Column of the arrival (default: arrived_at, if present)." placeholder:"NAME"`
	IDColumn        string `name:"id-column" help:"Column of the visit (default: visit_id, if present)." placeholder:"NAME"`
	PatientColumn   string `help:"Column of the patient (default: patient_id, if present), for counts, folds and splits by patient. No model stores it." placeholder:"NAME"`
	AuxColumns      string `help:"Auxiliary columns, as in age:numeric,Gender:categorical=sex: column, kind, and the note's field if its name differs." placeholder:"LIST"`
}

// Columns returns the columns that the flags name.
func (c *ColumnFlags) Columns() (Columns, error) {
	aux, err := ParseAux(c.AuxColumns)
	return Columns{
		Text: c.TextColumn, Complaint: c.ComplaintColumn, Time: c.TimeColumn, ID: c.IDColumn, Patient: c.PatientColumn,
		Aux: aux,
	}, err
}

// Flags are the flags for files of labelled notes and their columns.
type Flags struct {
	Input []string `help:"Labelled notes: ${formats}." required:"" placeholder:"FILE" sep:"none"`
	ColumnFlags
	LabelColumn   string   `help:"Column of the outcome (default: label)." placeholder:"NAME"`
	PositiveLabel string   `help:"Outcome that counts as admitted (default: 1)." placeholder:"VALUE"`
	More          []string `arg:"" optional:"" name:"file" help:"More input files."`
}

// Files returns all files to read.
func (f *Flags) Files() []string { return slices.Concat(f.Input, f.More) }

// Columns returns the columns that the flags name.
func (f *Flags) Columns() (Columns, error) {
	columns, err := f.ColumnFlags.Columns()
	columns.Label, columns.Positive = f.LabelColumn, f.PositiveLabel
	return columns, err
}

// Read returns the labelled notes of the files, and warns of rows without text and of more than two outcomes.
func (f *Flags) Read(log *slog.Logger, columns Columns, files []string) (*Table, error) {
	columns.Warn = log.Warn
	read, err := Read(files, columns)
	if err != nil {
		return nil, err
	}
	if read.Empty > 0 {
		log.Warn("rows without text are left out", "rows", read.Empty)
	}
	if len(read.Labels) > 2 && columns.Classes == nil {
		log.Warn("more than two outcomes: all but one count as not admitted",
			"admitted", cmp.Or(columns.Positive, DefaultPositive), "rows", read.LabelCounts())
	}
	return read, nil
}
