package train

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/textproc"
)

// respelled returns rows of which every third spells the sex in another way and has an age that cannot be, and the same
// rows with the age missing.
func respelled(rows []Row) (odd, missing []Row) {
	const age, sex = 0, 1
	spellings := map[msg.Value]msg.Value{msg.Text("F"): msg.Text("Female"), msg.Text("M"): msg.Text("1")}
	odd, missing = slices.Clone(rows), slices.Clone(rows)
	for i := range rows {
		odd[i].Aux, missing[i].Aux = slices.Clone(rows[i].Aux), slices.Clone(rows[i].Aux)
		if i%3 == 0 {
			odd[i].Aux[age], odd[i].Aux[sex] = msg.Number(999), spellings[rows[i].Aux[sex]]
			missing[i].Aux[age] = msg.Value{}
		}
	}
	return odd, missing
}

// TestCleanRowsMakeTheSameModel: a model learns the same, and answers the same, whichever way a sender spells a level
// or a missing number. Rows that are judged are read by the model as a scorer reads them, cleaned or not.
func TestCleanRowsMakeTheSameModel(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 240)
	later, _ := generated(t, 1000, 1200)
	odd, missing := respelled(rows)
	data, plain := Data{Rows: odd, Aux: auxColumns()}, Data{Rows: missing, Aux: auxColumns()}
	if got := data.Clean(Default().Text); !maps.Equal(got, map[string]int{"age": 80}) {
		t.Errorf("implausible: %v", got)
	}
	plain.Clean(Default().Text) // the ages of the texts
	s := smaller()
	s.PerComplaint = Never
	got, want := train(t, data.Rows, s), train(t, plain.Rows, s)
	oddly, plainly := respelled(later)
	p, err := got.Probabilities(Data{Rows: oddly, Aux: auxColumns()})
	if err != nil {
		t.Fatal(err)
	}
	q, err := want.Probabilities(Data{Rows: plainly, Aux: auxColumns()})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p, q) || !slices.Equal(got.OutOfFold, want.OutOfFold) {
		t.Error("other spellings make another model")
	}
	for _, c := range got.Bundles[0].Manifest.Aux {
		if c.Name == "sex" && !slices.Equal(c.Levels, []string{"F", "M"}) {
			t.Errorf("levels %q", c.Levels)
		}
	}
}

// TestTheTextFillsAMissingAge: beside a column of ages the text's age is no term, and stands for a missing one, in
// training and in scoring alike. Each of age and sex is dropped beside its own column only.
func TestTheTextFillsAMissingAge(t *testing.T) {
	t.Parallel()
	said, _ := generated(t, 0, 240)
	missing := slices.Clone(said)
	for i := range said {
		age, _ := said[i].Aux[0].Number()
		age = max(1, math.Floor(age))
		said[i].Text = fmt.Sprintf("%v yo F %s", age, said[i].Text)
		missing[i].Text = said[i].Text
		said[i].Aux, missing[i].Aux = []msg.Value{msg.Number(age)}, []msg.Value{msg.Number(age)}
		if i%3 == 0 {
			missing[i].Aux[0] = msg.Value{}
		}
	}
	s := smaller()
	s.PerComplaint = Never
	aux := auxColumns()[:1]
	learn := func(rows []Row) *Trained {
		d := Data{Rows: slices.Clone(rows), Aux: aux}
		for i := range d.Rows {
			d.Rows[i].Aux = slices.Clone(d.Rows[i].Aux)
		}
		d.Clean(s.Text)
		got, err := Train(t.Context(), d, s, job())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := learn(missing)
	p, err := got.Probabilities(Data{Rows: missing, Aux: aux})
	if err != nil {
		t.Fatal(err)
	}
	q, err := learn(said).Probabilities(Data{Rows: said, Aux: aux})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p, q) {
		t.Error("a model of ages in the text answers otherwise than one of ages in the field")
	}
	terms := func(trained *Trained) (ages, sexes bool) {
		for _, term := range trained.Bundles[0].Vocabulary {
			ages = ages || strings.HasPrefix(term.Text, "age:")
			sexes = sexes || strings.HasPrefix(term.Text, "sex:")
		}
		return ages, sexes
	}
	if ages, sexes := terms(got); ages || !sexes {
		t.Errorf("beside a column of ages: terms of ages %v, of sexes %v", ages, sexes)
	}
}

// TestTheTextIsReadAsTheModelReadsIt: who is aged 45 depends on whether the concepts know mothers.
func TestTheTextIsReadAsTheModelReadsIt(t *testing.T) {
	t.Parallel()
	for age, text := range map[msg.Value]textproc.Settings{{}: Default().Text, msg.Number(45): small().Text} {
		d := Data{Aux: auxColumns()[:1], Rows: []Row{{Text: "mother 45 yo has flu", Aux: make([]msg.Value, 1)}}}
		if d.Clean(text); d.Rows[0].Aux[0] != age {
			t.Errorf("concepts %v: age %v, want %v", text.Concepts, d.Rows[0].Aux[0], age)
		}
	}
}
