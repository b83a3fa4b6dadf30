package msg

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/internal/jsonscan"
)

const contractNote = `{"schema_version":"1","visit_id":"V1","site":"A","arrived_at":"2026-11-20T08:01:02Z","complaint":"Lower Extremity Injury",
 "text":"78F glf at home, unable to wt bear L hip, shortened + rotated","age":78,"sex":"F","acuity":3,
 "vitals":{"sbp":151,"dbp":88,"hr":96,"rr":18,"temp_c":36.8,"spo2":97}}`

func fullNote() Note {
	return Note{
		SchemaVersion: "1", VisitID: "V1", Site: "A",
		ArrivedAt: "2026-11-20T08:01:02Z", Complaint: "Lower Extremity Injury",
		Text: "78F glf at home, unable to wt bear L hip, shortened + rotated", Age: Some(78), Sex: "F", Acuity: Some(3),
		Vitals: Vitals{SBP: Some(151), DBP: Some(88), HR: Some(96), RR: Some(18), TempC: Some(36.8), SpO2: Some(97)},
	}
}

func TestDecodeNote(t *testing.T) {
	t.Parallel()
	plain := Note{SchemaVersion: "1", VisitID: "v", Text: "x"}
	with := func(change func(*Note)) Note {
		n := plain
		change(&n)
		return n
	}
	for name, c := range map[string]struct {
		data string
		want Note
	}{
		"contract":    {contractNote, fullNote()},
		"smallest":    {`{"schema_version":"1","visit_id":"v","text":"x"}`, plain},
		"other order": {"\t{ \"text\" : \"x\" ,\r\n\"visit_id\":\"v\",\"schema_version\":\"1\"} \n", plain},
		"unknown fields": {
			`{"a":{"b":[1,{"c":null},"]}",true,false,-0.5e+3]},"schema_version":"1","visit_id":"v","text":"x","z":[]}`,
			plain,
		},
		"later minor": {
			`{"schema_version":"1.7","visit_id":"v","text":"x"}`, with(func(n *Note) { n.SchemaVersion = "1.7" }),
		},
		"null is absent": {`{"schema_version":"1","visit_id":"v","text":"x","age":null,"sex":null,"vitals":null,` +
			`"complaint":null,"acuity":null}`, plain},
		"null vital": {
			`{"schema_version":"1","visit_id":"v","text":"x","vitals":{"hr":null,"sbp":90,"x":{}}}`,
			with(func(n *Note) { n.Vitals.SBP = Some(90) }),
		},
		"last wins": {
			`{"schema_version":"1","visit_id":"u","text":"y","age":1,"age":2,"visit_id":"v","text":"x"}`,
			with(func(n *Note) { n.Age = Some(2) }),
		},
		"last vitals win": {
			`{"schema_version":"1","visit_id":"v","text":"x","vitals":{"hr":1},"vitals":{"rr":2}}`,
			with(func(n *Note) { n.Vitals.RR = Some(2) }),
		},
		"case matters": {`{"schema_version":"1","visit_id":"v","text":"x","Age":"old","SEX":1}`, plain},
		"escaped name": {`{"schema_version":"1","visit\u005fid":"v","\u0074ext":"x"}`, plain},
		"escapes": {`{"schema_version":"1","visit_id":"v","text":"\"\\\/\b\f\n\r\t\u00e9\ud83e\uddb4"}`, with(
			func(n *Note) { n.Text = "\"\\/\b\f\n\r\té\U0001f9b4" })},
		"lone surrogates": {`{"schema_version":"1","visit_id":"v","text":"\ud83e \uddb4\ud83ex\ud83e\u0041"}`, with(
			func(n *Note) { n.Text = "\ufffd \ufffd\ufffdx\ufffdA" })},
		"as it is": {
			"{\"schema_version\":\"1\",\"visit_id\":\"v\",\"text\":\"pain\u00e9 \U0001f9b4 \u2028\x7f\"}",
			with(func(n *Note) { n.Text = "painé \U0001f9b4 \u2028\x7f" }),
		},
		"NUL in the text": {
			`{"schema_version":"1","visit_id":"v","text":"a\u0000b"}`, with(func(n *Note) { n.Text = "a\x00b" }),
		},
		"largest text": {`{"schema_version":"1","visit_id":"v","text":"` + strings.Repeat("x", MaxText) + `"}`, with(
			func(n *Note) { n.Text = strings.Repeat("x", MaxText) })},
		"numbers": {`{"schema_version":"1","visit_id":"v","text":"x","age":-0.25,"acuity":1e2,` +
			`"vitals":{"hr":36.799999999999997,"rr":0,"sbp":123456789012345678901234567890,"dbp":1E-2,` +
			`"temp_c":1e-999}}`, with(func(n *Note) {
			n.Age, n.Acuity = Some(-.25), Some(100)
			n.Vitals = Vitals{
				HR: Some(36.8), RR: Some(0), SBP: Some(123456789012345678901234567890), DBP: Some(.01), TempC: Some(0),
			}
		})},
		"unknown has 1e999": {`{"schema_version":"1","visit_id":"v","text":"x","more":1e999}`, plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Note{Site: "left over", Age: Some(1)}
			if err := DecodeNote([]byte(c.data), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(Value{})); d != "" {
				t.Error(d)
			}
		})
	}
}

