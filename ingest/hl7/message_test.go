package hl7_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/hl7"
)

const head = "MSH|^~\\&|APP|HOSP|WARD|ED|20261120081502||ADT^A04^ADT_A01|C1|P|2.5.1||||||UNICODE UTF-8\r"

// parse reads a message that must be valid.
func parse(t *testing.T, message string) *hl7.Message {
	t.Helper()
	m, err := hl7.Parse([]byte(message))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return m
}

// values returns the texts of the repetitions of field n of the first segment of a name.
func values(m *hl7.Message, segment string, n int) (all []string) {
	for v := range m.First(segment).Field(n).Repetitions() {
		all = append(all, v.String())
	}
	return all
}

func TestHeader(t *testing.T) {
	t.Parallel()
	f := func(message string, want hl7.Header) {
		t.Helper()
		got, err := hl7.ReadHeader([]byte(message))
		if err != nil || got != want {
			t.Errorf("ReadHeader(%q) = %+v, %v, want %+v", message, got, err, want)
		}
	}
	usual := hl7.Header{
		Separators: hl7.Standard(), SendingApplication: "APP", SendingFacility: "HOSP", ReceivingApplication: "WARD",
		ReceivingFacility: "ED", Type: "ADT", Event: "A04", Control: "C1", Processing: "P", Version: "2.5.1",
		CharacterSet: "UNICODE UTF-8",
	}
	f(head, usual)
	f("\xef\xbb\xbf\r\n"+head, usual)
	five := usual
	f(strings.Replace(head, `^~\&`, `^~\&#`, 1), five)
	f("MSH|^", hl7.Header{Separators: hl7.Separators{Field: '|', Component: '^'}})
	other := hl7.Header{
		Separators: hl7.Separators{'#', '@', '!', '$', '*'}, Type: "ORU", Event: "R01", Control: "9|9", Version: "2.3",
	}
	f("MSH#@!$*#####20261120##ORU@R01#9|9##2.3@USA\n", other)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	f := func(message string, want hl7.Error) {
		t.Helper()
		m, err := hl7.Parse([]byte(message))
		got, ok := errors.AsType[*hl7.Error](err)
		if !ok || *got != want {
			t.Errorf("Parse(%.60q) = %+v, want %+v", message, err, want)
		}
		if len(m.Segments()) > 0 {
			t.Errorf("Parse(%.60q) returns segments with an error", message)
		}
	}
	at := func(r hl7.Reason, n int) hl7.Error {
		return hl7.Error{Reason: r, Position: 1, Segment: "MSH", Field: n}
	}
	f("", hl7.Error{Reason: hl7.NotHL7})
	f("MSH", hl7.Error{Reason: hl7.NotHL7})
	f("PID|1||M1\r", hl7.Error{Reason: hl7.NotHL7})
	f(head+"PID|1||M1\r"+head+"PID|1||M2\r", hl7.Error{Reason: hl7.SeveralMessages, Position: 3, Segment: "MSH", Sequence: 2})
	f(strings.Replace(head, "MSH|", "MSHa", 1), at(hl7.BadSeparators, 2))
	f(strings.Replace(head, `^~\&`, `^^\&`, 1), at(hl7.BadSeparators, 2))
	f(strings.Replace(head, `^~\&`, `^~A&`, 1), at(hl7.BadSeparators, 2))
	f(strings.Replace(head, `^~\&`, ``, 1), at(hl7.BadSeparators, 2))
	f(strings.Replace(head, `^~\&`, `^~\&#!`, 1), at(hl7.BadSeparators, 2))
	f(strings.Replace(head, "UNICODE UTF-8", "GB 18030-2000", 1), at(hl7.UnknownCharacterSet, 18))
	f(head+"NTE|1||f\xff\r", at(hl7.InvalidCharacters, 18))
	f(strings.Replace(head, "UNICODE UTF-8", "ASCII", 1)+"NTE|1||f\xff\r", at(hl7.InvalidCharacters, 18))
	f(head+"NTE|"+strings.Repeat("x", hl7.MaxMessage), hl7.Error{Reason: hl7.TooLarge})
	f(head+strings.Repeat("NTE|1\r", hl7.MaxSegments),
		hl7.Error{Reason: hl7.TooManySegments, Position: hl7.MaxSegments + 1})
	f(head+"NTE|"+strings.Repeat("|", hl7.MaxFields),
		hl7.Error{Reason: hl7.TooManyFields, Position: 2, Segment: "NTE"})
	for _, r := range hl7.Reasons() {
		if (&hl7.Error{Reason: r}).Error() != string(r) {
			t.Errorf("the error of %s has another text", r)
		}
	}
}

