package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/textproc"
)

// classStore returns the folder of a store with one model, of three outcomes.
func classStore(t *testing.T) string {
	t.Helper()
	v, err := textproc.New(textproc.DefaultSettings(), []textproc.Term{{Text: "hip", DF: 1}}, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	parts := classifier.Parts{
		Vectorizer: v, Topics: mat.NewDense(1, 1, []float64{1}),
		Heads:   []classifier.Head{{Beta: []float64{2}}, {Beta: []float64{-1}}},
		Classes: []string{"home", "ward", "other hospital"}, Admission: []bool{false, true, true},
		Calibration: bundle.Calibration{Kind: bundle.Uncalibrated}, Threshold: 0.5,
	}
	b := &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: bundle.Manifest{Name: bundle.Other, CreatedAt: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)},
	}
	if err := parts.ToBundle(b); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	store := models.OpenDir(dir)
	storetest.Serve(t, store, b)
	return dir
}

func TestPredictClass(t *testing.T) {
	t.Parallel()
	dir := classStore(t)
	for asked, want := range map[string]string{
		"":               `"class":"ward","against":"home",`,
		"ward":           `"class":"ward","against":"home",`,
		"other hospital": `"class":"other hospital","against":"home",`,
		"home":           `"class":"home","against":"ward",`,
	} {
		if out := succeed(t, "", "predict", "--model-dir", dir, "--text", "hip", "--class",
			asked); !strings.Contains(out, want) {
			t.Errorf("%q: %s; want %s", asked, out, want)
		}
	}
	fail(t, cli.ExitUsage, []string{"predict", "--model-dir", dir, "--text", "hip", "--class", "hme"},
		`--class: unknown class "hme": the champions predict ["home" "ward" "other hospital"]`)
}

// inFormats writes the rows, the header first, as CSV with semicolons, JSON lines and Parquet, and returns the files.
func inFormats(t *testing.T, rows [][]string) []string {
	t.Helper()
	type note struct {
		Visit string   `parquet:"visit_id"`
		Text  string   `parquet:"text"`
		Age   *float64 `parquet:"Age,optional"`
		Sex   string   `parquet:"sex,optional"`
	}
	var csv, lines strings.Builder
	var all []note
	for i, row := range rows {
		csv.WriteString(strings.Join(row, ";") + "\n")
		if i == 0 {
			continue
		}
		n := note{Visit: row[0], Text: row[1], Sex: row[3]}
		age := "null"
		if v, err := strconv.ParseFloat(row[2], 64); err == nil {
			n.Age, age = &v, row[2]
		}
		all = append(all, n)
		fmt.Fprintf(&lines, `{"visit_id":%q,"text":%q,"Age":%s,"sex":%q}`+"\n", row[0], row[1], age, row[3])
	}
	columns := filepath.Join(t.TempDir(), "in.parquet")
	if err := parquet.WriteFile(columns, all); err != nil {
		t.Fatal(err)
	}
	return []string{clitest.File(t, "in.csv", csv.String()), clitest.File(t, "in.jsonl", lines.String()), columns}
}

// withoutTime blots out when predictions were made.
func withoutTime(lines string) string {
	return regexp.MustCompile(`"scored_at":"[^"]+"`).ReplaceAllString(lines, `"scored_at":""`)
}

// cells reads a table as rows by column.
func cells(t *testing.T, path string) (all []map[string]string) {
	t.Helper()
	r, err := table.Open(path, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]string{}
		for i, name := range r.Header {
			m[name] = row.Cells[i]
		}
		all = append(all, m)
	}
}