// Fields take one allocation, the note and its copy of the data two.
func TestFieldsAllocateOnce(t *testing.T) {
	few := []byte(`{"visit_id":"v","text":"x","fields":{"a":1,"b":2,"c":3,"d":"e"}}`)
	if got := testing.AllocsPerRun(100, func() { _ = DecodeOwnNote(few, new(Note)) }); got > 3 { // with the note
		t.Errorf("four fields take %v allocations", got)
	}
}

// Only a plain decimal is a number: a code such as 01 is a word, as in a message.
func TestParseValue(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Value{
		"": {}, "0": Number(0), "0.5": Number(.5), "4": Number(4), "4.0": Number(4), "-12.25": Number(-12.25),
		"10": Number(10), "01": Text("01"), "00": Text("00"), "-01": Text("-01"), "01.5": Text("01.5"),
		"+4":  Text("+4"),
		"1e3": Text("1e3"), "1E5": Text("1E5"), "4.": Text("4."), ".5": Text(".5"), "-": Text("-"),
		"1.2.3": Text("1.2.3"), "NaN": Text("NaN"), "0x10": Text("0x10"), "4a": Text("4a"),
	} {
		if got := ParseValue(s); got != want {
			t.Errorf("%q is %+v", s, got)
		}
	}
}

// What a site records beside the fields of every note is kept, or left out with a mark; it never refuses the note.
func TestDecodeFields(t *testing.T) {
	t.Parallel()
	many := strings.Builder{}
	for i := range MaxFields + 1 {
		fmt.Fprintf(&many, `"f%d":%d,`, i, i)
	}
	for name, c := range map[string]struct {
		fields string
		want   Fields
		out    bool
	}{
		"a number and a word": {
			`{"pain":7,"arrival_mode":"ambulance"}`,
			Fields{{"pain", Number(7)}, {"arrival_mode", Text("ambulance")}},
			false,
		},
		"null and nothing":     {`{"pain":null,"mode":""}`, nil, false},
		"null takes it back":   {`{"pain":7,"pain":null}`, Fields{}, false},
		"the last one counts":  {`{"pain":7,"x":1,"pain":8}`, Fields{{"pain", Number(8)}, {"x", Number(1)}}, false},
		"no fields":            {`null`, nil, false},
		"not an object":        {`[1,{"a":2}]`, nil, true},
		"another type":         {`{"a":true,"b":[{"c":1}],"c":{"d":{}},"e":1}`, Fields{{"e", Number(1)}}, true},
		"beyond float64":       {`{"a":1e999,"b":2}`, Fields{{"b", Number(2)}}, true},
		"another name":         {`{"Pain":7,"a b":1,"":2,"é":3,"ok_1":4}`, Fields{{"ok_1", Number(4)}}, true},
		"of every note":        {`{"age":999,"site":"x","sex":"f","pain":7}`, Fields{{"pain", Number(7)}}, true},
		"a word that is large": {`{"a":"` + strings.Repeat("x", MaxField+1) + `"}`, nil, true},
	} {
		n := Note{Fields: Fields{{"left_over", Number(1)}}, FieldsLeftOut: true}
		err := DecodeOwnNote([]byte(`{"visit_id":"v","text":"x","fields":`+c.fields+`}`), &n)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, n.Fields, cmp.AllowUnexported(Value{})); d != "" || n.FieldsLeftOut != c.out {
			t.Errorf("%s: left out: %v\n%s", name, n.FieldsLeftOut, d)
		}
	}
	var n Note
	data := `{"visit_id":"v","text":"x","fields":{` + strings.TrimSuffix(many.String(), ",") + `}}`
	if err := DecodeOwnNote([]byte(data), &n); err != nil || len(n.Fields) != MaxFields || !n.FieldsLeftOut {
		t.Errorf("too many: %d fields, left out %v, %v", len(n.Fields), n.FieldsLeftOut, err)
	}
	if got := n.Value("f7"); got != Number(7) {
		t.Errorf("the value of f7 is %v", got)
	}
	if err := DecodeOwnNote([]byte(`{"visit_id":"v","text":"x","fields":{"a":[1}}`), &n); err == nil {
		t.Error("broken JSON within fields is accepted")
	}
}