// A refused message still has the header by which it is answered.
func TestRefusedHasHeader(t *testing.T) {
	t.Parallel()
	m, err := hl7.Parse([]byte(head + "NTE|1||f\xff\r"))
	if err == nil || m.Header.Control != "C1" || m.Header.Event != "A04" {
		t.Errorf("Parse = %+v, %v, want the header and an error", m.Header, err)
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	f := func(name, message string, want ...string) {
		t.Helper()
		m := parse(t, message)
		var got []string
		for i, s := range m.Segments() {
			if s.Position != i+1 {
				t.Errorf("%s: position %d of segment %d", name, s.Position, i+1)
			}
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: segments %v, want %v", name, got, want)
		}
	}
	body := "PID|1\rZZZ|x^y~z\rOBX|1|TX"
	f(`\r`, head+body, "MSH", "PID", "ZZZ", "OBX")
	f(`\n`, strings.ReplaceAll(head+body+"\r", "\r", "\n"), "MSH", "PID", "ZZZ", "OBX")
	f(`\r\n`, strings.ReplaceAll(head+body+"\r", "\r", "\r\n"), "MSH", "PID", "ZZZ", "OBX")
	f("empty lines", head+"\r\rPID|1\r\r", "MSH", "PID")
	f("a name alone", head+"PID\r", "MSH", "PID")
	f("only MSH", strings.TrimSuffix(head, "\r"), "MSH")
	// Line breaks that the sender did not escape are text.
	m := parse(t, head+"OBX|1|TX|||fell\nat home\rhip pain, Pt to ED23\rand PAIN|9\rNTE|1\r")
	if got := values(m, "OBX", 5); !slices.Equal(got, []string{"fell\nat home\rhip pain, Pt to ED23\rand PAIN"}) {
		t.Errorf("a broken text is read as %q", got)
	}
	if m.First("NTE").Position != 3 || m.First("PV1").Position != 0 || !m.First("PV1").Field(19).Empty() {
		t.Error("First finds another segment")
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	m := parse(t, head+`PID|1|""|a^b&c&d^e~f^g||x`+"\r")
	pid := m.First("PID")
	field := pid.Field(3)
	for _, c := range []struct{ got, want string }{
		{field.Component(1).String(), "a"},
		{field.Component(2).String(), "b&c&d"},
		{field.Component(2).Subcomponent(2).String(), "c"},
		{field.Component(2).Subcomponent(4).String(), ""},
		{field.Component(3).String(), "e"},
		{field.Component(9).String(), ""},
		{pid.Field(2).String(), ""},
		{pid.Field(4).String(), ""},
		{pid.Field(5).String(), "x"},
		{pid.Field(99).String(), ""},
		{m.First("MSH").Field(1).String(), "|"},
		{m.First("MSH").Field(2).Component(1).String(), ""},
		{m.First("MSH").Field(9).Component(3).String(), "ADT_A01"},
		{m.First("MSH").Field(10).String(), "C1"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if got := values(m, "PID", 3); !slices.Equal(got, []string{"a^b&c&d^e", "f^g"}) {
		t.Errorf("repetitions %q", got)
	}
	if !pid.Field(2).Null() || pid.Field(2).Empty() || pid.Field(4).Null() || !pid.Field(4).Empty() {
		t.Error("a null and an empty field are confused")
	}
	for range field.Repetitions() {
		break // a caller may stop
	}
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	f := func(raw, want string) {
		t.Helper()
		m := parse(t, head+"OBX|1|TX|||"+raw+"\r")
		if got := m.First("OBX").Field(5).String(); got != want {
			t.Errorf("%q is read as %q, want %q", raw, got, want)
		}
	}
	f(`a\F\b\S\c\R\d\E\e\T\f\P\g`, `a|b^c~d\e&f#g`)
	f(`fell\.br\hip\.sp2\pain\.sk3\x\.ce\y\.in+4\z\.fi\`, "fell\nhip\n\npain   x\nyz")
	f(`\H\high\N\`, "high")
	f(`\X41\\X6263\`, "Abc")
	f(`caf\XC3A9\`, "café")
	f(`\XFF\`, "\uFFFD")
	f(`50\ of it`, `50\ of it`)
	f(`c:\temp\file`, `c:\temp\file`)
	f(`\E\F\E\`, `\F\`)
	f(`\\`, `\\`)
	f(`\`, `\`)
	f(`\X4\ \Xzz\ \.sp99999999999999999999\ \.zz\ \.\ \Q\`, `\X4\ \Xzz\ \.sp99999999999999999999\ \.zz\ \.\ \Q\`)
	f(`\C2842\x\M2A2B2C\`, "x")
	// A text survives being written and read, apart from control characters.
	s := hl7.Standard()
	text := "a|b^c~d\\e&f\nnext\tline é"
	f(s.Quote(text), text)
	if got := s.Quote("a\x0bb\x1c\rc"); got != "abc" {
		t.Errorf("Quote leaves control characters: %q", got)
	}
	// Without an escape character nothing is replaced; without a subcomponent separator \T\ is its usual one.
	m := parse(t, "MSH|^~|\rOBX|1|TX|||a\\F\\b\r")
	if got := m.First("OBX").Field(5).String(); got != `a\F\b` {
		t.Errorf("without an escape character: %q", got)
	}
	m = parse(t, "MSH|^~\\|\rOBX|1|TX|||a\\T\\b\r")
	if got := m.First("OBX").Field(5).String(); got != "a&b" {
		t.Errorf("without a subcomponent separator: %q", got)
	}
}

func TestCharacterSets(t *testing.T) {
	t.Parallel()
	f := func(charset, raw, want string) {
		t.Helper()
		m := parse(t, strings.Replace(head, "UNICODE UTF-8", charset, 1)+"OBX|1|TX|||"+raw+"\r")
		if got := m.First("OBX").Field(5).String(); got != want {
			t.Errorf("%s: %q is read as %q, want %q", charset, raw, got, want)
		}
	}
	f("UNICODE UTF-8", "café", "café")
	f("utf8", "café", "café")
	f("", "café", "café")
	f("ASCII", "cafe", "cafe")
	f("8859/1", "caf\xe9 \x93quoted\x94", "café “quoted”")
	f("ISO IR100", `caf\XE9\`, "café")
	f("8859/15", "10 \xa4", "10 €")
	f("8859/15~UNICODE UTF-8", "10 \xa4", "10 €")
}

func TestTime(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	f := func(raw, want string, digits int) {
		t.Helper()
		m := parse(t, head+"EVN||"+raw+"\r")
		got, precision, ok := m.First("EVN").Field(2).Time(zone)
		switch {
		case ok != (want != ""):
			t.Errorf("%q is a time: %v", raw, ok)
		case ok && (got.UTC().Format(time.RFC3339Nano) != want || precision != digits):
			t.Errorf("%q is read as %s to %d digits, want %s to %d", raw, got.UTC(), precision, want, digits)
		}
	}
	f("20260705081502", "2026-07-05T12:15:02Z", 14)
	f("20261120081502", "2026-11-20T13:15:02Z", 14)
	f("20261120081502.123-0800", "2026-11-20T16:15:02.123Z", 14)
	f("20261120081502+0000", "2026-11-20T08:15:02Z", 14)
	f("202611200815+0530", "2026-11-20T02:45:00Z", 12)
	f("202611200815", "2026-11-20T13:15:00Z", 12)
	f("2026112008", "2026-11-20T13:00:00Z", 10)
	f("20261120", "2026-11-20T05:00:00Z", 8)
	f("202611", "2026-11-01T04:00:00Z", 6)
	f("2026", "2026-01-01T05:00:00Z", 4)
	f("20261120081502^S", "2026-11-20T13:15:02Z", 14) // with its degree of precision
	f("20261120081502&x", "2026-11-20T08:15:02Z"[:11]+"13:15:02Z", 14)
	for _, wrong := range []string{
		"", "x", "20261", "20261320", "20260230", "20261120081502.", "2026.5", "20261120081502+00", "-0500",
		"20261120081502.1234567890", "2026-11-20T08:15:02Z", `""`,
	} {
		want := ""
		if wrong == "20261120081502." {
			want = "2026-11-20T13:15:02Z"
		}
		f(wrong, want, 14)
	}
	if got := hl7.FormatTime(time.Date(2026, 11, 20, 8, 15, 2, 0, zone)); got != "20261120081502-0500" {
		t.Errorf("FormatTime = %s", got)
	}
}

func TestAcknowledge(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 8, 15, 2, 0, time.UTC)
	f := func(head string, a hl7.Answer, want string) {
		t.Helper()
		h, _ := hl7.ReadHeader([]byte(head))
		a.ID, a.Time = "7", at
		got := string(h.Acknowledge(a))
		if got != want {
			t.Errorf("the answer to %q is\n%q, want\n%q", head, got, want)
		}
		code, control, err := hl7.ReadAcknowledgement([]byte(got))
		if err != nil || code != a.Code || control != h.Control {
			t.Errorf("read as %s of %q, %v", code, control, err)
		}
	}
	missing := hl7.Answer{
		Code: hl7.Failed, Reason: "missing_visit", Condition: 101,
		Where: hl7.Error{Position: 4, Segment: "PV1", Field: 19, Sequence: 2},
	}
	f(head, hl7.Answer{Code: hl7.Accepted},
		"MSH|^~\\&|WARD|ED|APP|HOSP|20261120081502+0000||ACK^A04^ACK|7|P|2.5.1||||||UNICODE UTF-8\rMSA|AA|C1\r")
	f(head, missing,
		"MSH|^~\\&|WARD|ED|APP|HOSP|20261120081502+0000||ACK^A04^ACK|7|P|2.5.1||||||UNICODE UTF-8\r"+
			"MSA|AE|C1|missing_visit\rERR||PV1^2^19|101^Required field missing^HL70357|E||||missing_visit\r")
	f("MSH#@!$*#A#B#C#D#2026##ADT@A04#C@1#D#2.3\r", missing,
		"MSH#@!$*#C#D#A#B#20261120081502+0000##ACK@A04#7#D#2.3\rMSA#AE#C@1#missing_visit\rERR#PV1@2@19\r")
	f(strings.Replace(head, "2.5.1", "9.9", 1), hl7.Answer{Code: hl7.Rejected, Reason: "wrong_version", Condition: 203},
		"MSH|^~\\&|WARD|ED|APP|HOSP|20261120081502+0000||ACK^A04^ACK|7|P|2.5.1||||||UNICODE UTF-8\r"+
			"MSA|AR|C1|wrong_version\rERR|||203^Unsupported version id^HL70357|E||||wrong_version\r")
	f("hello", hl7.Answer{Code: hl7.Failed, Reason: "not_hl7"},
		"MSH|^~\\&|||||20261120081502+0000||ACK|7|P|2.5.1\rMSA|AE||not_hl7\r"+
			"ERR|||207^Application internal error^HL70357|E||||not_hl7\r")
	for _, wrong := range []string{"", head, head + "MSA"} {
		code, _, err := hl7.ReadAcknowledgement([]byte(wrong))
		if (err == nil) != (wrong == head+"MSA") || code != "" {
			t.Errorf("%q is an answer: %s, %v", wrong, code, err)
		}
	}
	if code, _, _ := hl7.ReadAcknowledgement([]byte(head + "MSA|CE|1\r")); code != hl7.Failed {
		t.Errorf("CE is read as %s", code)
	}
}

// FuzzParse reads any bytes, every field of what they are, and answers them.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		head, head + "PID|1||M1^^^H^MR||N^A\rPV1|1|E|ED^1|||||||||||||||||V1\r" +
			`OBX|1|TX|54094-8^^LN||a\.br\b~c\X41\|`,
		"MSH#@!$*#####20261120##ORU@R01#9##2.3\nOBX#1#CWE###@@@@@@@@fall",
		strings.Replace(head, "UNICODE UTF-8", "8859/1", 1) + "NTE|\xe9\\XE9\\",
		"MSH|^~\\&|\r\r\n\nx\r|||", "\x0bMSH|^", "MSH|", "BHS|^~\\&|",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := hl7.Parse(data)
		answer := m.Header.Acknowledge(hl7.Answer{Code: hl7.Accepted, ID: "1"})
		if _, _, ackErr := hl7.ReadAcknowledgement(answer); err == nil && ackErr != nil {
			t.Errorf("the answer cannot be read: %v", ackErr)
		}
		if err != nil {
			if _, ok := errors.AsType[*hl7.Error](err); !ok || len(m.Segments()) > 0 {
				t.Errorf("Parse returns %v and %d segments", err, len(m.Segments()))
			}
			return
		}
		for _, s := range m.Segments() {
			for n := range 30 {
				for v := range s.Field(n).Repetitions() {
					_, _, _ = v.Time(time.UTC)
					if text := v.Component(2).Subcomponent(2).String() + v.Component(9).String() + v.String(); len(
						text) > 300*len(data)+300 {
						t.Errorf("%d bytes become a text of %d", len(data), len(text))
					}
				}
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	message := []byte(head + "EVN|A04|20261120081502\rPID|1||MRN1^^^H^MR||Name^A||19480203|F\r" +
		"PV1|1|E|ED|||||||||||||||||V1|||||||||||||||||||||||||20261120081502\r" +
		"OBX|1|TX|54094-8^^LN||78F glf at home\\.br\\unable to wt bear L hip||||||F\r")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := hl7.Parse(message); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleParse() {
	m, err := hl7.Parse([]byte("MSH|^~\\&|||||20261120||ADT^A04|1|P|2.5.1\rOBX|1|TX|54094-8||fell\\.br\\hip pain\r"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %q\n", m.Header.Event, m.First("OBX").Field(5))
	// Output: A04 "fell\nhip pain"
}
