package msg

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func contractBedDemand() BedDemand {
	return BedDemand{
		SchemaVersion: "1", Site: "A", Ward: "MED", AsOf: "2026-11-20T08:00:00.000Z", HorizonHours: 8,
		Waiting: DemandWaiting{4, .75}, Coming: DemandComing{.5},
		Total: DemandTotal{
			Mean: 1.25, Median: 1, Interval80: [2]int{0, 2}, Interval95: [2]int{0, 3},
			PMF: PMF{0, []float64{.25, .375, .25, .125}}, Tail: 5e-13,
		},
		Exceed: []DemandAbove{{2, .125}, {3, 0}}, UsualMean: Some(1.5), Abstained: 1, TimedOut: 2, OutcomesStale: true,
		Calibrated: true,
		Coverage80: DemandCoverage{200, .865}, Sigma: .2, K: 60, Delta: -.04,
		Models: []string{"_other@2026-11-20T02-00-00Z-3f9c1a"}, BedsVersion: "2026-11-20T02-00-00Z-a41d07",
	}
}

func bedDemandGen() *rapid.Generator[BedDemand] {
	return rapid.Custom(func(t *rapid.T) BedDemand {
		str := func() string { return rapid.String().Draw(t, "string") }
		num := func() float64 { return finite().Draw(t, "number") }
		count := func() int { return rapid.IntRange(-9, 1<<31-1).Draw(t, "count") }
		b := BedDemand{
			SchemaVersion: "1", Site: str(), Ward: str(), AsOf: str(), HorizonHours: num(),
			Waiting: DemandWaiting{count(), num()}, Coming: DemandComing{num()},
			Total: DemandTotal{
				Mean: num(), Median: count(), Interval80: [2]int{count(), count()},
				Interval95: [2]int{count(), count()}, PMF: PMF{count(), rapid.SliceOfN(finite(), 0, 4).Draw(t, "p")},
				Tail: num(),
			},
			Exceed: []DemandAbove{}, Abstained: count(), TimedOut: count(),
			OutcomesStale: rapid.Bool().Draw(t, "stale"), Calibrated: rapid.Bool().Draw(t, "calibrated"),
			Coverage80: DemandCoverage{count(), num()}, Sigma: num(), K: num(), Delta: num(),
			Models: rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "models"), BedsVersion: str(),
		}
		if rapid.Bool().Draw(t, "usual") {
			b.UsualMean = Some(num())
		}
		for range rapid.IntRange(0, 2).Draw(t, "exceed") {
			b.Exceed = append(b.Exceed, DemandAbove{count(), num()})
		}
		return b
	})
}

// TestBedDemandIsWhatEncodingJSONWrites also reads the forecast back.
func TestBedDemandIsWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := bedDemandGen().Draw(t, "forecast")
		data := want.AppendJSON([]byte("kept"))[len("kept"):]
		if reference := reencode(t, &want); string(data) != reference {
			t.Fatalf("got  %s\nwant %s", data, reference)
		}
		var reference, got BedDemand
		if err := json.Unmarshal(data, &reference); err != nil {
			t.Fatal(err)
		}
		err := DecodeBedDemand(data, &got)
		if blank(reference.Ward) || blank(reference.AsOf) {
			if refused, ok := errors.AsType[*Error](err); !ok || refused.Reason != MissingField {
				t.Fatal(err)
			}
			return
		}
		if d := cmp.Diff(reference, got, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}

