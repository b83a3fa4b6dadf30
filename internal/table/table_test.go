package table

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// write stores a file, compressed if its name asks for it, and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch _, compression := Extensions(name); compression {
	case ".gz":
		w = gzip.NewWriter(&b)
	case ".zst":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		b.WriteString(content)
	}
	if w != nil {
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readAll returns the header, and the rows with their lines.
func readAll(t *testing.T, path string, o Options) (header []string, rows []Row) {
	t.Helper()
	r, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header, rows
		}
		if err != nil {
			t.Fatal(err)
		}
		row.Cells = slices.Clone(row.Cells)
		rows = append(rows, row)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	ab := []string{"a", "b"}
	for name, c := range map[string]struct {
		file, content string
		header        []string
		rows          []Row
	}{
		"comma": {"x.csv", "a,b\n1,2\n", ab, []Row{{2, []string{"1", "2"}}}},
		"no newline at the end, CRLF": {
			"x.CSV", "a,b\r\n1,2\r\n3,4", ab, []Row{{2, []string{"1", "2"}}, {3, []string{"3", "4"}}},
		},
		"bars in names":             {"x.csv", "g|a,g|b\n1,2\n", []string{"g|a", "g|b"}, []Row{{2, []string{"1", "2"}}}},
		"pipe":                      {"x.csv", "a|b\n1|2,5\n", ab, []Row{{2, []string{"1", "2,5"}}}},
		"semicolon, decimal commas": {"x.csv", "a;b\n1,5;2,5\n", ab, []Row{{2, []string{"1.5", "2.5"}}}},
		"tab by its name": {
			"x.tsv", "a,c\tb\n1\t2\n", []string{"a,c", "b"}, []Row{{2, []string{"1", "2"}}},
		},
		"tab by the header": {"x.txt", "a\tb\n1\t2\n", ab, []Row{{2, []string{"1", "2"}}}},
		"separators in quotes": {
			"x.csv", "\"a;b;c\",b\n1,2\n", []string{"a;b;c", "b"}, []Row{{2, []string{"1", "2"}}},
		},
		"one column":  {"x.csv", "a\n1\n", []string{"a"}, []Row{{2, []string{"1"}}}},
		"blank lines": {"x.csv", "\n\na,b\n\n1,2\n\n", ab, []Row{{5, []string{"1", "2"}}}},
		"lines in quotes": {
			"x.csv", "a,b\n\"1\n\"\"2\"\"\n3\",4\n5,6\n", ab,
			[]Row{{2, []string{"1\n\"2\"\n3", "4"}}, {5, []string{"5", "6"}}},
		},
		"lines in the header's quotes": {
			"x.csv", "\"a\n;;;\",b\n1,2\n", []string{"a\n;;;", "b"}, []Row{{3, []string{"1", "2"}}},
		},
		"byte order mark, spaces": {"x.csv", "\ufeff a ,b\n 1,2\n", ab, []Row{{2, []string{" 1", "2"}}}},
		"columns without a name": {
			"x.csv", ",a,,\n1,2,3,4\n", []string{"", "a", "", ""}, []Row{{2, []string{"1", "2", "3", "4"}}},
		},
		"gzip": {"x.csv.GZ", "a,b\n1,2\n", ab, []Row{{2, []string{"1", "2"}}}},
		"zstd": {"x.tsv.zst", "a\tb\n1\t2\n", ab, []Row{{2, []string{"1", "2"}}}},
		"JSON lines": {
			"x.jsonl", "\n{\"a\":1.50,\"b\":\"x\"}\r\n\n{\"b\":true,\"a\":null}\n", ab,
			[]Row{{2, []string{"1.50", "x"}}, {4, []string{"", "true"}}},
		},
		"JSON lines that grow": {
			"x.ndjson", `{"a":1}` + "\n" + `{"b":2}`, ab, []Row{{1, []string{"1"}}, {2, []string{"", "2"}}},
		},
		"JSON objects and lists": {"x.jsonl.gz", `{"a":{"b":1,"c":{"d":"x"}},"e":[1,{"f":[2]}],"g":{}}` +
			"\n", []string{"a.b", "a.c.d", "e"}, []Row{{1, []string{"1", "x", ""}}}},
		"JSON with a byte order mark": {"x.jsonl.zst", "\ufeff{\"a\":1}", []string{"a"}, []Row{{1, []string{"1"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header, rows := readAll(t, write(t, c.file, c.content), Options{})
			if d := cmp.Diff(c.header, header); d != "" {
				t.Errorf("header: %s", d)
			}
			if d := cmp.Diff(c.rows, rows); d != "" {
				t.Errorf("rows: %s", d)
			}
		})
	}
}

// The first line counts as a row if it is no header.
func TestOpenWithoutHeader(t *testing.T) {
	t.Parallel()
	o := Options{IsHeader: func([]string) bool { return false }}
	header, rows := readAll(t, write(t, "x.csv", "1,1\n2,3\n"), o)
	if d := cmp.Diff([]string{"1", "2"}, header); d != "" {
		t.Errorf("header: %s", d)
	}
	if d := cmp.Diff([]Row{{1, []string{"1", "1"}}, {2, []string{"2", "3"}}}, rows); d != "" {
		t.Errorf("rows: %s", d)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, content, want string }{
		"empty":         {"x.csv", "", `FILE: no rows`},
		"blank":         {"x.csv", "\n\r\n", `FILE: no rows`},
		"header only":   {"x.csv", "a,b\n", `FILE: no rows`},
		"empty JSON":    {"x.jsonl", "\n \n", `FILE: no rows`},
		"empty gzip":    {"x.csv.gz", "", `FILE: no rows`},
		"empty Parquet": {"x.parquet", "", `FILE: no rows`},
		// by pyarrow: its row group is empty
		"Parquet of no rows": {
			"x.parquet", "PAR1\x15\x04\x15\x00\x15\x00L\x15\x00\x15\x00\x12\x00\x00\x15\x04\x19," +
				"5\x00\x18\x06schema\x15\x02\x00\x15\x0c%\x02\x18\x01a%\x00L\x1c\x00\x00\x00\x16\x00\x19\x1c\x19\x1c&\x00\x1c\x15\x0c\x19%\x00\x06\x19\x18\x01a\x15\x00\x16\x00\x16\x1c\x16\x1c&\x00&\x08)\x1c\x15\x04\x15\x00\x15\x02\x00\x00\x00\x16\x1c\x16\x00&\x08\x16\x1c\x00( parquet-cpp-arrow version 26.0.1\x19\x1c\x1c\x00\x00\x00z\x00\x00\x00PAR1", `FILE: no rows`,
		},
		"no Parquet":         {"x.parquet", "PAR1 a,b\n1,2\n", `FILE: ` + ErrParquet.Error()},
		"compressed Parquet": {"x.parquet.gz", "", `FILE: ` + ErrParquet.Error() + `: it must be a plain file`},
		"twice":              {"x.csv", "a,b, a\n1,2,3\n", `FILE, line 1, column "a": two columns of this name`},
		"twice in an object": {
			"x.jsonl", `{"a":1}` + "\n" + `{"a":1,"a":2}`, `FILE, line 2, column "a": two columns of this name`,
		},
		"a name and a path": {
			"x.jsonl", `{"a.b":1,"a":{"b":2}}`, `FILE, line 1, column "a.b": two columns of this name`,
		},
		"short row": {
			"x.csv", "a,b\n1,2\n\n3\n", `FILE, line 4: wrong number of cells: 1; the header has 2`,
		},
		"long row":   {"x.csv", "a\n1,2\n", `FILE, line 2: wrong number of cells: 2; the header has 1`},
		"bare quote": {"x.csv", "a\n1\"\n", `FILE, line 2: ` + ErrQuote.Error()},
		"open quote": {"x.csv", "a\n1\n\"2\n3\n", `FILE, line 3: ` + ErrOpenQuote.Error()},
		"Latin-1": {"x.csv", "a,b\n1,\xe4\n", `FILE, line 2, column "b": not UTF-8: convert the file, ` +
			`for instance with iconv -f WINDOWS-1252 -t UTF-8`},
		"Latin-1 in the header": {"x.csv", "a,\xe4\n1,2\n", "FILE, line 1, column \"\\xe4\": not UTF-8: convert the " +
			"file, for instance with iconv -f WINDOWS-1252 -t UTF-8"},
		"Latin-1 in JSON": {"x.jsonl", "{\"a\":1}\n{\"a\":1,\"b\":\"\xe4\"}", `FILE, line 2, column "b": not UTF-8: ` +
			`convert the file, for instance with iconv -f WINDOWS-1252 -t UTF-8`},
		"UTF-16": {"x.csv", "\xff\xfea\x00\n\x00", `FILE, line 1: UTF-16, not UTF-8: convert the file, for ` +
			`instance with iconv -f UTF-16 -t UTF-8`},
		"a spreadsheet": {
			"x.csv", "PK\x03\x04\x00\x00", `FILE, line 1: not a text file: save the table as CSV in UTF-8`,
		},
		"carriage returns": {
			"x.csv", "a,b\r1,2\r", `FILE, line 1: lines end in carriage returns alone: save the table as CSV in UTF-8`,
		},
		"not JSON":         {"x.jsonl", `{"a":1}` + "\nSECRET", `FILE, line 2: not a JSON object`},
		"a JSON list":      {"x.json", `["SECRET"]`, `FILE, line 1: not a JSON object`},
		"two JSON objects": {"x.jsonl", `{"a":1}{"a":"SECRET"}`, `FILE, line 1: not a JSON object`},
		"a cut object":     {"x.jsonl", `{"a":[1,"SECRET"`, `FILE, line 1: not a JSON object`},
		"an endless row":   {"x.csv", "a\n\"" + strings.Repeat("x\n", maxRow), `FILE: a row of more than 16 MiB`},
		"an endless line":  {"x.jsonl", `{"a":"` + strings.Repeat("x", 2*maxRow), `FILE: a row of more than 16 MiB`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, c.file, c.content)
			r, err := Open(path, Options{})
			for err == nil {
				_, err = r.Next()
			}
			if want := strings.ReplaceAll(c.want, "FILE", path); err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("%v is no *Error", err)
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.csv"), Options{}); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "none.csv") {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// A compressed file that ends too early says so, once. One without a byte is an empty table.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x.csv.gz", "x.csv.zst", "x.jsonl.gz"} {
		path := write(t, name, strings.Repeat("{}\n", 1000))
		whole, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for size, want := range map[int64]error{0: ErrNoRows, 5: ErrCutOff, whole.Size() - 4: ErrCutOff} {
			if size > whole.Size() {
				t.Fatalf("%s has only %d bytes", name, whole.Size())
			}
			cut := filepath.Join(t.TempDir(), name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(cut, data[:size], 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(cut, Options{})
			for err == nil {
				_, err = r.Next()
			}
			if got := cut + ": " + want.Error(); err.Error() != got || !errors.Is(err, want) {
				t.Errorf("%d bytes of %s: error %q, want %q", size, name, err, got)
			}
		}
	}
}

// A column that is not there may be there in other capitals, or not be seen because of the separator. Other names of
// the header stay out of the error, unless a usual name shows that it is one.
func TestNoColumn(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"Note,SECRET\n1,2\n":  `FILE, line 1, column "note": no such column, but there is "Note"`,
		"SECRET,x\n1,2\n":     `FILE, line 1, column "note": no such column`,
		"SECRET|x\n1|2\n":     `FILE, line 1, column "note": no such column`,
		"SECRET\n1\n":         `FILE, line 1, column "note": no such column`,
		"words,Label\n1,2\n":  `FILE, line 1, column "note": no such column; there are ["words" "Label"]`,
		"SECRET|x,y\n1|2,3\n": `FILE, line 1, column "note": no such column`,
	} {
		path := write(t, "x.csv", content)
		r, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		err = r.NoColumn("note", []string{"label"})
		if got := strings.ReplaceAll(err.Error(), path, "FILE"); got != want || !errors.Is(err, ErrNoColumn) {
			t.Errorf("%q: error %q, want %q", content, got, want)
		}
	}
}

// A bad row does not end the table.
func TestNextGoesOn(t *testing.T) {
	t.Parallel()
	for file, content := range map[string]string{
		"x.csv":   "a,b\n1,2\n3\n4,\xff\n5\",6\n7,8\n",
		"x.jsonl": "{\"a\":1,\"b\":2}\n3\n{\"a\":\"\xff\"}\n{\"a\":{\n{\"a\":7,\"b\":8}\n",
	} {
		r, err := Open(write(t, file, content), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var good, bad []int
		for {
			row, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if at, ok := errors.AsType[*Error](err); ok && at.Line > 0 {
				bad = append(bad, at.Line)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			good = append(good, row.Line)
		}
		if first := r.HeaderLine; len(good) != 2 || len(bad) != 3 || good[1] != bad[2]+1 || first != 1 {
			t.Errorf("%s: rows of lines %v, bad ones %v", file, good, bad)
		}
	}
}

// The hash is that of the stored bytes, compressed or not.
func TestHash(t *testing.T) {
	t.Parallel()
	parquetFile := filepath.Join(t.TempDir(), "x.parquet")
	if err := parquet.WriteFile(parquetFile, []struct{ A int }{{1}}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		write(t, "x.csv", "a\n1\n"), write(t, "x.csv.gz", "a\n1\n"), write(t, "x.jsonl.zst", `{"a":1}`), parquetFile,
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		readAll(t, path, Options{Hash: h})
		if want := sha256.Sum256(data); hex.EncodeToString(want[:]) != hex.EncodeToString(h.Sum(nil)) {
			t.Errorf("%s: another hash than that of its bytes", path)
		}
	}
}

// visit has a column of every kind, each optional but the first.
type visit struct {
	ID     string     `parquet:"id"`
	Text   *string    `parquet:"text,optional"`
	Age    *int64     `parquet:"age,optional"`
	Score  *float64   `parquet:"score,optional"`
	Small  *float32   `parquet:"small,optional"`
	Ill    *bool      `parquet:"ill,optional"`
	At     *time.Time `parquet:"at,optional,timestamp(microsecond)"`
	Vitals struct {
		HR *int32 `parquet:"hr,optional"`
	} `parquet:"vitals"`
	Tags []string `parquet:"tags,list"`
}

// The same rows give the same cells in every format.
func TestFormatsAgree(t *testing.T) {
	t.Parallel()
	header := []string{"id", "text", "age", "score", "small", "ill", "at", "vitals.hr", "tags"}
	want := []Row{
		{Cells: []string{"V1", "fell, \"hip\"\nü", "78", "0.1", "0.25", "true", "2026-11-20T08:01:02.5Z", "110", ""}},
		{Cells: []string{"V2", "", "", "", "", "", "", "", ""}},
		{Cells: []string{"V3", "cut", "-1", "1e-07", "3.4028235e+38", "false", "1969-12-31T23:59:59Z", "0", ""}},
	}
	text := map[string]string{
		"x.csv": "id,text,age,score,small,ill,at,vitals.hr,tags\nV1,\"fell, \"\"hip\"\"\nü\",78,0.1,0.25,true," +
			"2026-11-20T08:01:02.5Z,110,\nV2,,,,,,,,\nV3,cut,-1,1e-07,3.4028235e+38,false,1969-12-31T23:59:59Z,0,\n",
		"x.jsonl": `{"id":"V1","text":"fell, \"hip\"\nü","age":78,"score":0.1,"small":0.25,"ill":true,` +
			`"at":"2026-11-20T08:01:02.5Z","vitals":{"hr":110},"tags":["x"]}` +
			"\n" + `{"id":"V2","text":null,"vitals":{}}` + "\n" + `{"id":"V3","text":"cut","age":-1,"score":1e-07,` +
			`"small":3.4028235e+38,"ill":false,"at":"1969-12-31T23:59:59Z","vitals":{"hr":0},"tags":[]}`,
	}
	text["x.tsv"] = strings.ReplaceAll(strings.ReplaceAll(text["x.csv"], "fell, ", "fell; "), ",", "\t")
	text["x.tsv"] = strings.ReplaceAll(text["x.tsv"], "fell; ", "fell, ")
	paths := []string{filepath.Join(t.TempDir(), "x.parquet")}
	for name, content := range text {
		paths = append(paths, write(t, name, content), write(t, name+".gz", content), write(t, name+".zst", content))
	}
	at, before := time.Date(2026, 11, 20, 8, 1, 2, 5e8, time.UTC), time.Unix(-1, 0)
	rows := []visit{
		{
			ID: "V1", Text: new("fell, \"hip\"\nü"), Age: new(int64(78)), Score: new(.1), Small: new(float32(.25)),
			Ill: new(true), At: &at, Tags: []string{"x", "y"},
		},
		{ID: "V2"},
		{
			ID: "V3", Text: new("cut"), Age: new(int64(-1)), Score: new(1e-7), Small: new(float32(3.4028235e38)),
			Ill: new(false), At: &before,
		},
	}
	rows[0].Vitals.HR, rows[2].Vitals.HR = new(int32(110)), new(int32(0))
	if err := parquet.WriteFile(paths[0], rows); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		gotHeader, got := readAll(t, path, Options{})
		if d := cmp.Diff(header, gotHeader); d != "" {
			t.Errorf("%s: header: %s", path, d)
		}
		for i := range got {
			got[i].Line = 0
			for len(got[i].Cells) < len(header) { // of columns that came with later rows
				got[i].Cells = append(got[i].Cells, "")
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
}

func TestParquetSpellings(t *testing.T) {
	t.Parallel()
	type kinds struct {
		Day      int32    `parquet:"day,date"`
		Money    int64    `parquet:"money,decimal(2:10)"`
		Unsigned uint32   `parquet:"unsigned"`
		Large    uint64   `parquet:"large"`
		ID       [16]byte `parquet:"uuid,uuid"`
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := parquet.WriteFile(path, []kinds{
		{Day: 20777, Money: -1250, Unsigned: 1<<32 - 1, Large: 1<<64 - 1, ID: [16]byte{0: 0xab}},
	}); err != nil {
		t.Fatal(err)
	}
	_, rows := readAll(t, path, Options{})
	want := []Row{{1, []string{
		"2026-11-20", "-12.50", "4294967295", "18446744073709551615", "ab" + strings.Repeat("0", 30),
	}}}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	if got := decimal(parquet.FixedLenByteArrayValue([]byte{0xff, 0x85}), 1); got != "-12.3" {
		t.Errorf("a negative decimal of bytes is %q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"", "a,b\n1,2\n", "a;b\n\"1\n\";2\n", "\ufeffa\n", "a,a\n1,2\n", "a\n\xff\n", "a\n\"",
		"{\"a\":1,\"b\":{\"c\":[]}}\n{\"a\":null}", "{\"a\":1}}\n", "null", "\xff\xfea", "a\rb\r",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, data string, objects bool) {
		name := "x.csv"
		if objects {
			name = "x.jsonl"
		}
		r, err := New(strings.NewReader(data), name, Options{})
		check(t, r, err)
	})
}

func FuzzParquet(f *testing.F) {
	var b bytes.Buffer
	if err := parquet.Write(&b, []visit{{ID: "V1", Text: new("x"), Tags: []string{"a"}}, {ID: "V2"}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.parquet")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, Options{})
		check(t, r, err)
	})
}

// A damaged file is an error, whatever is damaged.
func TestParquetDamaged(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := parquet.Write(&b, []visit{{ID: "V1", Text: new("x"), Tags: []string{"a"}}, {ID: "V2"}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	try := func(data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, Options{})
		check(t, r, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		data := bytes.Clone(b.Bytes())
		for range 1 + random.IntN(3) {
			data[random.IntN(len(data))] = byte(random.Uint32())
		}
		try(data)
	}
	for cut := range b.Len() {
		try(b.Bytes()[:cut])
	}
	try([]byte("PAR1\xff\xff\xff\xffPAR1")) // a footer of 4 GiB
}

// check holds what is read against what a Reader promises.
func check(t *testing.T, r *Reader, err error) {
	t.Helper()
	if err == nil {
		defer r.Close()
	}
	last := 0
	for err == nil {
		var row Row
		row, err = r.Next()
		if at, ok := errors.AsType[*Error](err); ok && at.Line > 0 {
			err = nil
			continue
		}
		if err != nil {
			break
		}
		if row.Line <= last || len(row.Cells) > len(r.Header) || !r.Grows() && len(row.Cells) != len(r.Header) {
			t.Fatalf("row %d of %d cells behind %d, %d columns", row.Line, len(row.Cells), last, len(r.Header))
		}
		last = row.Line
		for _, cell := range row.Cells {
			if !utf8.ValidString(cell) {
				t.Fatalf("a cell that is not UTF-8")
			}
		}
	}
	if _, ok := errors.AsType[*Error](err); !ok && !errors.Is(err, io.EOF) {
		t.Fatalf("error %v", err)
	}
}
