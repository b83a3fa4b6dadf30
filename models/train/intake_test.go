package train

import (
	"maps"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/ingest/msg"
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
	data := Data{Rows: odd, Aux: auxColumns()}
	if got := data.Clean(); !maps.Equal(got, map[string]int{"age": 80}) {
		t.Errorf("implausible: %v", got)
	}
	s := smaller()
	s.PerComplaint = Never
	got, want := train(t, data.Rows, s), train(t, missing, s)
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
