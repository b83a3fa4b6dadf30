package train

import (
	"strings"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
)

// TestBesideNurse: the card of all complaints, and no other, compares the nurse, the model without the estimate and
// both, on the notes that hold one.
func TestBesideNurse(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 300)
	for i := range rows {
		var estimate msg.Value
		switch {
		case i%10 == 0: // not asked
		case rows[i].Positive == (i%4 > 0):
			estimate = msg.Number(80)
		default:
			estimate = msg.Number(float64(i%3) * 10)
		}
		rows[i].Aux = append(rows[i].Aux, estimate)
	}
	s := smaller()
	s.PerComplaint = Always
	d := Data{Rows: rows, Aux: append(auxColumns(), Aux{estimateField, bundle.Numeric})}
	got, err := Train(t.Context(), d, s, job())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Aux) != len(rows[0].Aux) {
		t.Errorf("%d columns are left of %d values", len(d.Aux), len(rows[0].Aux))
	}
	for i, b := range got.Bundles {
		for _, who := range []string{"| the nurse | 270 |", "| the model without the nurse's estimate | 270 |", "| both: "} {
			if want := i == 0; strings.Contains(b.Card, who) != want {
				t.Errorf("%s: card has %q: %v", b.Manifest.Name, who, !want)
			}
		}
	}
	// One estimate in percent among shares does not make percent of them all.
	right := 0
	for i := range rows {
		v, ok := rows[i].Aux[len(d.Aux)-1].Number()
		if ok && i > 1 {
			rows[i].Aux[len(d.Aux)-1] = msg.Number(v / 100)
		}
		if ok && rows[i].Positive == (v >= 50 || i == 1) {
			right++
		}
	}
	fitted, err := Fit(t.Context(), d, s)
	if err != nil {
		t.Fatal(err)
	}
	mixed, err := fitted.besideNurse(t.Context(), d, s)
	if err != nil || mixed[0].Accuracy != float64(right)/270 {
		t.Errorf("with one estimate in percent: %+v, %v; %d are right", mixed, err, right)
	}
	for i := range rows[:len(rows)/2] {
		if v, ok := rows[i].Aux[len(d.Aux)-1].Number(); ok {
			rows[i].Aux[len(d.Aux)-1] = msg.Number(v * 100)
		}
	}
	if _, err := fitted.besideNurse(t.Context(), d, s); err == nil || !strings.Contains(err.Error(), "on one scale") {
		t.Errorf("half in percent: %v", err)
	}
	none, err := (&Fitted{}).besideNurse(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s)
	if err != nil || none != nil {
		t.Errorf("without the field: %v, %v", none, err)
	}
}