// Files of every format, in and out, give what standard input gives.
func TestPredictFiles(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	rows := [][]string{{
		"visit_id", "text", "Age", "sex",
	}, {"v1", "fall, hip pain", "80", "F"}, {"v2", "cough", "", "M"}, {"v3", "fall", "30.5", ""}}
	want := withoutTime(succeed(t, `{"visit_id":"v1","text":"fall, hip pain","age":80,"sex":"F"}`+
		"\n"+`{"visit_id":"v2","text":"cough","sex":"M"}`+"\n"+
		`{"schema_version":"1","visit_id":"v3","text":"fall","age":30.5}`+"\n", "predict", "--model-dir", dir))
	for i, in := range inFormats(t, rows) {
		if got := withoutTime(succeed(t, "", "predict", "--model-dir", dir, "--input", in)); got != want {
			t.Errorf("%s gives %s\nwant %s", in, got, want)
		}
		out := filepath.Join(t.TempDir(), "out.jsonl")
		if printed := succeed(t, "", "predict", "--model-dir", dir, "--input", in, "--out", out); printed != "" {
			t.Errorf("with --out %q is printed", printed)
		}
		if got := withoutTime(string(clitest.Read(t, out))); got != want {
			t.Errorf("%s to JSON lines gives %s\nwant %s", in, got, want)
		}
		name := []string{"out.csv", "out.parquet", "out.tsv.gz"}[i] // each format is read, and each is written
		out = filepath.Join(t.TempDir(), name)
		succeed(t, "", "predict", "--model-dir", dir, "--input", in, "--out", out)
		predicted := cells(t, out)
		if len(predicted) != 3 {
			t.Fatalf("%s to %s gives %d rows", in, name, len(predicted))
		}
		for i, line := range strings.Split(strings.TrimSpace(want), "\n") {
			p := clitest.Object(t, line)
			model := p["model"].(map[string]any)
			if d := cmp.Diff(map[string]string{
				"visit_id":    p["visit_id"].(string),
				"probability": fmt.Sprint(p["probability"]), "decision": p["decision"].(string),
				"logit": fmt.Sprint(p["logit"]), "model": model["name"].(string), "version": model["version"].(string),
				"abstained": fmt.Sprint(p["abstained"]), "warnings": "[]", "evidence": evidence(t, line), "error": "",
			}, predicted[i]); d != "" {
				t.Errorf("%s to %s, row %d: %s", in, name, i, d)
			}
		}
	}
}

// evidence returns the text of the evidence in a prediction.
func evidence(t *testing.T, line string) string {
	t.Helper()
	var p struct{ Evidence json.RawMessage }
	if err := json.Unmarshal([]byte(line), &p); err != nil {
		t.Fatal(err)
	}
	return string(p.Evidence)
}

// A file without a column that the models use is scored, and the log names the column.
func TestPredictMissingColumns(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	const vitals = `,vitals.hr,vitals.spo2`
	for header, want := range map[string]string{
		"text,age,sex,acuity" + vitals: "", "text,AGE,years,acuity" + vitals: `"columns":["sex"]`,
		"text,x,y,z,v,w": `"columns":["acuity","age","sex","vitals.hr","vitals.spo2"]`,
	} {
		r := wardcast(t, "", "predict", "--model-dir", dir, "--input",
			clitest.File(t, "in.csv", header+"\nfall,,,,,\n"))
		if warned := strings.Contains(r.Stderr, "lacks columns"); r.Code != 0 || warned != (want != "") ||
			!strings.Contains(r.Stderr, want) {
			t.Errorf("%s: exit %d, %q, want %s", header, r.Code, r.Stderr, want)
		}
	}
}