func TestDecodeBedDemandRefuses(t *testing.T) {
	t.Parallel()
	with := func(fields string) string {
		return `{"schema_version":"1","ward":"_all","as_of":"t","total":{},` + fields + `}`
	}
	for name, c := range map[string]struct {
		data string
		want Error
	}{
		"version 2": {`{"schema_version":"2"}`, Error{UnknownSchemaVersion, "schema_version"}},
		"no ward":   {`{"schema_version":"1","as_of":"t","total":{}}`, Error{MissingField, "ward"}},
		"no time":   {`{"schema_version":"1","ward":"w","total":{}}`, Error{MissingField, "as_of"}},
		"no total": {
			`{"schema_version":"1","ward":"w","as_of":"t","total":null}`, Error{MissingField, "total"},
		},
		"half a patient":       {with(`"waiting":{"patients":1.5}`), Error{WrongType, "waiting.patients"}},
		"beyond integers":      {with(`"abstained":1e300`), Error{WrongType, "abstained"}},
		"half an interval":     {with(`"total":{"interval80":[1]}`), Error{WrongType, "total.interval80"}},
		"a word":               {with(`"total":{"pmf":{"p":["x"]}}`), Error{WrongType, "total.pmf.p"}},
		"a list of everything": {with(`"exceed":[{"beds":1},2]`), Error{WrongType, "exceed"}},
		"no truth":             {with(`"calibrated":1`), Error{WrongType, "calibrated"}},
		"not JSON":             {with(`"models":["a"`), Error{NotJSON, ""}},
	} {
		err, ok := errors.AsType[*Error](DecodeBedDemand([]byte(c.data), new(BedDemand)))
		if !ok || *err != c.want {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	var b BedDemand
	if err := DecodeBedDemand(
		[]byte(with(`"k":null,"new":[[{}]],"total":{"new":{"x":[]},"interval80":null},"exceed":null`)),
		&b); err != nil || b.Exceed != nil {
		t.Error(err)
	}
}

func TestBedDemandKey(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		site, ward string
		horizon    float64
	}{`A|_all|8`: {"A", AllWards, 8}, `|MED|0.5`: {"", "MED", .5}, `a\|b|c\\|24`: {"a|b", `c\`, 24}} {
		if got := string(AppendBedDemandKey(nil, c.site, c.ward, c.horizon)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func FuzzDecodeBedDemand(f *testing.F) {
	b := contractBedDemand()
	for _, s := range []string{string(b.AppendJSON(nil)), ``, `{}`, `{"schema_version":"1","ward":"_all","as_of":"t",` +
		`"total":{"pmf":{"p":[1,0.5e-3],"offset":-0}},"models":[""],"exceed":[{}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b, again BedDemand
		if err := DecodeBedDemand(data, &b); err != nil {
			checkDemandRefusal(t, data, err)
			return
		}
		if !json.Valid(data) {
			t.Fatal("accepted what is no JSON")
		}
		if err := DecodeBedDemand(b.AppendJSON(nil), &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b, again, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	})
}

// checkDemandRefusal: the error names a field of ours, and no word of the message.
func checkDemandRefusal(t *testing.T, data []byte, err error) {
	t.Helper()
	refused, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if refused.Reason != NotJSON && refused.Reason != InvalidUTF8 && !json.Valid(data) {
		t.Fatalf("%v for what is no JSON", refused)
	}
	head, rest, _ := strings.Cut(refused.Field, ".")
	if _, known := parseSchema(t, Schema("bed-demand")).Properties[head]; head != "" && !known ||
		len(rest) > len("interval95") {
		t.Fatalf("the error names %q", refused.Field)
	}
}

func TestDecodeArrival(t *testing.T) {
	t.Parallel()
	p := contractPrediction()
	p.Class, p.AdmissionProbability, p.Classes = "MED", Some(.9), []Class{{"discharged", .1}, {"MED", .9}}
	p.Aux = append(p.Aux, Aux{"site", Text("B"), 0})
	var got Arrival
	if err := DecodeArrival(p.AppendJSON(nil), &got); err != nil {
		t.Fatal(err)
	}
	want := Arrival{
		Scored: Scored{VisitID: p.VisitID, ScoredAt: p.ScoredAt, Model: p.Model, Admission: .9}, ArrivedAt: p.ArrivedAt,
		Complaint: p.Complaint, Site: "B", Age: Some(78), Classes: p.Classes,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	const abstained = `{"schema_version":"1","visit_id":"v","probability":0.5,"abstained":true,"aux":null,` +
		`"classes":null,"topics":[[]]}`
	if err := DecodeArrival([]byte(abstained), &got); err != nil || !got.Abstained || got.Age.Set ||
		got.Classes != nil {
		t.Errorf("%v: %+v", err, got)
	}
	for name, c := range map[string]struct {
		data string
		want Error
	}{
		"no probability": {`{"schema_version":"1","visit_id":"v"}`, Error{MissingField, "probability"}},
		"a word": {
			`{"schema_version":"1","visit_id":"v","probability":0.5,"abstained":"no"}`, Error{WrongType, "abstained"},
		},
		"a list": {
			`{"schema_version":"1","visit_id":"v","probability":0.5,"classes":[1]}`, Error{WrongType, "classes"},
		},
	} {
		err, ok := errors.AsType[*Error](DecodeArrival([]byte(c.data), new(Arrival)))
		if !ok || *err != c.want {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func FuzzDecodeArrival(f *testing.F) {
	p := contractPrediction()
	f.Add(p.AppendJSON(nil))
	f.Add([]byte(
		`{"schema_version":"1","visit_id":"v","probability":1,"aux":[{"name":"age","value":"x"}],"classes":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Arrival
		var s Scored
		err, scored := DecodeArrival(data, &a), DecodeScored(data, &s)
		if err == nil && (scored != nil || s != a.Scored || !json.Valid(data)) {
			t.Fatalf("accepted %q as %+v, %v", data, a, scored)
		}
	})
}
