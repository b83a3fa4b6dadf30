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
	m := newModel(t, smallParts(t))
	aux := []msg.Value{msg.Number(83), msg.Text("F")}
	var got []byte
	for _, c := range []struct {
		limits Limits
		text   string
		aux    []msg.Value
	}{
		{Limits{}, "83F fall from bed, R hip pain, leg rotated", aux},
		{Limits{Topics: 1, Terms: 2, Words: 1}, "83F fall from bed, R hip pain, leg rotated", aux},
		{Limits{}, "denies chest pain; coughs", []msg.Value{{}, msg.Text("X")}},
		{Limits{}, "zebra", []msg.Value{{}, {}}},
	} {
		var p msg.Prediction
		m.Scorer(Options{Limits: c.limits}).Score(c.text, c.aux, &p)
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