// A bad row is answered in its place, and the others are scored.
func TestPredictBadRows(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	const secret = "zzsecretname"
	in := clitest.File(t, "in.csv",
		"visit_id,text,age\nv1,fall "+secret+",old\nv2,fall,3\nv3\nv4,,1\n\nv5,\xe4,1\nv6,hip,9\n")
	for name, check := range map[string]func(path string){
		"out.jsonl": func(path string) {
			lines := strings.Split(strings.TrimSpace(string(clitest.Read(t, path))), "\n")
			for i, want := range []string{
				`{"line":2,"error":{"code":"wrong_type","detail":"not a number: age"}}`,
				`{"schema_version":"1","visit_id":"v2"`,
				`{"line":4,"error":{"code":"wrong_type","detail":"wrong number of cells: 1; the header has 3"}}`,
				`{"line":5,"error":{"code":"empty_text","detail":"the text is empty: text"}}`,
				`{"line":7,"error":{"code":"invalid_utf8"`, `{"schema_version":"1","visit_id":"v6"`,
			} {
				if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d of %q, want %s", i, lines, want)
				}
			}
		},
		"out.parquet": func(path string) {
			rows := cells(t, path)
			for i, want := range []string{
				"line 2: wrong_type: not a number: age", "",
				"line 4: wrong_type: wrong number", "line 5: empty_text: ", "line 7: invalid_utf8: ", "",
			} {
				if i >= len(rows) || !strings.HasPrefix(rows[i]["error"], want) ||
					(want == "") != (rows[i]["probability"] != "") {
					t.Errorf("row %d of %v, want the error %q", i, rows, want)
				}
			}
			if rows[0]["visit_id"] != "v1" || rows[3]["visit_id"] != "v4" {
				t.Errorf("visits of bad rows: %v", rows)
			}
		},
	} {
		out := filepath.Join(t.TempDir(), name)
		r := wardcast(t, "", "predict", "--model-dir", dir, "--input", in, "--out", out)
		if r.Code != cli.ExitFailed || !strings.Contains(r.Stderr, "in.csv") ||
			!strings.Contains(r.Stderr, "not a number: age") || strings.Contains(r.Stderr, secret) {
			t.Errorf("exit %d: %s", r.Code, r.Stderr)
		}
		check(out)
	}
}

func TestPredictRefuses(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	in, out := clitest.File(t, "in.csv", "visit_id,text\nv1,fall\n"), filepath.Join(t.TempDir(), "out.csv")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"input is output": {[]string{"--input", in, "--out", in}, cli.ExitUsage, "--out and --input are the same file"},
		"an unknown format": {
			[]string{"--input", in, "--out", out + ".xlsx"},
			cli.ExitUsage, "out.csv.xlsx: the name must say the format: CSV (.csv)",
		},
		"no folder": {
			[]string{"--input", in, "--out", filepath.Join(dir, "none", "x.csv")}, cli.ExitFailed, "no such file",
		},
		"a path as format": {[]string{"--input", in, "--output", out}, cli.ExitUsage, "--output is a format " +
			"(table or json); to write a file use --out"},
		"a table of many notes": {
			[]string{"--input", in, "--output", "table"},
			cli.ExitUsage, "--output=table works with --text only",
		},
		"a time in words": {[]string{"--input", in, "--scored-at", "today"}, cli.ExitUsage, "neither a time, such as"},
		"files to nowhere": {
			[]string{"--input", filepath.Join(filepath.Dir(in), "*.csv")}, cli.ExitUsage, "several files require --out",
		},
		"files of no such name": {
			[]string{"--input", in + "*.x", "--out", t.TempDir()}, cli.ExitFailed, "there are no such files",
		},
		"files over themselves": {
			[]string{"--input", filepath.Join(filepath.Dir(in), "*.csv"), "--out", filepath.Dir(in)},
			cli.ExitUsage, "--out and --input are the same file",
		},
		"a text and a file":    {[]string{"--input", in, "--text", "fall"}, cli.ExitUsage, "can't be used together"},
		"an age without text":  {[]string{"--age", "7"}, cli.ExitUsage, "require --text"},
		"columns without file": {[]string{"--text-column", "x"}, cli.ExitUsage, "require --input"},
		"an unknown vital": {
			[]string{"--text", "fall", "--vitals", "hr=90,pulse=90"},
			cli.ExitUsage, `unknown vital "pulse": the known ones are sbp, dbp, hr, rr, temp_c, spo2`,
		},
		"a bad vital": {
			[]string{"--text", "fall", "--vitals", "hr=fast"}, cli.ExitUsage, "hr=fast is not a number",
		},
		"a vital of NaN": {[]string{"--text", "fall", "--vitals", "hr=NaN"}, cli.ExitUsage, "hr=NaN is not a number"},
		"two files":      {[]string{"--input", in, "--input", in}, cli.ExitUsage, "--input takes one file"},
		"no file":        {[]string{"--input", in + "x", "--out", out}, cli.ExitUsage, "in.csvx: no such file"},
		"no text column": {
			[]string{"--input", clitest.File(t, "note.csv", "note\nx\n"), "--out", out},
			cli.ExitFailed, `note.csv, line 1, column "text": no such column`,
		},
		"two text columns": {
			[]string{"--input", clitest.File(t, "two.csv", "text,text\nx,y\n"), "--out", out},
			cli.ExitFailed, `two.csv, line 1, column "text": two columns`,
		},
		"no rows": {
			[]string{"--input", clitest.File(t, "header.csv", "text\n"), "--out", out},
			cli.ExitFailed, "header.csv: no rows",
		},
		"empty": {
			[]string{"--input", clitest.File(t, "empty.csv", ""), "--out", out}, cli.ExitFailed, "empty.csv: no rows",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, c.code, append([]string{"predict", "--model-dir", dir}, c.args...), c.want)
		})
	}
	fail(t, cli.ExitUsage, []string{"models", "list", "--model-dir", dir, "--output", "x.json"},
		"--output is a format (table or json); to write a file redirect standard output")
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a command that fails leaves %s: %v", out, err)
	}
}

