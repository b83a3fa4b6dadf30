package notes

import (
	"cmp"
	"log/slog"
	"slices"
)

// ColumnFlags is the flags that say what the columns of notes mean.
type ColumnFlags struct {
	TextColumn      string `help:"Column of the note's text (default: text)." placeholder:"NAME"`
	ComplaintColumn string `help:"Column of the presenting complaint (default: complaint, if there)." placeholder:"NAME"`
	TimeColumn      string `help:"Column of the arrival (default: arrived_at, if there)." placeholder:"NAME"`
	IDColumn        string `name:"id-column" help:"Column of the visit (default: visit_id, if there)." placeholder:"NAME"`
	PatientColumn   string `help:"Column of the patient (default: patient_id, if there): counts, folds and splits go by patient. It is in no model." placeholder:"NAME"`
	AuxColumns      string `help:"Auxiliary columns, as in age:numeric,Gender:categorical=sex: column, kind, and the note's field if its name differs." placeholder:"LIST"`
}

// Columns returns what the flags say of the columns.
func (c *ColumnFlags) Columns() (Columns, error) {
	aux, err := ParseAux(c.AuxColumns)
	return Columns{
		Text: c.TextColumn, Complaint: c.ComplaintColumn, Time: c.TimeColumn, ID: c.IDColumn, Patient: c.PatientColumn,
		Aux: aux,
	}, err
}

// Flags is the flags that say where labelled notes are and what their columns mean.
type Flags struct {
	Input []string `help:"Labelled notes: ${formats}." required:"" placeholder:"FILE" sep:"none"`
	ColumnFlags
	LabelColumn   string   `help:"Column of the outcome (default: label)." placeholder:"NAME"`
	PositiveLabel string   `help:"Outcome that counts as admitted (default: 1)." placeholder:"VALUE"`
	More          []string `arg:"" optional:"" name:"file" help:"More files, as --input."`
}

// Files returns all files to read.
func (f *Flags) Files() []string { return slices.Concat(f.Input, f.More) }

// Columns returns what the flags say of the columns.
func (f *Flags) Columns() (Columns, error) {
	columns, err := f.ColumnFlags.Columns()
	columns.Label, columns.Positive = f.LabelColumn, f.PositiveLabel
	return columns, err
}

// Read returns the labelled notes of the files, and logs what is unusual about them.
func (f *Flags) Read(log *slog.Logger, columns Columns, files []string) (*Table, error) {
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
