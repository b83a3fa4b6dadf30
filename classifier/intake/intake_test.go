package intake_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
)

// TestNote: what cannot be is named, whichever model reads the note.
func TestNote(t *testing.T) {
	t.Parallel()
	out := func(fields ...string) (all []msg.Warning) {
		for _, f := range fields {
			all = append(all, msg.Warning{Field: f, Code: msg.ValueOutOfRange})
		}
		return all
	}
	const arrived = "2026-11-20T08:01:02Z"
	for name, c := range map[string]struct {
		note    msg.Note
		arrived string
		want    []msg.Warning
	}{
		"nothing": {msg.Note{}, "", nil},
		"all as usual": {msg.Note{ArrivedAt: arrived, Age: msg.Some(78), Acuity: msg.Some(3), Vitals: msg.Vitals{
			SBP: msg.Some(151), DBP: msg.Some(88), HR: msg.Some(96), RR: msg.Some(18), TempC: msg.Some(36.8),
			SpO2: msg.Some(97),
		}}, arrived, nil},
		"limits": {msg.Note{Age: msg.Some(0), Acuity: msg.Some(5), Vitals: msg.Vitals{
			SBP: msg.Some(30),
			DBP: msg.Some(220), HR: msg.Some(300), RR: msg.Some(2), TempC: msg.Some(24), SpO2: msg.Some(100),
		}}, "", nil},
		"codes of missing": {msg.Note{Age: msg.Some(999), Acuity: msg.Some(0), Vitals: msg.Vitals{
			SBP: msg.Some(-1),
			DBP: msg.Some(0), HR: msg.Some(0), RR: msg.Some(999), TempC: msg.Some(0), SpO2: msg.Some(999),
		}}, "", out(slices.Sorted(slices.Values(msg.NumberNames()))...)},
		"Fahrenheit":   {msg.Note{Vitals: msg.Vitals{TempC: msg.Some(98.6)}}, "", out("vitals.temp_c")},
		"a fraction":   {msg.Note{Vitals: msg.Vitals{SpO2: msg.Some(0.97)}}, "", out("vitals.spo2")},
		"another zone": {msg.Note{ArrivedAt: " 2026-11-20T09:01:02.5+01:00 "}, "2026-11-20T09:01:02.5+01:00", nil},
		"no time": {
			msg.Note{ArrivedAt: "22/11/2026 15:00"}, "", []msg.Warning{{Field: "arrived_at", Code: msg.ValueBadTime}},
		},
		"no zone": {msg.Note{ArrivedAt: "2026-11-20T08:01:02"}, "", []msg.Warning{
			{Field: "arrived_at", Code: msg.ValueBadTime},
		}},
		"an epoch":        {msg.Note{ArrivedAt: "1970-01-01T00:00:00Z"}, "", out("arrived_at")},
		"the end of time": {msg.Note{ArrivedAt: "9999-12-31T23:59:59Z"}, "", out("arrived_at")},
		"fields": {msg.Note{FieldsLeftOut: true}, "", []msg.Warning{
			{Field: msg.FieldsField, Code: msg.ValueLeftOut},
		}},
		"a nurse beyond certainty": {msg.Note{Fields: msg.Fields{
			{Name: "nurse_estimate", Value: msg.Text("101")}, {Name: "pain", Value: msg.Number(999)},
		}}, "", out("nurse_estimate")},
		"blank": {msg.Note{ArrivedAt: "  "}, "", nil},
	} {
		p := msg.Prediction{ArrivedAt: "of the note before"}
		intake.Standard().Note(&c.note, &p)
		if d := cmp.Diff(c.want, p.Warnings); d != "" || p.ArrivedAt != c.arrived {
			t.Errorf("%s: arrived %q, warnings (-want +got):\n%s", name, p.ArrivedAt, d)
		}
	}
}