// Each file of a pattern gets what a run of its own writes, a bad one does not end the others, and what is done stays.
func TestPredictManyFiles(t *testing.T) {
	t.Parallel()
	model, in, out, single := trained(t), t.TempDir(), filepath.Join(t.TempDir(), "out"), t.TempDir()
	for name, text := range map[string]string{
		"a.csv": "visit_id,text\nv1,fall\nv2,\n", "b.csv": "visit_id,text\nv3,cough\n", "c.csv": "note\nx\n",
	} {
		if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	predict := func(code int, input, out string) clitest.Ran {
		r := wardcast(t, "", "predict", "--model-dir", model, "--scored-at", "none", "--input",
			filepath.Join(in, input),
			"--out", out)
		if r.Code != code {
			t.Errorf("%s: exit %d, want %d: %s", input, r.Code, code, r.Stderr)
		}
		return r
	}
	log := predict(cli.ExitFailed, "*.csv", out).Stderr
	for _, want := range []string{"a.csv", "c.csv", "no such column", `"files":3,"with_errors":2`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	for name, code := range map[string]int{"a.csv": cli.ExitFailed, "b.csv": 0} {
		alone := filepath.Join(single, name)
		predict(code, name, alone)
		if got, want := clitest.Read(t, filepath.Join(out, name)), clitest.Read(t, alone); string(got) != string(want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	done := filepath.Join(out, "b.csv")
	if err := errors.Join(os.WriteFile(done, nil, 0o600), os.Remove(filepath.Join(in, "c.csv"))); err != nil {
		t.Fatal(err)
	}
	if log := predict(0, "*.csv", out).Stderr; len(clitest.Read(t, done)) > 0 ||
		!strings.Contains(log, `"done_before":2`) {
		t.Errorf("a file that is done is written again: %s", log)
	}
}

// A table on standard input is not JSON lines, and the log says where a table goes.
func TestPredictTableOnStandardInput(t *testing.T) {
	t.Parallel()
	ran := wardcast(t, "visit_id,text\nv1,fall\n", "predict", "--model-dir", trained(t))
	if ran.Code != cli.ExitFailed || !strings.Contains(ran.Stderr, `"first_line":1,"reason":"not_json: `) ||
		!strings.Contains(ran.Stderr, "--input reads other formats") {
		t.Errorf("exit code %d, log %s", ran.Code, ran.Stderr)
	}
}

// A note on the command line takes what is known of the patient.
func TestPredictOneNote(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	args := []string{
		"predict", "--model-dir", dir, "--text", "fall, hip pain", "--complaint", "Fall", "--age", "78",
		"--sex", "F", "--acuity", "2", "--vitals", "hr=110,spo2=91",
	}
	want := withoutTime(succeed(t, `{"visit_id":"command-line","text":"fall, hip pain","complaint":"Fall","age":78,`+
		`"sex":"F","acuity":2,"vitals":{"hr":110,"spo2":91}}`, "predict", "--model-dir", dir))
	for _, format := range [][]string{nil, {"--output", "json"}} {
		if got := withoutTime(succeed(t, "", append(args, format...)...)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	p := clitest.Object(t, want)
	text := succeed(t, "", append(args, "--output", "table", "--words", "0")...)
	for _, part := range []string{fmt.Sprintf("The probability of admission is %.1f %%.",
		100*p["probability"].(float64)), "hip", "age 78", fmt.Sprintf("%+.2f  sum", p["logit"].(float64))} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	fail(t, cli.ExitFailed, []string{"predict", "--model-dir", dir, "--text", " ", "--output", "table"}, "empty_text")
	none := t.TempDir()
	fail(t, cli.ExitFailed, []string{"predict", "--model-dir", none, "--text", "fall"},
		"--model-dir "+none+": no champion in the model store")
	// What cannot be, and what the model does not know, is named.
	text = succeed(t, "", "predict", "--model-dir", dir, "--text", "zzz", "--age", "999", "--sex", "zebra",
		"--output", "table")
	for _, part := range []string{
		"sex zebra (unknown to the model)\n", "age missing\n", "knows no word of the note",
		"\nWarning: the model does not know the value of sex.\nWarning: age is out of range and counts as missing.\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// TestPredictSiteFields: a field that the site records moves a prediction in the same way from a message, a file or the
// command line; a code such as 01 too.
func TestPredictSiteFields(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := strings.Builder{}
	table.WriteString("visit_id,text,Arrival mode,pain,label\n")
	for i := range 300 {
		mode, label := [...]string{"01", "02", "01"}[i%3], 0
		if i%3 == 1 != (i%10 == 0) {
			label = 1
		}
		fmt.Fprintf(&table, "v%d,fall with hip pain,%s,%d.0,%d\n", i, mode, i%7, label)
	}
	in, store := clitest.File(t, "in.csv", table.String()), filepath.Join(dir, "models")
	succeed(t, "", "train", "--input", in, "--model-dir", store, "--method", "bow",
		"--aux-columns", "Arrival mode:categorical=arrival_mode,pain:numeric")
	contributions := func(p map[string]any) []any { return p["aux"].([]any) }
	ambulance := clitest.Object(t, succeed(t, `{"visit_id":"command-line","text":"fall","fields":{"pain":3,`+
		`"arrival_mode":"02","shoe_size":9}}`, "predict", "--model-dir", store))
	walk := clitest.Object(t, succeed(t, "", "predict", "--model-dir", store, "--text", "fall", "--fields",
		"arrival_mode=01,pain=3"))
	if by := ambulance["logit"].(float64) - walk["logit"].(float64); by < 1 {
		t.Errorf("the arrival mode moves the logit by %v", by)
	}
	flags := clitest.Object(t, succeed(t, "", "predict", "--model-dir", store, "--text", "fall", "--fields",
		"arrival_mode=02,pain=3"))
	if d := cmp.Diff(contributions(ambulance), contributions(flags)); d != "" {
		t.Errorf("flags differ from a message: %s", d)
	}
	out := filepath.Join(dir, "out.jsonl")
	succeed(t, "", "predict", "--model-dir", store, "--out", out, "--input", clitest.File(t, "notes.csv",
		"visit_id,text,arrival_mode,pain\nv1,fall,02,3\n"))
	if got := clitest.Object(t, string(clitest.Read(t, out))); got["logit"] != ambulance["logit"] {
		t.Errorf("a file gives the logit %v, a message %v", got["logit"], ambulance["logit"])
	}
	fail(t, cli.ExitUsage, []string{"predict", "--model-dir", store, "--text", "fall", "--fields", "age=5"}, "--fields")
	fail(t, cli.ExitUsage, []string{"predict", "--model-dir", store, "--text", "fall", "--fields", "a b=1"}, "--fields")
	fail(t, cli.ExitUsage, []string{
		"train", "--input", in, "--model-dir", store, "--aux-columns",
		"Arrival mode:categorical",
	}, `a note cannot have a field "arrival mode"`)
}

// TestPredictInput: predict reads a note by the tables of a configuration.
func TestPredictInput(t *testing.T) {
	t.Parallel()
	dir := trained(t) // with F and M
	note := []string{"predict", "--model-dir", dir, "--text", "fall", "--age", "99", "--sex"}
	facts := func(p map[string]any) string { return fmt.Sprint(p["aux"], p["warnings"]) }
	for _, sex := range []string{"female", "FEMALE", "2"} {
		if got, want := facts(clitest.Object(t, succeed(t, "", append(note, sex)...))), facts(clitest.Object(t,
			succeed(t, "", append(note, "F")...))); got != want || !strings.HasSuffix(got, "[]") {
			t.Errorf("%s: got %s, want %s", sex, got, want)
		}
	}
	config := clitest.File(t, "wardcast.yaml",
		"kafka: {brokers: [a:1]}\ninput: {ranges: {age: [0, 90]}, levels: {sex: {female: [f, weibl.]}}}\n")
	for _, out := range []string{
		succeed(t, "", append(note, "weibl.", "--config", config)...),
		succeed(t, `{"visit_id":"command-line","text":"fall","age":99,"sex":"weibl."}`, "predict", "--model-dir", dir,
			"--config", config),
	} {
		p := clitest.Object(t, out)
		if got := fmt.Sprint(p["warnings"]); got != "[map[code:out_of_range field:age]]" || !strings.Contains(out,
			`{"name":"sex","value":"F",`) || !strings.Contains(out, `{"name":"age","value":null,"contribution":0}`) {
			t.Errorf("by the configuration: %s", out)
		}
	}
	fail(t, cli.ExitFailed, append(note, "F", "--config", clitest.File(t, "bad.yaml",
		"kafka: {brokers: [a:1]}\ninput: {ranges: {age: [9, 1]}}\n")), "line 2: input.ranges.age")
}

// TestTrainInput: train and evaluate leave out what cannot be, say so, and learn one level for all spellings.
func TestTrainInput(t *testing.T) {
	t.Parallel()
	var csv strings.Builder
	csv.WriteString("text,label,age,sex\n")
	old := 0 // older than 70, or 999
	for i := range 400 {
		age := 20 + i%60
		if i%10 == 0 {
			age = 999
		}
		if age > 70 {
			old++
		}
		fmt.Fprintf(&csv, "%s pain,%d,%d,%s\n", []string{"hip", "ankle", "wrist"}[i%3], min(i%3, 1), age,
			[]string{"F", "M", "F", "female", "2", "male"}[i%6])
	}
	in, dir := clitest.File(t, "notes.csv", csv.String()), t.TempDir()
	config := clitest.File(t, "wardcast.yaml", "kafka: {brokers: [a:1]}\ninput: {ranges: {age: [0, 70]}}\n")
	for _, c := range []struct {
		args []string
		rows int
	}{
		{append(trainFast(in, dir), "--aux-columns", "age:numeric,sex:categorical"), 40},
		{[]string{
			"evaluate", "--methods", "bow", "--folds", "2", "--config", config, "--input", in, "--aux-columns",
			"age:numeric,sex:categorical",
		}, old},
	} {
		r := wardcast(t, "", c.args...)
		if want := fmt.Sprintf(`"msg":"implausible values count as missing","field":"age","rows":%d`,
			c.rows); r.Code != 0 || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s ends with %d: %s; want %s", c.args[0], r.Code, r.Stderr, want)
		}
	}
	out := succeed(t, "", "predict", "--model-dir", dir, "--text", "hip pain", "--sex", "Female")
	if !strings.Contains(out, `{"name":"sex","value":"F",`) || !strings.Contains(out, `"warnings":[]`) {
		t.Errorf("after mixed spellings: %s", out)
	}
}
