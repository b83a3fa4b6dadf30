package cli

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/notes"
)

// NoteColumns is the flags that say what the columns of notes mean.
type NoteColumns struct {
	TextColumn      string `help:"Column of the note's text (default: text)." placeholder:"NAME"`
	ComplaintColumn string `help:"Column of the presenting complaint (default: complaint, if there)." placeholder:"NAME"`
	TimeColumn      string `help:"Column of the arrival (default: arrived_at, if there)." placeholder:"NAME"`
	IDColumn        string `name:"id-column" help:"Column of the visit (default: visit_id, if there)." placeholder:"NAME"`
	PatientColumn   string `help:"Column of the patient (default: patient_id, if there): counts, folds and splits go by patient. It is in no model." placeholder:"NAME"`
	AuxColumns      string `help:"Auxiliary columns, as in age:numeric,Gender:categorical=sex: column, kind, and the note's field if its name differs." placeholder:"LIST"`
}

// Columns returns what the flags say of the columns.
func (c *NoteColumns) Columns() (notes.Columns, error) {
	aux, err := notes.ParseAux(c.AuxColumns)
	return notes.Columns{Text: c.TextColumn, Complaint: c.ComplaintColumn, Time: c.TimeColumn, ID: c.IDColumn, Patient: c.PatientColumn, Aux: aux}, err
}

// Notes is the flags that say where labelled notes are and what their columns mean.
type Notes struct {
	Input []string `help:"Labelled notes: CSV, TSV, JSON lines (.jsonl) or Parquet (.parquet); text may end in .gz or .zst." required:"" placeholder:"FILE" sep:"none"`
	NoteColumns
	LabelColumn   string   `help:"Column of the outcome (default: label)." placeholder:"NAME"`
	PositiveLabel string   `help:"Outcome that counts as admitted (default: 1)." placeholder:"VALUE"`
	More          []string `arg:"" optional:"" name:"file" help:"More files, as --input."`
}

// Files returns all files to read.
func (t *Notes) Files() []string { return slices.Concat(t.Input, t.More) }

// Columns returns what the flags say of the columns.
func (t *Notes) Columns() (notes.Columns, error) {
	columns, err := t.NoteColumns.Columns()
	columns.Label, columns.Positive = t.LabelColumn, t.PositiveLabel
	return columns, err
}

// Read returns the labelled notes of the files, and logs what is unusual about them.
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

// Auto is the value of a flag that leaves the choice to the command.
const Auto = "auto"

// lists are the types of flags that hold numbers, or auto, which is an empty list.
var lists = []kong.Option{kong.NamedMapper("ranks", list(parseRanks)), kong.NamedMapper("weights", list(parseWeights))}

func list[T any](parse func(string) ([]T, error)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("string", &text); err != nil || text == Auto {
			return err
		}
		all, err := parse(text)
		target.Set(reflect.ValueOf(all))
		return err
	}
}

// parseWeights reads "0.1" and "0.1,0.5".
func parseWeights(s string) (all []float64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		w, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is neither auto nor a list of numbers", s)
		}
		all = append(all, w)
	}
	return all, nil
}

// parseRanks reads "5", "2:20" and "3,5,8".
func parseRanks(s string) (all []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, ":")
		if !isRange {
			last = first
		}
		low, errLow := strconv.Atoi(strings.TrimSpace(first))
		high, errHigh := strconv.Atoi(strings.TrimSpace(last))
		if errLow != nil || errHigh != nil || low < 1 || high < low || high > maxFactors {
			return nil, fmt.Errorf("%q is neither auto nor numbers of factors from 1 to %d, as in 5, 2:20 or 3,5,8", s, maxFactors)
		}
		for k := low; k <= high; k++ {
			all = append(all, k)
		}
	}
	return all, nil
}

// maxFactors bounds what a range may list.
const maxFactors = 10_000
