package classifier

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestExplanationGolden holds the bytes of explanations, one a line.
func TestExplanationGolden(t *testing.T) {
	t.Parallel()
	small, several := newModel(t, smallParts(t)), newModel(t, severalParts(t))
	aux := []msg.Value{msg.Number(83), msg.Text("F")}
	var got []byte
	for _, c := range []struct {
		model   *Model
		options Options
		text    string
		aux     []msg.Value
	}{
		{small, Options{}, "83F fall from bed, R hip pain, leg rotated", aux},
		{small, Options{Limits: Limits{Topics: 1, Terms: 2, Words: 1}}, "83F fall from bed, R hip pain, leg " +
			"rotated", aux},
		{small, Options{Class: "admitted"}, "denies chest pain; coughs", []msg.Value{{}, msg.Text("X")}},
		{small, Options{}, "zebra", []msg.Value{{}, {}}},
		{several, Options{}, "83F fall from bed, R hip pain, leg rotated", aux},
		{several, Options{Limits: Limits{Topics: 1, Terms: 2, Words: 1}, Class: "transferred"}, "83F fall from bed, " +
			"R hip pain, leg rotated", aux},
		{several, Options{Class: "discharged"}, "denies chest pain; coughs", []msg.Value{{}, msg.Text("X")}},
		{several, Options{}, "zebra", []msg.Value{{}, {}}},
	} {
		var p msg.Prediction
		c.model.Scorer(c.options).Score(c.text, c.aux, &p)
		got = append(p.AppendJSON(got), '\n')
	}
	golden := filepath.Join("testdata", "explanations.golden.jsonl")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(b []byte) [][]byte { return bytes.Split(b, []byte("\n")) }
	if d := cmp.Diff(lines(want), lines(got)); d != "" {
		t.Error(d)
	}
}
