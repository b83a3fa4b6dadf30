package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/solver/matrix/safetensors"
)

// renewal is what to do about golden files that differ.
const renewal = `The golden files pin every number that the commands write. A commit that was to change no number is wrong if
they differ. One that changes numbers on purpose renews them by

	WARDCAST_LONG=1 go test ./cmd/wardcast -run TestGolden -update

and says in its message which numbers change, by how much and why; a reviewer reads the diff of testdata/golden. To
compare the files themselves, run both trees with -artifacts -outputdir DIR.`

// summary describes a file by its parts, so that a golden file can say which of them differ: the columns of a table,
// the outer fields of JSON, the tensors of a model.
type summary map[string]string

const (
	// whole is the part that all bytes are of.
	whole = "whole file"
	// mostParts bounds what is said of JSON: if there are more fields, only the outermost count.
	mostParts = 24
)

func summarize(t *testing.T, name string, data []byte) summary {
	t.Helper()
	values := map[string][]string{}
	var err error
	switch filepath.Ext(name) {
	case ".csv":
		err = csvColumns(values, data)
	case ".mtx":
		for line := range strings.Lines(string(data)) {
			for i, cell := range strings.Fields(line) {
				if !strings.HasPrefix(line, "%") {
					name := []string{"row", "column", "value"}[i]
					values[name] = append(values[name], cell)
				}
			}
		}
	case ".json", ".jsonl":
		var all []any
		for d := json.NewDecoder(bytes.NewReader(data)); err == nil && d.More(); {
			d.UseNumber()
			all = append(all, nil)
			err = d.Decode(&all[len(all)-1])
		}
		if collect(values, "", all, 2); len(values) > mostParts {
			clear(values)
			collect(values, "", all, 1)
		}
	case ".safetensors":
		var tensors safetensors.Tensors
		tensors, _, err = safetensors.Read(data)
		for name, tensor := range tensors {
			part := fmt.Sprintf("tensor %s %d", name, tensor.Shape)
			for _, v := range tensor.Data {
				values[part] = append(values[part], strconv.FormatFloat(v, 'g', -1, 64))
			}
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s := summary{whole: fmt.Sprintf("%d bytes #%.8x", len(data), sha256.Sum256(data))}
	for part, of := range values {
		s[part] = digest(of)
	}
	return s
}

// csvColumns collects the cells by column: by its name if all of the first line are names, else by its number.
func csvColumns(values map[string][]string, data []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(rows) == 0 {
		return err
	}
	number := func(cell string) bool { _, err := strconv.ParseFloat(cell, 64); return err == nil }
	header := rows[0]
	if slices.ContainsFunc(header, number) {
		header = make([]string, len(rows[0]))
		for j := range header {
			header[j] = "column " + strconv.Itoa(j+1)
		}
	} else {
		rows = rows[1:]
	}
	for _, row := range rows {
		for j, cell := range row {
			values[header[j]] = append(values[header[j]], cell)
		}
	}
	return nil
}

// collect gathers the numbers and texts of JSON by the names of the fields that they are in, of which so many count.
func collect(values map[string][]string, path string, v any, names int) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := path
			if names > 0 {
				inner += "." + name
			}
			collect(values, inner, v[name], names-1)
		}
	case []any:
		for _, e := range v {
			collect(values, path, e, names)
		}
	default:
		values[path] = append(values[path], fmt.Sprint(v))
	}
}

// digest describes values: one by itself, several by their number, their mean if they are numbers, and a hash.
func digest(values []string) string {
	const longest = 32
	if len(values) == 1 && len(values[0]) <= longest {
		return values[0]
	}
	said, sum := fmt.Sprintf("%d values", len(values)), 0.
	for i, v := range values {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil {
			break
		}
		if sum += x; i == len(values)-1 {
			said += fmt.Sprintf(", mean %.6g", sum/float64(len(values)))
		}
	}
	return fmt.Sprintf("%s #%.4x", said, sha256.Sum256([]byte(strings.Join(values, "\n"))))
}

// differences says how a file differs from what its golden file describes, "" if it does not.
func differences(got, want summary) string {
	if maps.Equal(got, want) {
		return ""
	}
	if want == nil {
		return "is new"
	}
	if got == nil {
		return "is missing"
	}
	const most = 8
	var lines []string
	same := 0
	all := maps.Clone(got)
	maps.Copy(all, want)
	delete(all, whole)
	for _, part := range slices.Sorted(maps.Keys(all)) {
		now, is := got[part]
		before, was := want[part]
		switch {
		case !was:
			lines = append(lines, fmt.Sprintf("%s is new: %s", part, now))
		case !is:
			lines = append(lines, fmt.Sprintf("%s is gone: it was %s", part, before))
		case now != before:
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", part, now, before))
		default:
			same++
		}
	}
	if len(lines) == 0 {
		lines = []string{"only the order or the spelling of its parts"}
	}
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d parts more", more))
	}
	return fmt.Sprintf("differs (%s, was %s; %d parts are the same):\n\t%s", got[whole], want[whole], same,
		strings.Join(lines, "\n\t"))
}

// TestGoldenSaysWhatChanged: the failure of a golden test names the columns, fields and tensors that differ, and how.
func TestGoldenSaysWhatChanged(t *testing.T) {
	t.Parallel()
	tensor := func(v float64) string {
		var b bytes.Buffer
		if err := safetensors.Write(&b, safetensors.Tensors{"topics": {Shape: []int{1, 2}, Data: []float64{1, v}}},
			nil); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, before, now string
		want              []string
	}{
		{
			"scores.csv", "id,factor1\na,1\nb,2\n", "id,factor1\na,1\nb,4\n",
			[]string{"factor1: 2 values, mean 2.5 #", "was 2 values, mean 1.5 #", "1 parts are the same"},
		},
		{
			"x.csv", "1,2\n3,4\n", "1,2\n3,4\n5,6\n",
			[]string{"12 bytes", "was 8 bytes", "column 2: 3 values, mean 4 #", "was 2 values, mean 3 #"},
		},
		{
			"x.mtx", "%%MatrixMarket\n2 2 1\n1 1 5\n", "%%MatrixMarket\n2 2 1\n1 1 6\n",
			[]string{"value: 2 values, mean 3.5 #", "2 parts"},
		},
		{"result.json", `{"objective":1.5,"settings":{"rank":2}}`, `{"objective":1.25,"settings":{"rank":2,` +
			`"seed":1}}`, []string{".objective: 1.25, was 1.5", ".settings.seed is new: 1"}},
		{"p.jsonl", "{\"p\":1}\n{\"p\":2}\n", "{\"p\":1}\n{ \"p\":2}\n", []string{"only the order or the spelling"}},
		{"p.jsonl", "{\"p\":1,\"q\":[]}\n", "{\"q\":[null]}\n", []string{".p is gone: it was 1", ".q is new: <nil>"}},
		{"m.safetensors", tensor(2), tensor(4), []string{"tensor topics [1 2]: 2 values, mean 2.5 #"}},
	} {
		got := differences(summarize(t, c.name, []byte(c.now)), summarize(t, c.name, []byte(c.before)))
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s\nwant %q in it", c.name, got, want)
			}
		}
	}
	if s := summarize(t, "a.csv", []byte("1\n")); differences(s, s) != "" || differences(s, nil) != "is new" ||
		differences(nil, s) != "is missing" {
		t.Error("a file that is the same, new or missing is not said to be so")
	}
}