const secret = "zzsecretname"

func TestDecodeNoteRefuses(t *testing.T) {
	t.Parallel()
	fields := func(fields string) string { return `{"schema_version":"1","visit_id":"v",` + fields + `}` }
	for name, c := range map[string]struct {
		data string
		want Error
	}{
		"empty":             {"", Error{NotJSON, ""}},
		"blank":             {" \n", Error{NotJSON, ""}},
		"brace":             {"{", Error{NotJSON, ""}},
		"bare word":         {secret, Error{NotJSON, ""}},
		"array":             {`["` + secret + `"]`, Error{WrongType, ""}},
		"null":              {"null", Error{WrongType, ""}},
		"number":            {"7", Error{WrongType, ""}},
		"string":            {`"` + secret + `"`, Error{WrongType, ""}},
		"NUL":               {"\x00\x01\x02", Error{NotJSON, ""}},
		"byte order mark":   {"\ufeff{}", Error{NotJSON, ""}},
		"not UTF-8":         {"\xff\xfe\xfa", Error{InvalidUTF8, ""}},
		"not UTF-8 in text": {fields("\"text\":\"" + secret + " \xff\xc3\x28\""), Error{InvalidUTF8, ""}},
		"surrogate bytes":   {fields("\"text\":\"\xed\xa0\x80\""), Error{InvalidUTF8, ""}},
		"cut short":         {contractNote[:len(contractNote)-5], Error{NotJSON, ""}},
		"trailing byte":     {contractNote + "x", Error{NotJSON, ""}},
		"two objects":       {contractNote + contractNote, Error{NotJSON, ""}},
		"trailing comma":    {fields(`"text":"x",`), Error{NotJSON, ""}},
		"missing comma":     {fields(`"text":"x" "age":1`), Error{NotJSON, ""}},
		"missing colon":     {fields(`"text" "x"`), Error{NotJSON, ""}},
		"bare name":         {fields(`text:"x"`), Error{NotJSON, ""}},
		"no value":          {fields(`"text":`), Error{NotJSON, ""}},
		"raw line break":    {fields("\"text\":\"a\nb\""), Error{NotJSON, ""}},
		"bad escape":        {fields(`"text":"\x41"`), Error{NotJSON, ""}},
		"short escape":      {fields(`"text":"\u12"`), Error{NotJSON, ""}},
		"leading zero":      {fields(`"text":"x","age":078`), Error{NotJSON, ""}},
		"plus":              {fields(`"text":"x","age":+7`), Error{NotJSON, ""}},
		"dot":               {fields(`"text":"x","age":7.`), Error{NotJSON, ""}},
		"exponent":          {fields(`"text":"x","age":7e`), Error{NotJSON, ""}},
		"minus":             {fields(`"text":"x","age":-`), Error{NotJSON, ""}},
		"NaN":               {fields(`"text":"x","age":NaN`), Error{NotJSON, ""}},
		"misspelt null":     {fields(`"text":"x","age":nul`), Error{NotJSON, ""}},
		"deep object":       {strings.Repeat(`{"a":`, 100000), Error{NotJSON, ""}},
		"deep array": {
			fields(`"text":"x","a":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000)), Error{NotJSON, ""},
		},
		"many names":        {"{" + strings.Repeat(`"`+secret+`":1,`, 20000), Error{NotJSON, ""}},
		"visit is a number": {`{"schema_version":"1","visit_id":7,"text":"x"}`, Error{WrongType, "visit_id"}},
		"text is a number":  {fields(`"text":123`), Error{WrongType, "text"}},
		"text is a list":    {fields(`"text":["` + secret + `"]`), Error{WrongType, "text"}},
		"age is text":       {fields(`"text":"x","age":"old ` + secret + `"`), Error{WrongType, "age"}},
		"age is a bool":     {fields(`"text":"x","age":true`), Error{WrongType, "age"}},
		"age out of range":  {fields(`"text":"x","age":1e999`), Error{WrongType, "age"}},
		"vitals is text":    {fields(`"text":"x","vitals":"` + secret + `"`), Error{WrongType, "vitals"}},
		"vital is text":     {fields(`"text":"x","vitals":{"temp_c":"warm"}`), Error{WrongType, "vitals.temp_c"}},
		"first of two":      {fields(`"text":"x","acuity":[],"age":[]`), Error{WrongType, "acuity"}},
		"wrong, then cut":   {`{"text":5,`, Error{NotJSON, ""}},
		"major version": {
			`{"schema_version":"2","visit_id":7,"text":[]}`, Error{UnknownSchemaVersion, "schema_version"},
		},
		"version in words": {
			`{"schema_version":"one","visit_id":"v","text":"x"}`, Error{UnknownSchemaVersion, "schema_version"},
		},
		"version with dot": {
			`{"schema_version":"1.","visit_id":"v","text":"x"}`, Error{UnknownSchemaVersion, "schema_version"},
		},
		"version 10": {
			`{"schema_version":"10","visit_id":"v","text":"x"}`, Error{UnknownSchemaVersion, "schema_version"},
		},
		"three parts": {
			`{"schema_version":"1.2.3","visit_id":"v","text":"x"}`, Error{UnknownSchemaVersion, "schema_version"},
		},
		"version is a number": {`{"schema_version":1,"visit_id":"v","text":"x"}`, Error{WrongType, "schema_version"}},
		"version not last":    {`{"text":1,"schema_version":1}`, Error{WrongType, "schema_version"}},
		"no version":          {`{"visit_id":"v","text":"x"}`, Error{MissingField, "schema_version"}},
		"no visit":            {`{"schema_version":"1","text":"` + secret + `"}`, Error{MissingField, "visit_id"}},
		"blank visit":         {`{"schema_version":"1","visit_id":" ","text":"x"}`, Error{MissingField, "visit_id"}},
		"no text":             {`{"schema_version":"1","visit_id":"v"}`, Error{MissingField, "text"}},
		"null text":           {fields(`"text":null`), Error{MissingField, "text"}},
		"empty object":        {`{}`, Error{MissingField, "schema_version"}},
		"empty text":          {fields(`"text":""`), Error{EmptyText, "text"}},
		"blank text":          {fields(`"text":" \n\t\u00a0\u2003"`), Error{EmptyText, "text"}},
		"900 KB": {
			fields(`"text":"` + strings.Repeat("fell "+secret, 50000) + `"`), Error{TooLarge, "text"},
		},
		"a byte too long": {fields(`"text":"` + strings.Repeat("x", MaxText+1) + `"`), Error{TooLarge, "text"}},
		"long complaint": {
			fields(`"text":"x","complaint":"` + strings.Repeat("x", MaxField+1) + `"`), Error{TooLarge, "complaint"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n Note
			err := DecodeNote([]byte(c.data), &n)
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			if *got != c.want {
				t.Errorf("got %v, want %v", got, &c.want)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error quotes the message: %v", err)
			}
		})
	}
}

func TestFraming(t *testing.T) {
	t.Parallel()
	note := `{"schema_version":"1","visit_id":"v","text":"` + secret + `"}`
	for value, want := range map[string]string{
		"\x00\x00\x00\x00\x2a" + note:                         "schema registry",
		`{"schema":{"type":"struct"},"payload":` + note + `}`: "Connect envelope",
		`{"payload":` + note + `}`:                            "",
		note[:20]:                                             "", "": "", "\x00": "",
	} {
		got := Framing([]byte(value))
		if !strings.Contains(got, want) || (got == "") != (want == "") || strings.Contains(got, secret) {
			t.Errorf("%.20q: %q, want %q", value, got, want)
		}
	}
}

// A version may be missing outside Kafka alone.
func TestDecodeOwnNote(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"visit_id":"v","text":"x"}`:                        "1",
		`{"visit_id":"v","text":"x","schema_version":null}`:  "1",
		`{"visit_id":"v","text":"x","schema_version":"1.7"}`: "1.7",
	} {
		var n Note
		if err := DecodeOwnNote([]byte(data), &n); err != nil || n.SchemaVersion != want {
			t.Errorf("%s: version %q, %v", data, n.SchemaVersion, err)
		}
	}
	for data, want := range map[string]Error{
		`{"visit_id":"v","text":"x","schema_version":"2"}`: {UnknownSchemaVersion, "schema_version"},
		`{"visit_id":"v","text":"x","schema_version":1}`:   {WrongType, "schema_version"},
		`{"visit_id":"v","text":"x","age":"old"}`:          {WrongType, "age"},
		`{"visit_id":"v","text":"x","vitals":{"hr":"x"}}`:  {WrongType, "vitals.hr"},
		`{"text":"x"}`: {MissingField, "visit_id"},
	} {
		var n Note
		var got *Error
		if err := DecodeOwnNote([]byte(data), &n); !errors.As(err, &got) || *got != want {
			t.Errorf("%s: got %v, want %v", data, err, &want)
		}
	}
}

// Every field that an auxiliary column can hold is found by its name.
func TestNoteFields(t *testing.T) {
	t.Parallel()
	var n Note
	for i, name := range VitalNames() {
		*n.Number("vitals." + name) = Some(float64(i))
	}
	*n.Number("age"), *n.Number("acuity"), *n.Word("sex"), *n.Word("site") = Some(78), Some(2), "F", "A"
	want := Note{Age: Some(78), Acuity: Some(2), Sex: "F", Site: "A", Vitals: n.Vitals}
	for i, v := range VitalSigns() {
		if got := v.In(&n); *got != Some(float64(i)) {
			t.Errorf("%s: got %v", v.Name, got)
		}
	}
	if d := cmp.Diff(want, n, cmp.AllowUnexported(Value{})); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"", "hr", "vitals.", "vitals.pulse", "text", "sex"} {
		if n.Number(name) != nil {
			t.Errorf("%q is a number", name)
		}
	}
	if n.Word("text") != nil || n.Word("age") != nil {
		t.Error("text or age is a word")
	}
}

// noteGen draws notes that decode.
func noteGen() *rapid.Generator[Note] {
	return rapid.Custom(func(t *rapid.T) Note {
		str := func(name string) string { return rapid.String().Draw(t, name) }
		num := func(name string) Optional {
			if !rapid.Bool().Draw(t, name+" is set") {
				return Optional{}
			}
			return Some(rapid.Float64().Filter(func(v float64) bool { return !math.IsInf(v, 0) }).Draw(t, name))
		}
		n := Note{
			SchemaVersion: rapid.SampledFrom([]string{"1", "1.0", "1.42"}).Draw(t, "version"),
			VisitID:       "v" + str("visit"), Site: str("site"),
			ArrivedAt: str("arrived"), Complaint: str("complaint"),
			Text: str("text") + "x", Age: num("age"), Sex: str("sex"), Acuity: num("acuity"), PatientID: str("patient"),
		}
		for _, v := range VitalSigns() {
			*v.In(&n) = num(v.Name)
		}
		names := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z0-9_]{1,20}"), 0, MaxFields, rapid.ID[string])
		for i, name := range names.Draw(t, "fields") {
			v := Number(float64(i) / 8)
			if i%2 == 0 {
				v = Text(str("word") + "x")
			}
			n.Fields.Set(name, v)
		}
		return n
	})
}

func TestNoteRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := noteGen().Draw(t, "note")
		data := want.AppendJSON(nil)
		var got Note
		if err := DecodeNote(data, &got); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(Value{})); d != "" {
			t.Fatal(d)
		}
		if reference := reencode(t, &want); string(data) != reference {
			t.Fatalf("got  %s\nwant %s", data, reference)
		}
	})
}

