package cli

import (
	"cmp"
	"slices"

	"github.com/wardcast/wardcast/internal/notes"
)

// Notes is the flags that say where labelled notes are and what their columns mean.
type Notes struct {
	Input           []string `help:"Labelled notes: CSV with a header, or JSON lines where the name ends in .jsonl; .gz too." required:"" placeholder:"FILE" sep:"none"`
	TextColumn      string   `help:"Column of the note's text (default: text)." placeholder:"NAME"`
	LabelColumn     string   `help:"Column of the outcome (default: label)." placeholder:"NAME"`
	PositiveLabel   string   `help:"Outcome that counts as admitted (default: 1)." placeholder:"VALUE"`
	ComplaintColumn string   `help:"Column of the presenting complaint (default: complaint, if there)." placeholder:"NAME"`
	TimeColumn      string   `help:"Column of the arrival (default: arrived_at, if there)." placeholder:"NAME"`
	IDColumn        string   `name:"id-column" help:"Column of the visit (default: visit_id, if there)." placeholder:"NAME"`
	More            []string `arg:"" optional:"" name:"file" help:"More files, as --input."`
	AuxColumns      string   `help:"Auxiliary columns, as in age:numeric,Gender:categorical=sex: column, kind, and the note's field where it has another name." placeholder:"LIST"`
}

// Files returns all files to read.
func (t *Notes) Files() []string { return slices.Concat(t.Input, t.More) }

// Columns returns what the flags say of the columns.
func (t *Notes) Columns() (notes.Columns, error) {
	aux, err := notes.ParseAux(t.AuxColumns)
	return notes.Columns{Text: t.TextColumn, Label: t.LabelColumn, Positive: t.PositiveLabel, Complaint: t.ComplaintColumn, Time: t.TimeColumn, ID: t.IDColumn, Aux: aux}, err
}

// Read returns the labelled notes of the files, and says in the log what is odd about them.
func (t *Notes) Read(d *Deps, columns notes.Columns, files []string) (*notes.Table, error) {
	read, err := notes.Read(files, columns)
	if err != nil {
		return nil, err
	}
	if read.Empty > 0 {
		d.Log.Warn("rows without text are left out", "rows", read.Empty)
	}
	if len(read.Labels) > 2 && columns.Classes == nil {
		d.Log.Warn("more than two outcomes: all but one count as not admitted", "admitted", cmp.Or(columns.Positive, notes.DefaultPositive), "rows", read.LabelCounts())
	}
	return read, nil
}
