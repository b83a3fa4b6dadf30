package msg

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const contractChampion = `{"schema_version":"1","generation":"2026-11-20T02-00-00Z-a41d07","model":{"name":"_other",` +
	`"version":"2026-11-20T02-00-00Z-3f9c1a","method":"sonmf",` +
	`"sha256":"3f9c1a003f9c1a003f9c1a003f9c1a003f9c1a003f9c1a003f9c1a003f9c1a00"}}`

func TestDecodeChampion(t *testing.T) {
	t.Parallel()
	want := Champion{"1", "2026-11-20T02-00-00Z-a41d07", Model{
		Name: "_other", Version: "2026-11-20T02-00-00Z-3f9c1a",
		Method: "sonmf", SHA256: "3f9c1a003f9c1a003f9c1a003f9c1a003f9c1a003f9c1a003f9c1a003f9c1a00",
	}}
	got := Champion{Generation: "left over"}
	if err := DecodeChampion([]byte(contractChampion), &got); err != nil || got != want {
		t.Error(err, cmp.Diff(want, got))
	}
	if data := string(got.AppendJSON(nil)); data != contractChampion {
		t.Errorf("written as %s", data)
	}
	for _, problem := range validate(t, Schema("champion"), []byte(contractChampion)) {
		t.Error(problem)
	}
	for name, c := range map[string]struct {
		data string
		want Error
	}{
		"empty":     {"", Error{NotJSON, ""}},
		"version 2": {`{"schema_version":"2","generation":"g"}`, Error{UnknownSchemaVersion, "schema_version"}},
		"no generation": {
			`{"schema_version":"1","model":{"name":"a","version":"b"}}`, Error{MissingField, "generation"},
		},
		"no model": {`{"schema_version":"1","generation":"g","model":null}`, Error{MissingField, "model.name"}},
		"no version": {
			`{"schema_version":"1","generation":"g","model":{"name":"a"}}`, Error{MissingField, "model.version"},
		},
		"a number": {
			`{"schema_version":"1","generation":"g","model":{"name":1,"version":"b"}}`, Error{WrongType, "model.name"},
		},
		"a list": {`{"schema_version":"1","generation":"g","model":[{}]}`, Error{WrongType, "model"}},
	} {
		err, ok := errors.AsType[*Error](DecodeChampion([]byte(c.data), new(Champion)))
		if !ok || *err != c.want {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func FuzzDecodeChampion(f *testing.F) {
	for _, s := range []string{contractChampion, ``, `{}`, `{"schema_version":"1.3","generation":"g",` +
		`"model":{"name":"a","version":"b","x":[[]]},"y":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, again Champion
		if err := DecodeChampion(data, &c); err != nil {
			checkRefusal(t, data, err)
			return
		}
		if !json.Valid(data) {
			t.Fatal("accepted what is no JSON")
		}
		if err := DecodeChampion(c.AppendJSON(nil), &again); err != nil || again != c {
			t.Error(err, cmp.Diff(c, again))
		}
	})
}

// TestDecodeScored reads predictions of both kinds as encoding/json does.
func TestDecodeScored(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"prediction", "classes", "abstained"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var p Prediction
		if err := json.Unmarshal(data, &p); err != nil {
			t.Fatal(err)
		}
		got, want := Scored{VisitID: "left over"},
			Scored{VisitID: p.VisitID, ScoredAt: p.ScoredAt, Model: p.Model, Admission: p.Admission()}
		if err := DecodeScored(data, &got); err != nil || got != want {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(want, got))
		}
	}
	for name, c := range map[string]struct {
		data string
		want Error
	}{
		"no visit": {`{"schema_version":"1","probability":0.5}`, Error{MissingField, "visit_id"}},
		"no probability": {
			`{"schema_version":"1","visit_id":"v","probability":null}`, Error{MissingField, "probability"},
		},
		"more than sure": {`{"schema_version":"1","visit_id":"v","probability":1.5}`, Error{WrongType, "probability"}},
		"a word": {
			`{"schema_version":"1","visit_id":"v","probability":"high"}`, Error{WrongType, "probability"},
		},
		"version 2": {
			`{"schema_version":"2","visit_id":"v","probability":0.5}`, Error{UnknownSchemaVersion, "schema_version"},
		},
	} {
		err, ok := errors.AsType[*Error](DecodeScored([]byte(c.data), new(Scored)))
		if !ok || *err != c.want {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

// TestScoredProperty reads back what a prediction says, whatever its strings hold.
func TestScoredProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := Prediction{
			VisitID: "v" + rapid.String().Draw(t, "visit"), ScoredAt: rapid.String().Draw(t, "scored"),
			Complaint:   rapid.String().Draw(t, "complaint"),
			Model:       Model{Name: rapid.String().Draw(t, "name"), Version: rapid.String().Draw(t, "version")},
			Probability: Round(rapid.Float64Range(0, 1).Draw(t, "probability")),
			Topics: []Topic{
				{Label: rapid.String().Draw(t, "label"), Terms: []Term{{Term: rapid.String().Draw(t, "term")}}},
			},
		}
		if rapid.Bool().Draw(t, "classes") {
			p.AdmissionProbability = Some(Round(rapid.Float64Range(0, 1).Draw(t, "admission")))
		}
		var s Scored
		data := p.AppendJSON(nil)
		if err := DecodeScored(data, &s); err != nil || s.Admission != p.Admission() ||
			s.VisitID != strings.ToValidUTF8(p.VisitID, "\ufffd") || math.IsNaN(s.Admission) {
			t.Fatalf("%s: %+v, %v", data, s, err)
		}
	})
}

func FuzzDecodeScored(f *testing.F) {
	for _, s := range []string{
		`{"schema_version":"1","visit_id":"v","probability":0.5,"topics":[{"terms":[{}]}]}`, ``, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Scored
		if err := DecodeScored(data, &s); err != nil {
			checkRefusal(t, data, err)
		} else if !json.Valid(data) || !(s.Admission >= 0 && s.Admission <= 1) {
			t.Fatalf("accepted %q as %+v", data, s)
		}
	})
}