func FuzzDecodeNote(f *testing.F) {
	f.Add([]byte(contractNote))
	for _, s := range []string{
		``, `{}`, `[]`, `null`,
		`{"a":{"b":[1,{"c":null},"]}",true,false,-0.5e+3]},"schema_version":"1","visit_id":"v","text":"x"}`,
		`{"schema_version":"1.7","visit_id":"v","text":"\ud83e\uddb4 \ud83e \u0000","age":null,"vitals":{"hr":1e999}}`,
		`{"schema_version":"2","visit_id":7,"text":["` + secret + `"]}`, "{\"text\":\"\xff\"}",
		strings.Repeat(`{"a":`, 300), strings.Repeat(`[`, 300),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var n Note
		err := DecodeNote(data, &n)
		if err != nil {
			checkRefusal(t, data, err)
			return
		}
		if !json.Valid(data) {
			t.Fatal("accepted what is no JSON")
		}
		var again Note
		if err := DecodeNote(n.AppendJSON(nil), &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(n, again); d != "" {
			t.Error(d)
		}
	})
}

// checkRefusal holds the error for a message against encoding/json.
func checkRefusal(t *testing.T, data []byte, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	if e.Reason != NotJSON && e.Reason != InvalidUTF8 && !json.Valid(data) {
		t.Fatalf("%v for what is no JSON", e)
	}
	// Depth is the one thing in which we are stricter than encoding/json.
	if e.Reason == NotJSON && json.Valid(data) &&
		strings.Count(string(data), "[")+strings.Count(string(data), "{") < jsonscan.MaxDepth {
		t.Fatalf("%v for JSON", e)
	}
	if !fixedText(e) {
		t.Fatalf("the error is not made of fixed words: %v", e)
	}
}