// columns are those of a model. Half of the patients of sex are MALE.
func columns() []bundle.AuxColumn {
	return []bundle.AuxColumn{
		{Name: "age", Kind: bundle.Numeric, Mean: []float64{50}},
		{Name: "sex", Kind: bundle.Categorical, Levels: []string{"F", "FEMALE", "MALE"}, Mean: []float64{.1, .4, .5}},
		{Name: "site", Kind: bundle.Categorical, Levels: []string{"Main", "North Wing", "main"}, Mean: []float64{
			.2, .1, .3,
		}},
		{Name: "acuity", Kind: bundle.Categorical, Levels: []string{"1", "2"}, Mean: []float64{.5, .5}},
		{Name: bundle.ComplaintColumn, Kind: bundle.Categorical, Levels: []string{"f", "fall"}, Mean: []float64{
			.5, .5,
		}},
		{Name: "of_the_file", Kind: bundle.Numeric, Mean: []float64{1}},
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	c := intake.Standard().Columns(columns())
	const age, sex, site, acuity, complaint, other = 0, 1, 2, 3, 4, 5
	number, text := msg.Number, msg.Text
	for _, x := range []struct {
		column int
		v      msg.Value
		want   msg.Value
	}{
		{age, number(78), number(78)},
		{age, number(0), number(0)},
		{age, number(999), msg.Value{}},
		{age, number(-1), msg.Value{}},
		{age, number(math.NaN()), msg.Value{}},
		{age, text("78"), number(78)}, // a number in any spelling
		{age, text("999"), msg.Value{}},
		{other, text("07"), number(7)},
		{other, text("1e3"), number(1000)},
		{other, text("NaN"), text("NaN")},
		{other, text("high"), text("high")},
		{age, msg.Value{}, msg.Value{}},
		{sex, text("F"), text("F")}, // exactly that level, though another of the same meaning is commoner
		{sex, text("FEMALE"), text("FEMALE")},
		{sex, text(" f "), text("F")}, // but for case and space, before the table
		{sex, text("Female"), text("FEMALE")},
		{sex, text("2"), text("FEMALE")}, // by the table: the commoner level
		{sex, text("W"), text("FEMALE")},
		{sex, text("M"), text("MALE")},
		{sex, text("m"), text("MALE")},
		{sex, text("1"), text("MALE")},
		{sex, text("U"), text("U")},         // no such level
		{sex, text("zebra"), text("zebra")}, // no such spelling
		{site, text("Main"), text("Main")},
		{site, text("MAIN"), text("main")}, // the commoner of two that differ in case alone
		{site, text("north\t wing"), text("North Wing")},
		{site, text("F"), text("F")}, // the table of another field
		{acuity, number(2), number(2)},
		{acuity, number(9), msg.Value{}},
		{complaint, text("fall"), text("fall")},
		{complaint, text("female"), text("female")},
		{other, number(999), number(999)}, // a column that no note has
	} {
		if got := c.Value(x.column, x.v); got != x.want {
			t.Errorf("%s %v: got %v, want %v", columns()[x.column].Name, x.v, got, x.want)
		}
	}
}

// TestEitherSpelling: a model trained on either spelling reads the other one.
func TestEitherSpelling(t *testing.T) {
	t.Parallel()
	female, male := []string{"F", "FEMALE", "female", "2", "W"}, []string{"M", "MALE", "male", "1", "man"}
	for i := range female {
		aux := []bundle.AuxColumn{
			{Name: "sex", Kind: bundle.Categorical, Levels: []string{female[i], male[i]}, Mean: []float64{.5, .5}},
		}
		if female[i] > male[i] {
			aux[0].Levels = []string{male[i], female[i]}
		}
		c := intake.Standard().Columns(aux)
		for j := range female {
			for _, x := range [][2]string{{female[j], female[i]}, {male[j], male[i]}} {
				if got := c.Value(0, msg.Text(x[0])); got != msg.Text(x[1]) {
					t.Errorf("a model of %q reads %q as %v, want %q", aux[0].Levels, x[0], got, x[1])
				}
			}
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	number, text := msg.Number, msg.Text
	for name, c := range map[string]struct {
		field       string
		kind        bundle.AuxKind
		values      []msg.Value
		want        []msg.Value
		implausible int
	}{
		"age": {
			"age",
			bundle.Numeric,
			[]msg.Value{number(78), number(999), {}, number(-1)},
			[]msg.Value{number(78), {}, {}, {}},
			2,
		},
		"acuity as a level": {
			"acuity", bundle.Categorical, []msg.Value{number(3), number(9)}, []msg.Value{number(3), {}}, 1,
		},
		"the commonest": {
			"sex", bundle.Categorical,
			[]msg.Value{text("F"), text("FEMALE"), text("FEMALE"), text("m"), {}, text("2"), text("1"), text("1")},
			[]msg.Value{
				text("FEMALE"), text("FEMALE"), text("FEMALE"), text("1"), {}, text("FEMALE"), text("1"), text("1"),
			},
			0,
		},
		"the first of equals": {
			"sex", bundle.Categorical, []msg.Value{text("male"), text("M")}, []msg.Value{text("M"), text("M")}, 0,
		},
		"unknown to the table": {
			"sex", bundle.Categorical,
			[]msg.Value{text("zebra"), text("Zebra"), text("Zebra")},
			[]msg.Value{text("Zebra"), text("Zebra"), text("Zebra")},
			0,
		},
		"without a table": {
			"site", bundle.Categorical,
			[]msg.Value{text("A"), text("a"), text("A"), text("F"), text("female")},
			[]msg.Value{text("A"), text("A"), text("A"), text("F"), text("female")},
			0,
		},
		"texts that write numbers": {
			"pain", bundle.Numeric, []msg.Value{text("07"), text("high")}, []msg.Value{number(7), text("high")}, 0,
		},
		"no field of a note": {"dose", bundle.Numeric, []msg.Value{number(999)}, []msg.Value{number(999)}, 0},
	} {
		pointers := make([]*msg.Value, len(c.values))
		for i := range c.values {
			pointers[i] = &c.values[i]
		}
		n := intake.Standard().Clean(c.field, c.kind, pointers)
		if d := cmp.Diff(c.want, c.values, cmp.AllowUnexported(msg.Value{})); d != "" || n != c.implausible {
			t.Errorf("%s: %d are missing (-want +got):\n%s", name, n, d)
		}
	}
}

// TestSitesRules: a site takes other ranges and spellings.
func TestSitesRules(t *testing.T) {
	t.Parallel()
	r := intake.Default()
	r.Ranges["vitals.temp_c"] = []float64{75, 115} // a site of Fahrenheit
	r.Ranges["age"] = []float64{0, math.Inf(1)}
	delete(r.Ranges, "acuity")
	r.Arrived = []string{"2026-01-01", "2026-02-01"}
	r.Levels["sex"] = map[string][]string{"female": {"1"}, "male": {"2"}}
	in, err := intake.New(r)
	if err != nil {
		t.Fatal(err)
	}
	var p msg.Prediction
	in.Note(&msg.Note{ArrivedAt: "2026-02-01T00:00:00Z", Age: msg.Some(999), Acuity: msg.Some(9), Vitals: msg.Vitals{
		TempC: msg.Some(98.6),
	}}, &p)
	if d := cmp.Diff([]msg.Warning{{Field: "arrived_at", Code: msg.ValueOutOfRange}}, p.Warnings); d != "" {
		t.Error(d)
	}
	if got := in.Columns(columns()).Value(1, msg.Text("2")); got != msg.Text("MALE") {
		t.Errorf("2 is %v", got)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	if r := intake.Default(); r.Check() != nil {
		t.Error(r.Check())
	}
	for want, change := range map[string]func(*intake.Rules){
		"ranges.age: [120 0] is not two numbers, the least": func(r *intake.Rules) {
			r.Ranges["age"] = []float64{120, 0}
		},
		"ranges.acuity: [3 3] is not two numbers": func(r *intake.Rules) {
			r.Ranges["acuity"] = []float64{3, 3}
		},
		"ranges.age: [0 NaN] is not two numbers": func(r *intake.Rules) {
			r.Ranges["age"] = []float64{0, math.NaN()}
		},
		"ranges.age: [120] is not two numbers": func(r *intake.Rules) {
			r.Ranges["age"] = []float64{120}
		},
		"ranges.age: [] is not two numbers": func(r *intake.Rules) { r.Ranges["age"] = nil },
		"ranges.vitals.pulse: a note has no such number; it has age": func(r *intake.Rules) {
			r.Ranges["vitals.pulse"] = []float64{0, 1}
		},
		"levels.age: a note has no such text; it has sex, site": func(r *intake.Rules) {
			r.Levels["age"] = map[string][]string{"old": nil}
		},
		`levels.sex.male: the spelling " W" is empty, or is that of the level "female" too`: func(r *intake.Rules) {
			r.Levels["sex"]["male"] = []string{" W"}
		},
		`levels.sex.male: the spelling " " is empty`: func(r *intake.Rules) {
			r.Levels["sex"]["male"] = []string{" "}
		},
		`arrived_at: ["yesterday" "2100-01-01"] is not two days`: func(r *intake.Rules) { r.Arrived[0] = "yesterday" },
		"arrived_at: [\"2100-01-01\" \"2100-01-01\"] is not":     func(r *intake.Rules) { r.Arrived[0] = "2100-01-01" },
		"arrived_at: [] is not two days":                         func(r *intake.Rules) { r.Arrived = nil },
	} {
		r := intake.Default()
		change(&r)
		if errs := r.Check(); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("got %v, want %s", errs, want)
		}
		if in, err := intake.New(r); err == nil || in != nil {
			t.Errorf("New accepts %s", want)
		}
	}
}

func TestDoesNotAllocate(t *testing.T) { // alone, for AllocsPerRun counts those of all goroutines
	in := intake.Standard()
	c := in.Columns(columns())
	values := []msg.Value{
		msg.Number(999), msg.Text("Weiblich, FEMALE or 2"), msg.Text("NORTH WING"), {}, msg.Text("cough"), {},
	}
	n := msg.Note{ArrivedAt: "1970-01-01T00:00:00+02:00", Age: msg.Some(999), Vitals: msg.Vitals{
		HR: msg.Some(0), TempC: msg.Some(98.6),
	}}
	p := msg.Prediction{Warnings: make([]msg.Warning, 0, 8)}
	if got := testing.AllocsPerRun(100, func() {
		p.Warnings = p.Warnings[:0]
		in.Note(&n, &p)
		for i, v := range values {
			c.Value(i, v)
		}
	}); got != 0 || len(p.Warnings) != 4 {
		t.Errorf("%v allocations, warnings %v", got, p.Warnings)
	}
}

func ExampleIntake_Columns() {
	learned := []bundle.AuxColumn{
		{Name: "sex", Kind: bundle.Categorical, Levels: []string{"FEMALE", "MALE"}, Mean: []float64{.5, .5}},
	}
	columns := intake.Standard().Columns(learned)
	for _, spelled := range []string{"FEMALE", "f", "2", "unknown"} {
		level, _ := columns.Value(0, msg.Text(spelled)).Text()
		fmt.Println(spelled, "is read as", level)
	}
	// Output:
	// FEMALE is read as FEMALE
	// f is read as FEMALE
	// 2 is read as FEMALE
	// unknown is read as unknown
}
