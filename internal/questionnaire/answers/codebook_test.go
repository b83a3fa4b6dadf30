package answers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
)

// The columns of a dictionary as REDCap's web page writes them, and as its API does.
const (
	fromPage = `"Variable / Field Name","Form Name","Section Header","Field Type","Field Label","Choices, ` +
		`Calculations, OR Slider Labels","Field Note","Text Validation Type OR Show Slider Number","Text Validation ` +
		`Min","Text Validation Max",Identifier?` + "\n"
	fromAPI = "field_name,form_name,section_header,field_type,field_label,select_choices_or_calculations,field_note," +
		"text_validation_type_or_show_slider_number,text_validation_min,text_validation_max,identifier\n"
)

func TestReadCodebookOfREDCap(t *testing.T) {
	t.Parallel()
	const rows = `record_id,start,,text,Record ID,,,,,,y
phq1,phq9,Head,radio,"<b>Little</b> interest &amp; pleasure","0, Not at all | 1, Several days | 3, Nearly every day | -99, Prefer not to say",,,,,
phq2,phq9,,dropdown,Down,"1, No | 2, Yes",,,,,
site,start,,radio,Site,"a, First | b, Second",,,,,
pain,start,,slider,Pain,None | Some | Worst,,,,,
itch,start,,slider,Itch,,,,0,10,
smoke,start,,yesno,Do you smoke?,,,,,,
used,start,,truefalse,Used,,,,,,
drugs,start,,checkbox,Drugs,"1, Aspirin | -2, Other, or none",,,,,
born,start,,text,Born,,,date_ymd,1900-01-01,2020-01-01,
hours,start,,text,Hours,,,number,0,24,
total,phq9,,calc,Total,[phq1]+[phq2],,,,,
one,start,,radio,One,"1, Only",,,,,
`
	item := func(name, text, scale string, low, high float64, labels ...string) questionnaire.Item {
		i := questionnaire.Item{
			Name: name, Text: text, Subscale: scale, Range: &questionnaire.Range{Low: low, High: high},
		}
		for at := 0; at < len(labels); at += 2 {
			i.Choices = append(i.Choices, questionnaire.Choice{Code: labels[at], Label: labels[at+1]})
		}
		if strings.Contains(name, "___") {
			i.Status = scale + "_complete"
		}
		return i
	}
	want := &answers.Codebook{
		Items: []questionnaire.Item{
			item("phq1", "Little interest & pleasure", "phq9", 0, 3, "0", "Not at all", "1", "Several days", "3",
				"Nearly every day", "-99", "Prefer not to say"),
			item("phq2", "Down", "phq9", 1, 2, "1", "No", "2", "Yes"),
			item("pain", "Pain", "start", 0, 100), item("itch", "Itch", "start", 0, 10),
			item("smoke", "Do you smoke?", "start", 0, 1, "1", "Yes", "0", "No"),
			item("used", "Used", "start", 0, 1, "1", "True", "0", "False"),
			item("drugs___1", "Drugs: Aspirin", "start", 0, 1, "1", "Checked", "0", "Unchecked"),
			item("drugs____2", "Drugs: Other, or none", "start", 0, 1, "1", "Checked", "0", "Unchecked"),
		},
		NoItems: []string{"record_id", "site", "born", "hours", "total", "one"},
	}
	for name, header := range map[string]string{"web page": fromPage, "API": fromAPI} {
		got, err := answers.ReadCodebook(questionnairetest.File(t, "dictionary.csv", header+rows), []string{"-99"})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("the dictionary of the %s differs from that wanted (%v):\n%s", name, err, diff)
		}
	}
	_, err := answers.ReadCodebook(
		questionnairetest.File(t, "dictionary.csv", fromPage+"a,f,,yesno,A,,,,,,\na,f,,yesno,A,,,,,,\n"), nil)
	if at, ok := errors.AsType[*table.Error](err); !ok || at.Line != 3 || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a field twice: %v", err)
	}
	const most = 100_000
	var codebook strings.Builder
	codebook.WriteString("item\n")
	for i := range most + 1 {
		fmt.Fprintf(&codebook, "q%d\n", i)
	}
	_, err = answers.ReadCodebook(questionnairetest.File(t, "codebook.csv", codebook.String()), nil)
	if at, ok := errors.AsType[*table.Error](err); !ok || at.Line != most+2 {
		t.Errorf("more items than a table has columns: %v", err)
	}
}

func TestReadCodebookOfPsych(t *testing.T) {
	t.Parallel()
	got, err := answers.ReadCodebook(questionnairetest.File(t, "keys.json",
		`{"agree":["-A1","A2"],"wide":["A2"," - C4"],"open":[],"one":"C5"}`), nil)
	want := &answers.Codebook{Items: []questionnaire.Item{
		{Name: "A1", Subscale: "agree", Reversed: true},
		{Name: "A2", Subscale: "agree", Others: []string{"wide"}},
		{Name: "C4", Subscale: "wide", Reversed: true},
		{Name: "C5", Subscale: "one"},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("keys differ from those wanted (%v):\n%s", err, diff)
	}
	for content, say := range map[string]string{
		`{"agree":[-1,2]}`:                      `scale "agree": must be a list of the names`,
		`{"a":["A1"],"b":["-A1"]}`:              `item "A1" is reversed in one scale`,
		`{"a":["A1"],"a":["A2"]}`:               `scale "a": the file has this scale twice`,
		`{"a":["-"]}`:                           "without a name",
		"{\"a\":[\"J\xe4ger\"]}":                "UTF-8",
		`{"a":["A1"]`:                           "",
		`{"item":["A1"],"text":"what is said"}`: "",
	} {
		_, err := answers.ReadCodebook(questionnairetest.File(t, "keys.json", content), nil)
		if at, ok := errors.AsType[*table.Error](err); !ok || at.File == "" || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: error %v, want %q", content, err, say)
		}
	}
	lines, err := answers.ReadCodebook(questionnairetest.File(t, "book.json", `{"item":"A1","min":"0","max":"4"}`), nil)
	if err != nil || len(lines.Items) != 1 || lines.Items[0].Range == nil {
		t.Errorf("a codebook of JSON lines is %+v: %v", lines, err)
	}
}
