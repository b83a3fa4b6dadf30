package msg

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVitalsAreWritten holds the places outside Go that list the vital signs against their table; -update writes them.
func TestVitalsAreWritten(t *testing.T) {
	t.Parallel()
	units := strings.NewReplacer("°C", "degrees Celsius", "%", "percent")
	for _, c := range []struct {
		file, begin, end string // the lines between these
		line             func(v Vital, last bool) string
	}{
		{"schema/note.json", `    "vitals": {` + "\n      \"type\": [\"object\", \"null\"],\n      \"properties\": " +
			"{\n", "      }\n", func(v Vital, last bool) string {
			comma := ","
			if last {
				comma = ""
			}
			words := strings.ToUpper(v.Words[:1]) + v.Words[1:]
			return fmt.Sprintf(`        %q: {"type": ["number", "null"], "description": "%s, %s."}%s`, v.Name, words,
				units.Replace(v.Unit), comma)
		}},
		{"../../docs/notes.md", "1 is the most urgent |\n", "\nBoth ends", func(v Vital, _ bool) string {
			return fmt.Sprintf("| `vitals.%s` | %s | %v | %v | %s |", v.Name, v.Unit, v.Range[0], v.Range[1], v.Why)
		}},
		{"../../deploy/wardcast.yaml", "    acuity: [1, 5] # ESI, Manchester, ATS, CTAS, KTAS\n", "  levels:", func(
			v Vital, _ bool,
		) string {
			return fmt.Sprintf("    vitals.%s: [%v, %v] # %s", v.Name, v.Range[0], v.Range[1], units.Replace(v.Unit))
		}},
	} {
		data, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(data), c.begin)
		at := strings.Index(rest, c.end)
		if !found || at < 0 {
			t.Fatalf("%s: no vital signs between %q and %q", c.file, c.begin, c.end)
		}
		var want strings.Builder
		for i, v := range VitalSigns() {
			want.WriteString(c.line(v, i == len(VitalSigns())-1) + "\n")
		}
		if d := cmp.Diff(want.String(), rest[:at]); d != "" {
			t.Errorf("%s: -table +file, mend it by -update:\n%s", c.file, d)
		}
		if *update {
			if err := os.WriteFile(c.file, []byte(before+c.begin+want.String()+rest[at:]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestVitalOut(t *testing.T) {
	t.Parallel()
	n := Note{
		Vitals: Vitals{SBP: Some(90), DBP: Some(300), HR: Some(131), RR: Some(24), TempC: Some(41), SpO2: Some(91)},
	}
	var out []string
	for _, v := range VitalSigns() {
		if v.Out(v.In(&n).Value) {
			out = append(out, v.Name)
		}
	}
	if !slices.Equal(out, []string{"sbp", "hr", "spo2"}) {
		t.Errorf("3 points of NEWS2 for %v", out)
	}
}
