package matrixio

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// dense returns the entries of x row by row.
func dense(x mat.Matrix) [][]float64 {
	n, _ := x.Dims()
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = mat.Row(nil, i, x)
	}
	return rows
}

func TestReadMTX(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   string
		want [][]float64
	}{
		"coordinate": {
			"%%MatrixMarket matrix coordinate real general\n% a comment\n\n2 3 3\n2 3 -1.5\n\n1 1 2e0\n2 1 +7\n",
			[][]float64{{2, 0, 0}, {7, 0, -1.5}},
		},
		"no newline at the end, tabs, CRLF": {
			"%%matrixmarket MATRIX Coordinate Integer General\r\n1\t2 1\r\n 1 2\t-3", [][]float64{{0, -3}},
		},
		"pattern": {
			"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n", [][]float64{{0, 1}, {1, 0}},
		},
		"symmetric": {
			"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 1 5\n2 2 4\n3 2 6\n",
			[][]float64{{0, 0, 5}, {0, 4, 6}, {5, 6, 0}},
		},
		"no entries": {"%%MatrixMarket matrix coordinate real general\n2 1 0\n", [][]float64{{0}, {0}}},
		"array": {
			"%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n", [][]float64{{1, 3, 5}, {2, 4, 6}},
		},
		"symmetric array": {
			"%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
			[][]float64{{1, 2, 3}, {2, 4, 5}, {3, 5, 6}},
		},
		"underflow is 0": {"%%MatrixMarket matrix array real general\n1 1\n1e-999\n", [][]float64{{0}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := ReadMTX(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, dense(x)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadMTXRefuses(t *testing.T) {
	t.Parallel()
	const (
		coordinate = "%%MatrixMarket matrix coordinate real general\n"
		symmetric  = "%%MatrixMarket matrix coordinate real symmetric\n"
		array      = "%%MatrixMarket matrix array real general\n"
	)
	for name, test := range map[string]struct {
		in           string
		line, column int
		err          error
	}{
		"empty":                {"", 1, 0, ErrFormat},
		"no banner":            {"1 2 3\n", 1, 0, ErrFormat},
		"unknown format":       {"%%MatrixMarket matrix rows real general\n", 1, 3, ErrFormat},
		"unknown field":        {"%%MatrixMarket matrix array text general\n", 1, 4, ErrFormat},
		"unknown symmetry":     {"%%MatrixMarket matrix array real half\n", 1, 5, ErrFormat},
		"complex":              {"%%MatrixMarket matrix array complex general\n", 1, 0, ErrUnsupported},
		"hermitian":            {"%%MatrixMarket matrix coordinate real hermitian\n", 1, 0, ErrUnsupported},
		"array of pattern":     {"%%MatrixMarket matrix array pattern general\n", 1, 4, ErrFormat},
		"no sizes":             {coordinate + "% only this\n", 2, 0, ErrFormat},
		"two sizes":            {coordinate + "2 2\n", 2, 0, ErrFormat},
		"negative size":        {coordinate + "2 -2 1\n", 2, 2, ErrFormat},
		"no rows":              {coordinate + "0 2 0\n", 2, 0, ErrFormat},
		"too many rows":        {coordinate + "2147483648 2 1\n1 1 1\n", 2, 0, ErrUnsupported},
		"overflowing size":     {coordinate + "99999999999999999999 2 1\n", 2, 1, ErrFormat},
		"empty giant":          {coordinate + "2147483647 2147483647 1\n1 1 1\n", 0, 0, ErrFormat},
		"claims 10^12 entries": {coordinate + "1000000 1000000 1000000000000\n1 1 1\n", 3, 0, ErrFormat},
		"row 0":                {coordinate + "2 2 1\n0 1 1\n", 3, 1, ErrFormat},
		"row past the end":     {coordinate + "2 2 1\n3 1 1\n", 3, 1, ErrFormat},
		"column past the end":  {coordinate + "2 2 1\n1 3 1\n", 3, 2, ErrFormat},
		"row no number":        {coordinate + "2 2 1\nx 1 1\n", 3, 1, ErrFormat},
		"value no number":      {coordinate + "2 2 1\n1 1 x\n", 3, 3, ErrFormat},
		"NaN":                  {coordinate + "2 2 1\n1 1 nan\n", 3, 3, linalg.ErrNonFinite},
		"infinite":             {coordinate + "2 2 1\n1 1 -inf\n", 3, 3, linalg.ErrNonFinite},
		"overflow":             {coordinate + "2 2 1\n1 1 1e999\n", 3, 3, linalg.ErrNonFinite},
		"fields missing":       {coordinate + "2 2 1\n1 1\n", 3, 0, ErrFormat},
		"fields too many":      {coordinate + "2 2 1\n1 1 1 1\n", 3, 0, ErrFormat},
		"entries missing":      {coordinate + "2 2 2\n1 1 1\n", 3, 0, ErrFormat},
		"entries too many":     {coordinate + "2 2 1\n1 1 1\n2 2 2\n", 4, 0, ErrFormat},
		"repeated":             {coordinate + "2 2 4\n1 1 1\n\n% note\n2 1 1\n1 2 1\n\n2 1 1\n", 9, 0, ErrFormat},
		"integer with fraction": {
			"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", 3, 3, ErrFormat,
		},
		"symmetric not square":  {symmetric + "2 3 0\n", 2, 0, ErrFormat},
		"above the diagonal":    {symmetric + "2 2 1\n1 2 1\n", 3, 0, ErrFormat},
		"repeated in symmetric": {symmetric + "2 2 2\n2 1 1\n2 1 1\n", 4, 0, ErrFormat},
		"array ends early":      {array + "2 2\n1\n2\n3\n", 5, 0, ErrFormat},
		"array goes on":         {array + "1 1\n1\n2\n", 4, 0, ErrFormat},
		"array of two fields":   {array + "1 2\n1 2\n", 3, 0, ErrFormat},
		"endless line":          {coordinate + strings.Repeat(" ", bufferSize+1), 2, 0, ErrFormat},
	} {
		if strconv.IntSize == 32 && (name == "too many rows" || name == "claims 10^12 entries") {
			continue // these sizes are no int there, and refused as such
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadMTX(strings.NewReader(test.in))
			checkError(t, err, test.line, test.column, test.err)
		})
	}
}

func checkError(t *testing.T, err error, line, column int, want error) {
	t.Helper()
	var at *table.Error
	if !errors.As(err, &at) {
		t.Fatalf("error %v, want a *table.Error", err)
	}
	name := ""
	if column > 0 {
		name = strconv.Itoa(column)
	}
	if at.Line != line || at.Column != name || !errors.Is(err, want) {
		t.Errorf("error %q at line %d, column %s; want %q at line %d, column %d", err, at.Line, at.Column,
			want, line, column)
	}
}

// readCSV reads a matrix of separated numbers.
func readCSV(r io.Reader) (mat.Matrix, error) {
	rows, err := table.New(r, ".csv", Options{}.table())
	if err != nil {
		return nil, err
	}
	return Options{}.read(rows)
}

func TestReadCSV(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   string
		want [][]float64
	}{
		"plain":       {"1,2\n3,4\n", [][]float64{{1, 2}, {3, 4}}},
		"header":      {"a,b\n1,2\n", [][]float64{{1, 2}}},
		"half header": {"a,2\n1,2\n", [][]float64{{1, 2}}},
		"index":       {",a\n1,2\n", [][]float64{{2}}},
		"quoted":      {"\"a\nb\",\"c,d\"\n\"1\", 2 \n", [][]float64{{1, 2}}},
		"mark, CRLF":  {"\xef\xbb\xbf1\r\n2", [][]float64{{1}, {2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := readCSV(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, dense(x)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadCSVRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in           string
		line, column int
		err          error
	}{
		"empty":             {"", 0, 0, table.ErrNoRows},
		"header only":       {"a,b\n", 0, 0, table.ErrNoRows},
		"short row":         {"a,b\n1,2\n\n3\n", 4, 0, table.ErrCells},
		"long row":          {"1\n1,2\n", 2, 0, table.ErrCells},
		"no number":         {"1,2\n3,x\n", 2, 2, ErrFormat},
		"empty field":       {"1,2\n,3\n", 2, 1, ErrFormat},
		"empty first line":  {"1,,2\n", 1, 2, ErrFormat},
		"NaN":               {"1,2\nNaN,3\n", 2, 1, linalg.ErrNonFinite},
		"NaN in first line": {"1,NaN\n", 1, 2, linalg.ErrNonFinite},
		"infinite":          {"1\n-Inf\n", 2, 1, linalg.ErrNonFinite},
		"behind a header":   {"a,2\n1,Inf\n", 2, 2, linalg.ErrNonFinite},
		"overflow":          {"1e999\n", 1, 1, linalg.ErrNonFinite},
		"open quote":        {"1\n\"2", 2, 0, table.ErrOpenQuote},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readCSV(strings.NewReader(test.in))
			checkError(t, err, test.line, test.column, test.err)
		})
	}
}

// npy returns an array of format version 1 with this header and data.
func npy(header, data string) string {
	return npyMagic + "\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header + data
}

// array returns the matrix as an array of floats.
func array(x *mat.Dense) []byte {
	n, p := x.Dims()
	file := []byte(npy(fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", n, p), ""))
	for i := range n {
		for _, v := range x.RawRowView(i) {
			file = binary.LittleEndian.AppendUint64(file, math.Float64bits(v))
		}
	}
	return file
}

func TestReadNPY(t *testing.T) {
	t.Parallel()
	// The data are what numpy.asarray([[1, 2, 3], [4, 5, 6]]) of the type and order gives with tobytes().
	for name, test := range map[string]struct {
		in   string
		want [][]float64
	}{
		"<i2": {npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }  \n",
			"\x01\x00\xfe\xff\x03\x00\x04\x00\x05\x00\x06\x00"), [][]float64{{1, -2, 3}, {4, 5, 6}}},
		">u2 Fortran": {npy("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }",
			"\x00\x01\x00\x04\x00\x02\x00\x05\x00\x03\x00\x06"), [][]float64{{1, 2, 3}, {4, 5, 6}}},
		"|b1": {npy(`{"shape":(1,2),"fortran_order":False,"descr":"|b1"}`, "\x00\x01"), [][]float64{{0, 1}}},
		"<f4": {
			npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", "\x00\x00\xc0\xbf"), [][]float64{{-1.5}},
		},
		"<f8": {npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }",
			"\x00\x00\x00\x00\x00\x00\xf8\xbf"), [][]float64{{-1.5}}},
		"<i8": {npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1), }",
			"\xff\xff\xff\xff\xff\xff\xff\xff"), [][]float64{{-1}}},
		"one dimension": {
			npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", "\x07\xff"), [][]float64{{7}, {255}},
		},
		"version 3": {npyMagic + "\x03\x00\x3b\x00\x00\x00" +
			"{'descr': '|i1', 'fortran_order': False, 'shape': (1, 1), }" + "\xff", [][]float64{{-1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := readNPY(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, dense(x)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadNPYRefuses(t *testing.T) {
	t.Parallel()
	shape := func(s string) string { return "{'descr': '|u1', 'fortran_order': False, 'shape': " + s + ", }" }
	for name, test := range map[string]struct {
		in  string
		err error
	}{
		"empty":           {"", ErrFormat},
		"other file":      {"\x89PNG\r\n\x1a\n", ErrFormat},
		"version 4":       {npyMagic + "\x04\x00\x00\x00", ErrUnsupported},
		"header cut":      {npyMagic + "\x01\x00\x40\x00{'descr'", ErrFormat},
		"header of 4 GiB": {npyMagic + "\x02\x00\xff\xff\xff\xff", ErrFormat},
		"no dictionary":   {npy("[1]", ""), ErrFormat},
		"unclosed":        {npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), ", ""), ErrFormat},
		"text after":      {npy(shape("(1, 1)")+"x", "\x00"), ErrFormat},
		"a key missing":   {npy("{'descr': '<f8', 'shape': (1, 1)}", ""), ErrFormat},
		"a key twice":     {npy("{'descr': '<f8', 'descr': '<f8', 'shape': (1, 1)}", ""), ErrFormat},
		"an unknown key":  {npy("{'descr': '<f8', 'fortran_order': False, 'size': (1, 1)}", ""), ErrFormat},
		"neither order":   {npy("{'descr': '<f8', 'fortran_order': 0, 'shape': (1, 1)}", ""), ErrFormat},
		"float16": {
			npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1)}", "\x00\x3c"), ErrUnsupported,
		},
		"complex": {npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1)}", ""), ErrUnsupported},
		"objects": {npy("{'descr': '|O', 'fortran_order': False, 'shape': (1, 1)}", ""), ErrUnsupported},
		"structure": {
			npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1, 1)}", ""), ErrUnsupported,
		},
		"scalar":            {npy(shape("()"), "\x00"), ErrUnsupported},
		"three dimensions":  {npy(shape("(1, 1, 1)"), "\x00"), ErrUnsupported},
		"no entries":        {npy(shape("(0, 3)"), ""), ErrFormat},
		"negative shape":    {npy(shape("(-1, 3)"), ""), ErrFormat},
		"shape of text":     {npy(shape("(1, x)"), ""), ErrFormat},
		"overflowing shape": {npy(shape("(999999999999, 999999999999)"), ""), ErrFormat},
		"claims 10^12":      {npy(shape("(1000000, 1000000)"), "\x00\x01"), ErrFormat},
		"data short":        {npy(shape("(2, 2)"), "\x00\x01\x02"), ErrFormat},
		"data long":         {npy(shape("(2, 2)"), "\x00\x01\x02\x03\x04"), ErrFormat},
		"boolean of 2":      {npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1, 1)}", "\x02"), ErrFormat},
		"NaN": {
			npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}", "\x00\x00\xc0\x7f"), linalg.ErrNonFinite,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readNPY(strings.NewReader(test.in))
			checkError(t, err, 0, 0, test.err)
		})
	}
}

func TestNPYRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, p := rapid.IntRange(1, 9).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "p")
		entry := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64)
		want := mat.NewDense(n, p, rapid.SliceOfN(entry, n*p, n*p).Draw(t, "entries"))
		got, err := readNPY(bytes.NewReader(array(want)))
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(got, want) {
			t.Errorf("got %v, want %v", mat.Formatted(got), mat.Formatted(want))
		}
	})
}

func TestReadByName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if strings.HasSuffix(strings.ToLower(name), ".gz") {
			var zipped bytes.Buffer
			w := gzip.NewWriter(&zipped)
			if _, err := io.WriteString(w, content); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			content = zipped.String()
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const mtx = "%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n"
	bytesArray := npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }", "\x00\x01")
	for name, content := range map[string]string{
		"a.mtx": mtx, "a.MTX.GZ": mtx, "b.csv": "x,y\n0,1\n", "b.csv.gz": "x,y\n0,1\n", "b.tsv": "0\t1\n",
		"d.csv": "x;y\n0;1\n", "e.jsonl": `{"x":0,"y":1}`, "c.npy": bytesArray, "c.npy.gz": bytesArray,
	} {
		x, err := Read(write(name, content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, ok := x.(*matrix.CSR); ok != strings.HasPrefix(name, "a") {
			t.Errorf("%s gives a %T", name, x)
		}
		if diff := cmp.Diff([][]float64{{0, 1}}, dense(x)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([][]float64{{0}, {1}}, dense(Transposed(x))); diff != "" {
			t.Errorf("%s, transposed: %s", name, diff)
		}
	}

	notes := write("notes.csv", "1,2\n3,chest pain\n")
	cut := write("cut.mtx.gz", strings.Repeat(mtx, 50))
	if err := os.Truncate(cut, 40); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path string
		want error
		text string
	}{
		{write("late.jsonl", `{"x":0}`+"\n"+`{"x":0,"y":1}`), ErrFormat, ""},
		{write("gap.jsonl", `{"x":0,"y":1}`+"\n"+`{"x":0}`), ErrFormat, ""},
		{write("twice.csv", "x,y,x\n1,2,3\n"), table.ErrColumnTwice, ""},
		{notes, ErrFormat, notes + ", line 2, column \"2\": malformed matrix: not a number"},
		{write("a.txt", mtx), ErrUnsupported, ""},
		{cut, io.ErrUnexpectedEOF, ""},
		{filepath.Join(dir, "none.csv"), fs.ErrNotExist, ""},
		{dir, ErrUnsupported, ""},
	} {
		_, err := Read(test.path)
		var at *table.Error
		if !errors.As(err, &at) || at.File != test.path || !errors.Is(err, test.want) {
			t.Errorf("error %v, want %v", err, test.want)
		}
		if test.text != "" && err.Error() != test.text {
			t.Errorf("error %q, want %q", err, test.text)
		}
	}
}

func TestLineOf(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, c := range map[string]struct {
		content string
		row     int
		want    int
	}{
		"first.csv":  {"1,2\n3,4\n", 0, 1},
		"header.csv": {"a,b\n1,2\n3,4\n", 1, 3},
		"blank.csv":  {"\xef\xbb\xbf1\n\n\n2\n", 1, 4},
		"none.csv":   {"1\n2\n", 2, 0},
		"mark.csv":   {"\xef\xbb\xbf1\n2\n", 0, 1},
		"array.mtx":  {"%%MatrixMarket matrix array real general\n1 1\n1\n", 0, 0},
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := LineOf(path, c.row); got != c.want {
			t.Errorf("%s: row %d is on line %d, want %d", name, c.row, got, c.want)
		}
	}
	if got := LineOf(filepath.Join(folder, "missing.csv"), 0); got != 0 {
		t.Errorf("line %d of no file", got)
	}
}

// Missing answers are NaN in a CSV file, wherever they stand; everything else is as strict as ever.
func TestReadGaps(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, c := range map[string]struct {
		content string
		want    []float64
	}{
		"header.csv":      {"a,b,NA\n1,,3\nNA,.,NaN\n4, na ,6\n", []float64{1, nan, 3, nan, nan, nan, 4, nan, 6}},
		"no-header.csv":   {"NA,2,\n1,5,6\n", []float64{nan, 2, nan, 1, 5, 6}},
		"plain.mtx":       {"%%MatrixMarket matrix array real general\n1 3\n1\n2\n3\n", []float64{1, 2, 3}},
		"only-header.csv": {"a,b,c\n", nil},
		"text.csv":        {"a,b,c\n1,2,three\n", nil},
		"infinite.csv":    {"1,2,Inf\n", nil},
		"ragged.csv":      {"1,2,3\n1,2\n", nil},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := Options{Gaps: true}.Read(path)
		if c.want == nil {
			if at, ok := errors.AsType[*table.Error](err); !ok || at.File != path {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := x.(*mat.Dense).RawMatrix().Data
		if diff := cmp.Diff(c.want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := (Options{Gaps: true}).Read("missing.csv"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}
