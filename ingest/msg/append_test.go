package msg

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// reencode returns v as encoding/json writes it without HTML escapes.
func reencode(t interface{ Fatal(...any) }, v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// contractPrediction is the example of the contract, filled to add up.
func contractPrediction() Prediction {
	return Prediction{
		SchemaVersion: "1", VisitID: "V1", ArrivedAt: "2026-11-20T08:01:02Z", ScoredAt: "2026-11-20T08:01:02.345Z",
		Complaint: "Lower Extremity Injury",
		Model: Model{
			Name: "lower-extremity-injury", Version: "2026-11-20T02-00-00Z-3f9c1a", Method: "sonmf",
			SHA256: strings.Repeat("3f9c1a00", 8),
		},
		Probability: 0.83, Threshold: 0.5, Decision: Admit, Logit: 1.7, Intercept: -1.91,
		Topics: []Topic{
			{Topic: 1, Label: "hip rotate glf", Score: 2.1, Coefficient: 1.4, Contribution: 2.94, Terms: []Term{
				{Term: "hip", Surface: []string{"hip", "hips"}, Weight: 0.62, Contribution: 1.63},
				{Term: "rotat", Surface: []string{"rotated"}, Weight: 0.5, Contribution: 1.31},
			}},
		},
		Words: []Word{{Term: "shorten", Surface: []string{"shortened"}, Contribution: 0.12}},
		Aux:   []Aux{{"age", Number(78), 0.55}, {"sex", Text("F"), -1e-7}, {"acuity", Value{}, 0}},
		Evidence: []Evidence{
			{Start: 0, End: 12, Text: "hip \"rotated\"", Status: "affirmed", Contribution: 3.02, Terms: []string{
				"hip", "rotat",
			}},
			{Start: 17, End: 26, Text: "", Status: "negated", Contribution: 0.12, Terms: []string{}},
			{Other: OtherWords, Contribution: 0.02},
			{Contribution: -0.1},
		},
		Warnings:       []Warning{{"vitals.hr", ValueOutOfRange}, {"sex", ValueUnknownLevel}},
		KnownTermShare: 0.91,
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	note, prediction, demand := fullNote(), contractPrediction(), contractBedDemand()
	classes := prediction
	classes.Class, classes.Against, classes.AdmissionProbability = "transferred", "discharged", Some(0.9)
	classes.Classes = []Class{{"discharged", 0.1}, {"admitted", 0.07}, {"transferred", 0.83}}
	scores := contractScores()
	abstained := Prediction{
		VisitID: "V2", ScoredAt: "2026-11-20T08:01:02.345Z", Decision: Discharge, Abstained: true,
		AbstainReason: "no_known_term", Model: prediction.Model,
	}
	for name, c := range map[string]struct {
		got    []byte
		schema string
	}{
		"note":       {note.AppendJSON(nil), Schema("note")},
		"prediction": {prediction.AppendJSON(nil), Schema("prediction")},
		"classes":    {classes.AppendJSON(nil), Schema("prediction")},
		"abstained":  {abstained.AppendJSON(nil), Schema("prediction")},
		"scores":     {scores.AppendJSON(nil), Schema("scores")},
		"bed-demand": {demand.AppendJSON(nil), Schema("bed-demand")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, append(c.got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), string(c.got)+"\n"); d != "" {
				t.Error(d)
			}
			for _, problem := range validate(t, c.schema, c.got) {
				t.Error(problem)
			}
		})
	}
}

func finite() *rapid.Generator[float64] {
	anyFloat := rapid.Float64().Filter(func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) })
	return rapid.OneOf(anyFloat, rapid.Float64Range(-100, 100), rapid.Map(rapid.Float64Range(-1100, 1100), Round),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e21, 1e-10, 5e-324, math.MaxFloat64}))
}