// fixedText reports whether an error holds only our own words.
func fixedText(e *Error) bool {
	switch e.Reason {
	case NotJSON, WrongType, MissingField, EmptyText, NoAnswers, InvalidUTF8, TooLarge, UnknownSchemaVersion:
	default:
		return false
	}
	if vital, ok := strings.CutPrefix(e.Field, "vitals."); ok {
		return slices.Contains(VitalNames(), vital)
	}
	switch e.Field {
	case "", "schema_version", "visit_id", "site", "arrived_at", "complaint", "text", "age", "sex", "acuity", "vitals",
		"response_id", "participant_id", "instrument", "answered_at", "answers", "confounds",
		"disposition", "status", "ward", "decided_at", "recorded_at",
		"generation", "scored_at", "model", "model.name", "model.version", "model.method", "model.sha256",
		"probability", "admission_probability":
		return true
	}
	return false
}

// A KafkaTopic may hold predictions of earlier versions, which wrote not_admit.
func TestDecisionOfEarlierVersions(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]Decision{"admit": Admit, "discharge": Discharge, "not_admit": Discharge} {
		var p Prediction
		if err := json.Unmarshal([]byte(`{"decision":"`+wire+`"}`), &p); err != nil || p.Decision != want {
			t.Errorf("%s is read as %q (%v), want %q", wire, p.Decision, err, want)
		}
	}
}
