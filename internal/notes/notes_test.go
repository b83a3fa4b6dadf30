package notes

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
)

// secret stands in cells that no error may quote.
const secret = "Q7secretQ7"

// write stores a file, compressed where its name asks for it, and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	data := []byte(content)
	if strings.HasSuffix(strings.ToLower(name), ".gz") {
		data = zipped(t, content)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sameValue lets go-cmp look into values.
var sameValue = cmp.Comparer(func(a, b msg.Value) bool { return a == b })

func ageAndSex() []Aux {
	return []Aux{{"age", bundle.Numeric, "age"}, {"sex", bundle.Categorical, "sex"}}
}

func TestRead(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 8, 1, 2, 0, time.UTC)
	age := func(v float64) []msg.Value { return []msg.Value{msg.Number(v), {}} }
	for name, c := range map[string]struct {
		file, content string
		columns       Columns
		want          Table
	}{
		"csv, all columns": {
			"a.csv", "visit_id,complaint,text,arrived_at,label,age,sex\nV1, Chest Pain ,chest " +
				"pain,2026-11-20T08:01:02Z,1,78,F\nV2,,cough,,0,NA,\n",
			Columns{Aux: ageAndSex()},
			Table{Rows: []Row{{
				Visit: "V1", Complaint: "Chest Pain", Text: "chest pain", Arrived: at, Positive: true,
				Aux: []msg.Value{msg.Number(78), msg.Text("F")},
			}, {Visit: "V2", Text: "cough", Aux: []msg.Value{{}, {}}}}},
		},
		"csv, columns of other names": {
			"A.CSV", "Note,Admitted,Age,When,Why,Id,more\nx,yes,7,2026-11-20 08:01:02,pain,9,?\ny,no,8,2026-11-20 " +
				"08:01:02,pain,9,?\n",
			Columns{
				Text: "Note", Label: "Admitted", Positive: "yes", Complaint: "Why", Time: "When", ID: "Id",
				Aux: []Aux{{"Age", bundle.Numeric, "age"}},
			},
			Table{Rows: []Row{{
				Visit: "9", Complaint: "pain", Text: "x", Arrived: at, Positive: true, Aux: []msg.Value{msg.Number(7)},
			}, {Visit: "9", Complaint: "pain", Text: "y", Arrived: at, Aux: []msg.Value{msg.Number(8)}}}},
		},
		"csv, quotes and lines within": {
			"a.csv", "text,label\n\"a, \"\"b\"\"\nc\",1\r\nd,0\r\n",
			Columns{},
			Table{
				Rows: []Row{{Text: "a, \"b\"\nc", Positive: true, Aux: []msg.Value{}}, {Text: "d", Aux: []msg.Value{}}},
			},
		},
		"csv, byte order mark, blanks in the header": {
			"a.csv", "\ufefftext , label\nx,1\ny,0\n",
			Columns{},
			Table{Rows: []Row{{Text: "x", Positive: true, Aux: []msg.Value{}}, {Text: "y", Aux: []msg.Value{}}}},
		},
		"csv, empty texts are counted": {
			"a.csv", "text,label\nx,1\n  ,0\n,1\ny,0\n",
			Columns{},
			Table{
				Rows: []Row{{Text: "x", Positive: true, Aux: []msg.Value{}}, {Text: "y", Aux: []msg.Value{}}}, Empty: 2,
			},
		},
		"csv, compressed": {
			"a.csv.gz", "\ufefftext,label\nx,1\ny,0\n",
			Columns{},
			Table{Rows: []Row{{Text: "x", Positive: true, Aux: []msg.Value{}}, {Text: "y", Aux: []msg.Value{}}}},
		},
		"csv, labels as numbers": {
			"a.csv", "text,label\nx,1.0\ny, 1 \nz,0.0\n",
			Columns{},
			Table{Rows: []Row{
				{Text: "x", Positive: true, Aux: []msg.Value{}},
				{Text: "y", Positive: true, Aux: []msg.Value{}},
				{Text: "z", Aux: []msg.Value{}},
			}},
		},
		"csv, every spelling of a missing value": {
			"a.csv",
			"text,label,age,sex\nx,1,7,NA\nx,1,na,n/a\nx,1,N/A,null\nx,1,NaN,.\nx,1,null,\nx,1,.,NaN\ny,0, , \n",
			Columns{Aux: ageAndSex()},
			Table{Rows: []Row{
				{Text: "x", Positive: true, Aux: age(7)},
				{Text: "x", Positive: true, Aux: make([]msg.Value, 2)},
				{Text: "x", Positive: true, Aux: make([]msg.Value, 2)},
				{Text: "x", Positive: true, Aux: make([]msg.Value, 2)},
				{Text: "x", Positive: true, Aux: make([]msg.Value, 2)},
				{Text: "x", Positive: true, Aux: make([]msg.Value, 2)},
				{Text: "y", Aux: make([]msg.Value, 2)},
			}},
		},
		"csv, levels that are numbers in a note": {
			"a.csv", "text,label,acuity,sex\nx,1,3.0,1\ny,0,5,2\n",
			Columns{Aux: []Aux{{"acuity", bundle.Categorical, "acuity"}, {"sex", bundle.Categorical, "sex"}}},
			Table{Rows: []Row{
				{Text: "x", Positive: true, Aux: []msg.Value{msg.Number(3), msg.Text("1")}},
				{Text: "y", Aux: []msg.Value{msg.Number(5), msg.Text("2")}},
			}},
		},
		"json, vitals by path, blank lines": {
			"a.jsonl", "\n{\"visit_id\":\"V1\",\"text\":\"x\",\"label\":1,\"arrived_at\":\"2026-11-20\"," +
				"\"vitals\":{\"sbp\":151}}\n  \r\n{\"text\":\"y\",\"label\":false,\"vitals\":null}\n\n",
			Columns{Aux: []Aux{{"vitals.sbp", bundle.Numeric, "vitals.sbp"}}},
			Table{Rows: []Row{{
				Visit: "V1", Text: "x", Arrived: at.Truncate(24 * time.Hour), Positive: true,
				Aux: []msg.Value{msg.Number(151)},
			}, {Text: "y", Aux: []msg.Value{{}}}}},
		},
		"json, a name with a dot and a path": {
			"a.NDJSON", `{"text":"x","label":"1","a.b":7}` + "\n" + `{"text":"y","label":0,"a":{"b":8}}`,
			Columns{Aux: []Aux{{"a.b", bundle.Numeric, "age"}}},
			Table{Rows: []Row{
				{Text: "x", Positive: true, Aux: []msg.Value{msg.Number(7)}},
				{Text: "y", Aux: []msg.Value{msg.Number(8)}},
			}},
		},
		"json, labels as numbers and booleans": {
			"a.jsonl", `{"text":"x","label":1.0}` + "\n" + `{"text":"y","label":true}` + "\n" +
				`{"text":"z","label":0}`,
			Columns{},
			Table{Rows: []Row{{Text: "x", Positive: true, Aux: []msg.Value{}}, {Text: "y", Aux: []msg.Value{}}, {
				Text: "z", Aux: []msg.Value{},
			}}},
		},
		"json, compressed, byte order mark": {
			"a.jsonl.gz", "\ufeff{\"text\":\"x\",\"label\":1}\n{\"text\":\"y\",\"label\":0}\n",
			Columns{},
			Table{Rows: []Row{{Text: "x", Positive: true, Aux: []msg.Value{}}, {Text: "y", Aux: []msg.Value{}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Read([]string{write(t, c.file, c.content)}, c.columns)
			if err != nil {
				t.Fatal(err)
			}
			ignored := cmpopts.IgnoreFields(Table{}, "Ends", "Labels", "people")
			if d := cmp.Diff(&c.want, got, sameValue, ignored); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadJoinsFiles(t *testing.T) {
	t.Parallel()
	a, b := write(t, "a.csv", "text,label\nx,1\n"), write(t, "b.jsonl", `{"text":"y","label":0,"complaint":"pain"}`)
	got, err := Read([]string{a, b}, Columns{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 2 || got.Rows[0].Text != "x" || got.Rows[1].Complaint != "pain" {
		t.Errorf("got %+v", got.Rows)
	}
}

func TestReadCounts(t *testing.T) {
	t.Parallel()
	a, b := write(t, "a.csv", "text,label\nx,1\n,2\ny, 1.0\nz,left\n"), write(t, "b.jsonl",
		`{"text":"y","label":0}`+"\n"+`{"text":"y","label":true}`+"\n"+`{"text":"y","label":"Left"}`)
	got, err := Read([]string{a, b}, Columns{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{3, 6}, got.Ends); d != "" {
		t.Errorf("ends: %s", d)
	}
	if d := cmp.Diff(map[string]int{"1": 2, "left": 1, "0": 1, "true": 1, "Left": 1}, got.Labels); d != "" {
		t.Errorf("labels: %s", d)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, content, want string // FILE stands for the path
		columns             Columns
		is                  error
	}{
		"empty csv":   {file: "a.csv", want: `FILE: no rows`, is: table.ErrNoRows},
		"header only": {file: "a.csv", content: "text,label\n", want: `FILE: no rows`, is: table.ErrNoRows},
		"empty json":  {file: "a.jsonl", content: "\n \n", want: `FILE: no rows`, is: table.ErrNoRows},
		"no text column": {
			file: "a.csv", content: "note,label\nx,1\n",
			want: `FILE, line 1, column "text": no such column; there are ["note" "label"]`, is: table.ErrNoColumn,
		},
		"no label column": {
			file: "a.csv", content: "text\nx\n",
			want: `FILE, line 1, column "label": no such column; there are ["text"]`, is: table.ErrNoColumn,
		},
		"no named column": {
			file: "a.csv", content: "text,label\nx,1\n", columns: Columns{Complaint: "why"},
			want: `FILE, line 1, column "why": no such column; there are ["text" "label"]`, is: table.ErrNoColumn,
		},
		"other capitals": {
			file: "a.csv", content: "Text,label\nx,1\n",
			want: `FILE, line 1, column "text": no such column, but there is "Text"`, is: table.ErrNoColumn,
		},
		"no aux column": {
			file: "a.csv", content: "text,label\nx,1\n", columns: Columns{Aux: ageAndSex()},
			want: `FILE, line 1, column "age": no such column; there are ["text" "label"]`, is: table.ErrNoColumn,
		},
		"json, no text": {
			file: "a.jsonl", content: "\n{\"label\":1,\"x\":\"" + secret + "\"}",
			want: `FILE, line 2, column "text": no such column; there are ["label" "x"]`, is: table.ErrNoColumn,
		},
		"json, no label": {
			file: "a.jsonl", content: `{"text":"` + secret + `"}`,
			want: `FILE, line 1, column "label": no such column; there are ["text"]`, is: table.ErrNoColumn,
		},
		"json, no aux": {
			file: "a.jsonl", content: `{"text":"x","label":1}`, columns: Columns{Aux: ageAndSex()},
			want: `FILE, column "age": no such column`, is: table.ErrNoColumn,
		},
		"json, no named": {
			file: "a.jsonl", content: `{"text":"x","label":1}`, columns: Columns{Time: "when"},
			want: `FILE, column "when": no such column`, is: table.ErrNoColumn,
		},
		"not a number": {
			file: "a.csv", content: "text,label,age,sex\nx,1,7,F\nx,0," + secret + ",F\n",
			columns: Columns{Aux: ageAndSex()}, want: `FILE, line 3, column "age": not a number`, is: ErrNotNumber,
		},
		"a word that no message can hold there": {
			file: "a.csv", content: "text,label,how\nx,1,on foot\n",
			columns: Columns{Aux: []Aux{{"how", bundle.Categorical, "age"}}},
			want:    `FILE, line 2, column "how": not a number`, is: ErrNotNumber,
		},
		"infinite": {
			file: "a.csv", content: "text,label,age,sex\nx,1,Inf,F\n",
			columns: Columns{Aux: ageAndSex()}, want: `FILE, line 2, column "age": not a finite number`,
			is: wording.ErrNotFinite,
		},
		"json, not a number": {
			file: "a.jsonl", content: "\n" + `{"text":"x","label":1,"age":"` + secret + `"}`,
			columns: Columns{Aux: ageAndSex()}, want: `FILE, line 2, column "age": not a number`, is: ErrNotNumber,
		},
		"json, huge number": {
			file: "a.jsonl", content: `{"text":"x","label":1,"age":1e999}`,
			columns: Columns{Aux: ageAndSex()}, want: `FILE, line 1, column "age": not a finite number`,
			is: wording.ErrNotFinite,
		},
		"bad time": {
			file: "a.csv", content: "text,label,arrived_at\nx,1," + secret + "\n",
			want: `FILE, line 2, column "arrived_at": not a time: write it as 2006-01-02 or as in RFC 3339`,
			is:   ErrNotTime,
		},
		"no label": {
			file: "a.csv", content: "text,label\nx,1\n" + secret + ", NA\n",
			want: `FILE, line 3, column "label": no label`, is: ErrNoLabel,
		},
		"json, null label": {
			file: "a.jsonl", content: `{"text":"` + secret + `","label":null}`,
			want: `FILE, line 1, column "label": no label`, is: ErrNoLabel,
		},
		"json, list as label": {
			file: "a.jsonl", content: `{"text":"x","label":["` + secret + `"]}`,
			want: `FILE, line 1, column "label": no label`, is: ErrNoLabel,
		},
		"after many lines": {
			file: "a.csv", content: "text,label,age,sex\n\"x\ny\n" + secret + "\",1,7,F\nz,0,old,F\n",
			columns: Columns{Aux: ageAndSex()}, want: `FILE, line 5, column "age": not a number`, is: ErrNotNumber,
		},
		"one class": {
			file: "a.csv", content: "text,label\n" + secret + ",1\nx,1\n",
			want: `FILE, column "label": only one class among the labels: all rows have the positive label "1"`,
			is:   ErrOneClass,
		},
		"other class": {
			file: "a.csv", content: "text,y\n" + secret + ",1\nx,0\n", columns: Columns{Label: "y", Positive: "yes"},
			want: `FILE, column "y": only one class among the labels: no row has the positive label "yes"`,
			is:   ErrOneClass,
		},
		"all texts empty": {file: "a.csv", content: "text,label\n ,1\n ,0\n", want: `FILE, column "label": only ` +
			`one class among the labels: no row has the positive label "1"`, is: ErrOneClass},
		"too few cells": {
			file: "a.csv", content: "text,label\nx,1\n" + secret + "\n",
			want: `FILE, line 3: wrong number of cells: 1; the header has 2`,
		},
		"bare quote": {
			file: "a.csv", content: "text,label\nx,1\n" + secret + "\"x,1\n",
			want: `FILE, line 3: ` + table.ErrQuote.Error(),
		},
		"quote not closed": {file: "a.csv", content: "text,label\n\"" + secret + ",1\n", want: `FILE, line 2: ` +
			table.ErrOpenQuote.Error()},
		"not JSON": {
			file: "a.jsonl", content: `{"text":"x","label":1}` + "\n" + secret, want: `FILE, line 2: not a JSON object`,
		},
		"cut JSON": {
			file: "a.jsonl", content: `{"text":"` + secret, want: `FILE, line 1: not a JSON object`,
		},
		"a JSON list": {
			file: "a.jsonl", content: `["` + secret + `"]`, want: `FILE, line 1: not a JSON object`,
		},
		"null": {file: "a.jsonl", content: `null`, want: `FILE, line 1: not a JSON object`},
		"two objects a line": {
			file: "a.jsonl", content: `{"text":"x","label":1}{"text":"` + secret + `"}`,
			want: `FILE, line 1: not a JSON object`,
		},
		"a brace too many": {
			file: "a.jsonl", content: `{"text":"x","label":1}}`, want: `FILE, line 1: not a JSON object`,
		},
		"a bracket too many": {
			file: "a.jsonl", content: `{"text":"x","label":1}]`, want: `FILE, line 1: not a JSON object`,
		},
		"not UTF-8": {
			file: "a.csv", content: "text,label\n" + secret + "pa\xffin,1\n",
			want: `FILE, line 2, column "text": ` + table.ErrEncoding.Error(), is: table.ErrEncoding,
		},
		"json, not UTF-8": {
			file: "a.jsonl", content: "{\"text\":\"" + secret + "\",\"label\":1}\n{\"text\":\"y\xc3\",\"label\":0}\n",
			want: `FILE, line 2, column "text": ` + table.ErrEncoding.Error(), is: table.ErrEncoding,
		},
		"two of one name": {
			file: "a.csv", content: "text,label,text \n" + secret + ",1,y\n",
			want: `FILE, line 1, column "text": two columns of this name`, is: table.ErrColumnTwice,
		},
		"json, name and path": {
			file: "a.jsonl", content: `{"text":"x","label":1,"a.b":7,"a":{"b":8}}`,
			want: `FILE, line 1, column "a.b": two columns of this name`, is: table.ErrColumnTwice,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, c.file, c.content)
			got, err := Read([]string{path}, c.columns)
			if err == nil {
				t.Fatalf("read %+v", got)
			}
			if want := strings.ReplaceAll(c.want, "FILE", path); err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error quotes a cell: %v", err)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
		})
	}
}

func TestReadDamagedFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.csv.gz", "a.jsonl.gz"} {
		content := "text,label\n" + strings.Repeat(secret+",1\n", 1000)
		if name == "a.jsonl.gz" {
			content = strings.Repeat(`{"text":"`+secret+`","label":1}`+"\n", 1000)
		}
		whole := zipped(t, content)
		changed := bytes.Clone(whole)
		changed[len(changed)-6] ^= 1 // the checksum
		for damage, data := range map[string][]byte{
			"no gzip": []byte("text,label\n" + secret + ",1\n"),
			"cut":     whole[:len(whole)-20], "changed": changed, "empty": nil,
		} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read([]string{path}, Columns{})
			if e, ok := errors.AsType[*table.Error](err); !ok || e.File != path ||
				strings.Contains(err.Error(), secret) {
				t.Errorf("%s, %s: %v", name, damage, err)
			}
		}
	}
	if _, err := Read([]string{filepath.Join(t.TempDir(), "none.csv")}, Columns{}); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "none.csv") {
		t.Errorf("a file that is not there: %v", err)
	}
	second := write(t, "empty.csv", "text,label\n")
	if _, err := Read([]string{write(t, "a.csv", "text,label\nx,1\ny,0\n"), second}, Columns{}); err == nil ||
		err.Error() != second+": no rows" {
		t.Errorf("the second of two files is empty: %v", err)
	}
}

func TestParseAux(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]Aux{
		"":                        nil,
		" , ":                     nil,
		"age:numeric":             {{"age", bundle.Numeric, "age"}},
		"Age:numeric":             {{"Age", bundle.Numeric, "age"}},
		" Alter : numeric = age ": {{"Alter", bundle.Numeric, "age"}},
		"vitals.sbp:numeric,sex:categorical": {
			{"vitals.sbp", bundle.Numeric, "vitals.sbp"}, {"sex", bundle.Categorical, "sex"},
		},
		"age:numeric,":              {{"age", bundle.Numeric, "age"}},
		"Pain:numeric":              {{"Pain", bundle.Numeric, "pain"}},
		"fields.pain:numeric":       {{"fields.pain", bundle.Numeric, "pain"}},
		"How?:categorical=mode_of_": {{"How?", bundle.Categorical, "mode_of_"}},
	} {
		got, err := ParseAux(list)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Errorf("%q: %v %s", list, err, d)
		}
	}
	for list, want := range map[string]string{
		"age":                         `auxiliary column "age": write`,
		":numeric":                    `auxiliary column ":numeric": write`,
		"age:ordinal":                 `auxiliary column "age:ordinal": write`,
		"age:numeric=":                `auxiliary column "age:numeric=": write`,
		"age:":                        `auxiliary column "age:": write`,
		"age:numeric,Age:categorical": `auxiliary column "Age:categorical": the field "age" is given twice`,
		"a:numeric=x,b:numeric=x":     `auxiliary column "b:numeric=x": the field "x" is given twice`,
		"Arrival mode:categorical":    `auxiliary column "Arrival mode:categorical": a note cannot have`,
		"vitals.pulse:numeric":        `auxiliary column "vitals.pulse:numeric": a note cannot have`,
		"text:categorical":            `auxiliary column "text:categorical": a note cannot have`,
		"fields:categorical":          `auxiliary column "fields:categorical": a note cannot have`,
		"id:categorical=visit_id":     `auxiliary column "id:categorical=visit_id": a note cannot have`,
		"Gender:numeric=sex":          `auxiliary column "Gender:numeric=sex": the field "sex" of a note is a word`,
		"site:numeric":                `auxiliary column "site:numeric": the field "site" of a note is a word`,
		"complaint:categorical":       `auxiliary column "complaint:categorical": the model of all complaints`,
	} {
		if got, err := ParseAux(list); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"2026-11-20":                       "2026-11-20T00:00:00Z",
		"2026-11-20 08:01:02":              "2026-11-20T08:01:02Z",
		"2026-11-20 08:01":                 "2026-11-20T08:01:00Z",
		"2026-11-20T08:01":                 "2026-11-20T08:01:00Z",
		"2026-11-20T08:01:02":              "2026-11-20T08:01:02Z",
		"2026-11-20T08:01:02Z":             "2026-11-20T08:01:02Z",
		"2026-11-20T08:01:02.5Z":           "2026-11-20T08:01:02.5Z",
		"2026-11-20T08:01:02.25+02:00":     "2026-11-20T06:01:02.25Z",
		"2026-11-20T08:01:02.999999-01:00": "2026-11-20T09:01:02.999999Z",
	} {
		if got, err := ParseTime(s); err != nil || got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "20.11.2026", "11/20/2026", "2026-13-01", "2026-11-20T25:00:00Z", "1732089662"} {
		if got, err := ParseTime(s); !errors.Is(err, ErrNotTime) || !got.IsZero() {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}

// TestSite: a column of that name tells subgroups apart, unless it is the outcome.
func TestSite(t *testing.T) {
	t.Parallel()
	path := write(t, "a.csv", "text,label,site\nx,1, North \ny,0,NA\n")
	got, err := Read([]string{path}, Columns{})
	if err != nil || got.Rows[0].Site != "North" || got.Rows[1].Site != "" {
		t.Errorf("%+v, error %v", got, err)
	}
	path = write(t, "b.csv", "text,site\nx,1\ny,0\n")
	if got, err = Read([]string{path}, Columns{Label: "site"}); err != nil || got.Rows[0].Site != "" {
		t.Errorf("%+v, error %v", got, err)
	}
}