func predictionGen() *rapid.Generator[Prediction] {
	return rapid.Custom(func(t *rapid.T) Prediction {
		str := func() string { return rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\n]*`)).Draw(t, "string") }
		num := func() float64 { return finite().Draw(t, "number") }
		some := func() int { return rapid.IntRange(0, 3).Draw(t, "n") }
		surface := func() []string { return rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "surface") }
		p := Prediction{
			SchemaVersion: "1", VisitID: str(), ArrivedAt: str(), ScoredAt: str(), Complaint: str(),
			Model:       Model{Name: str(), Version: str(), Method: str(), SHA256: str()},
			Probability: num(), Threshold: num(), Decision: Decision(str()), Logit: num(), Intercept: num(),
			Topics: []Topic{}, Aux: []Aux{}, Evidence: []Evidence{}, Warnings: []Warning{},
			KnownTermShare: num(), Abstained: rapid.Bool().Draw(t, "abstained"), AbstainReason: str(),
		}
		if rapid.Bool().Draw(t, "several outcomes") {
			p.Class, p.Against, p.AdmissionProbability = str(), str(), Some(num())
			for range some() {
				p.Classes = append(p.Classes, Class{str(), num()})
			}
		}
		for range some() {
			topic := Topic{
				Topic: rapid.Int().Draw(t, "topic"), Label: str(), Score: num(), Coefficient: num(),
				Contribution: num(), Terms: []Term{},
			}
			for range some() {
				m := Term{Term: str(), Surface: surface(), Weight: num(), Contribution: num()}
				if rapid.Bool().Draw(t, "head") {
					m.Head = TermHead(m.Term, m.Surface)
				}
				topic.Terms = append(topic.Terms, m)
			}
			p.Topics = append(p.Topics, topic)
		}
		if rapid.Bool().Draw(t, "has words") {
			p.Words = []Word{}
			for range some() {
				p.Words = append(p.Words, Word{Term: str(), Surface: surface(), Contribution: num()})
			}
		}
		for range some() {
			v := rapid.SampledFrom([]Value{{}, Number(num()), Text(str())}).Draw(t, "value")
			p.Aux = append(p.Aux, Aux{str(), v, num()})
		}
		for range some() {
			start := rapid.IntRange(0, 1<<16).Draw(t, "start")
			p.Evidence = append(p.Evidence, Evidence{
				Start: start, End: start + 1 + some(), Text: str(), Status: str(),
				Contribution: num(), Terms: surface(),
			})
		}
		if rapid.Bool().Draw(t, "has other words") {
			p.Evidence = append(p.Evidence, Evidence{Other: OtherWords, Contribution: num()})
		}
		if rapid.Bool().Draw(t, "has a rest") {
			p.Evidence = append(p.Evidence, Evidence{Contribution: num()})
		}
		for range some() {
			p.Warnings = append(p.Warnings, Warning{str(), WarningCode(str())})
		}
		return p
	})
}

// markFilled notes for each field with a JSON name, at any depth, whether it was ever filled.
func markFilled(v reflect.Value, filled map[string]bool) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			markFilled(v.Index(i), filled)
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(v.Type()) {
			if name := f.Tag.Get("json"); name == "" || name == "-" {
				continue
			}
			field, name := v.FieldByIndex(f.Index), v.Type().Name()+"."+f.Name
			filled[name] = filled[name] || !field.IsZero() && (field.Kind() != reflect.Slice || field.Len() > 0)
			markFilled(field, filled)
		}
	}
}

// TestGeneratorsFillEveryField: otherwise the tests of AppendJSON would not miss a field that it forgets.
func TestGeneratorsFillEveryField(t *testing.T) {
	t.Parallel()
	filled := map[string]bool{}
	for seed := range 100 {
		markFilled(reflect.ValueOf(predictionGen().Example(seed)), filled)
		markFilled(reflect.ValueOf(noteGen().Example(seed)), filled)
	}
	for name, ok := range filled {
		if !ok {
			t.Errorf("no generator fills %s", name)
		}
	}
	if len(filled) < 50 {
		t.Errorf("only %d fields are there", len(filled))
	}
}

// TestPredictionIsWhatEncodingJSONWrites also reads the prediction back.
func TestPredictionIsWhatEncodingJSONWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := predictionGen().Draw(t, "prediction")
		data := want.AppendJSON([]byte("kept"))
		if got := strings.TrimPrefix(string(data), "kept"); got != reencode(t, &want) {
			t.Fatalf("got  %s\nwant %s", got, reencode(t, &want))
		}
		var got Prediction
		if err := json.Unmarshal(data[len("kept"):], &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(Value{}), cmpopts.EquateEmpty(),
			cmpopts.IgnoreFields(Term{}, "Head")); d != "" {
			t.Fatal(d)
		}
	})
}

func TestNilSlicesAreEmptyLists(t *testing.T) {
	t.Parallel()
	p := Prediction{Topics: []Topic{{Terms: []Term{{}}}, {}}, Words: []Word{{}}}
	got := string(p.AppendJSON(nil))
	for _, want := range []string{`"surface":[]`, `"terms":[]`, `"aux":[]`, `"warnings":[]`, `"schema_version":"1"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if strings.Contains(got, "null") {
		t.Errorf("null in %s", got)
	}
}

func TestStrings(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "pain", "\x00\x1f\x7f\"\\/<>&\b\f\n\r\t", "é\u2028\u2029\U0001f9b4\ufffd", "a\xff\xc3", "\xed\xa0\x80",
	} {
		if got, want := string(appendString(nil, s)), reencode(t, s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

func TestNumbersAreWrittenAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	same := func(v float64) {
		if got, want := string(appendFloat(nil, v)), reencode(t, v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, v := range []float64{
		0, math.Copysign(0, -1), 1, 999, 1000, 999.999999999999, 1e-6, 1.000001e-6, 9.99999e-7,
		1e-12, .1 + .2, 1e20, 1e21, 1e15, 1 << 53, math.Nextafter(.3, 1), math.Nextafter(1, 0),
	} {
		same(v)
		same(-v)
	}
	for range 20000 {
		v := (r.Float64() - .5) * math.Pow(10, float64(r.IntN(12)-5))
		same(v)
		same(Round(v))
		same(math.Nextafter(Round(v), 1))
		same(math.Round(v*100) / 100)
	}
}

func TestRound(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]float64{
		0: 0, 1.0 / 3: .333333333333, -2.0 / 3: -.666666666667, 1e-13: 0,
		12345.678912345678: 12345.678912345678, math.Inf(1): math.Inf(1),
	} {
		if got := Round(v); got != want {
			t.Errorf("%v: got %v, want %v", v, got, want)
		}
	}
}

func TestNonFiniteNumbersAreNull(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(appendFloat(nil, v)); got != "null" {
			t.Errorf("%v: got %s", v, got)
		}
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	p, n, s, b := contractPrediction(), fullNote(), contractScores(), contractBedDemand()
	buf := make([]byte, 0, 4096)
	if got := testing.AllocsPerRun(100, func() { buf = p.AppendJSON(buf[:0]) }); got != 0 {
		t.Errorf("a prediction takes %v allocations", got)
	}
	if got := testing.AllocsPerRun(100, func() { buf = n.AppendJSON(buf[:0]) }); got != 0 {
		t.Errorf("a note takes %v allocations", got)
	}
	if got := testing.AllocsPerRun(100, func() { buf = s.AppendJSON(buf[:0]) }); got != 0 {
		t.Errorf("scores take %v allocations", got)
	}
	if got := testing.AllocsPerRun(100, func() { buf = b.AppendJSON(buf[:0]) }); got != 0 {
		t.Errorf("a forecast takes %v allocations", got)
	}
	value := n.AppendJSON(nil)
	if got := testing.AllocsPerRun(100,
		func() { buf = AppendEventID(buf[:0], value, p.Model.Name, p.Model.Version) }); got != 0 {
		t.Errorf("an event id takes %v allocations", got)
	}
}

func TestEventID(t *testing.T) {
	t.Parallel()
	id := func(message, model, version string) string {
		return string(AppendEventID(nil, []byte(message), model, version))
	}
	// (printf '{}' | openssl dgst -sha256 -binary; printf '\x01m\x02v1') | sha256sum
	const want = "a3c66cece6d1253ade35c2d6b30ab8c5"
	if got := id("{}", "m", "v1"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if id("a", "bc", "d") == id("ab", "c", "d") || id("a", "b", "cd") == id("a", "bc", "d") {
		t.Error("the fields run together")
	}
	if id := id("m", strings.Repeat("x", 1000), "v"); len(id) != 32 {
		t.Errorf("got %s", id)
	}
}

func TestIsTraceParent(t *testing.T) {
	t.Parallel()
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for value, want := range map[string]bool{
		good: true, "": false, good + "0": false, good[1:]: false, strings.ToUpper(good): false,
		strings.ReplaceAll(good, "-", "0"): false, strings.Replace(good, "4", "-", 1): false,
	} {
		if IsTraceParent([]byte(value)) != want {
			t.Errorf("%q: want %v", value, want)
		}
	}
}
