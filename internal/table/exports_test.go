package table

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Files as other programs export them. Each is read as the program means it, and what is left out is told.
func TestExports(t *testing.T) {
	t.Parallel()
	const (
		blank   = "rows whose cells are all empty are left out"
		commas  = "numbers with a decimal comma are read as numbers, since semicolons separate the cells"
		import3 = `"{""ImportId"":""QID1""}"`
	)
	ab := []string{"a", "b"}
	for name, c := range map[string]struct {
		file, content string
		header        []string
		rows          []Row
		told          []string // message, count and first line
	}{
		"sep= and semicolons":      {"x.csv", "sep=;\na;b\n1;2\n", ab, []Row{{3, []string{"1", "2"}}}, nil},
		"sep= and commas, CRLF":    {"x.csv", "sep=,\r\na,b\r\n1,2\r\n", ab, []Row{{3, []string{"1", "2"}}}, nil},
		"SEP= in marks, and a bar": {"x.csv", "\ufeff\"SEP=|\"\na|b\n1|2\n", ab, []Row{{3, []string{"1", "2"}}}, nil},
		"sep= and a tab":           {"x.csv", "sep=\t\na\tb\n1\t2\n", ab, []Row{{3, []string{"1", "2"}}}, nil},
		"sep= with commas behind":  {"x.csv", "sep=;,,\na;b\n1;2\n", ab, []Row{{3, []string{"1", "2"}}}, nil},
		"a column named sep=a":     {"x.csv", "sep=a\n1\n", []string{"sep=a"}, []Row{{2, []string{"1"}}}, nil},
		"blank rows at the end": {
			"x.csv", "a,b\n1,2\n,\n , \n", ab, []Row{{2, []string{"1", "2"}}}, []string{blank + " 2 3"},
		},
		"blank rows before the header, and between": {
			"x.csv", ";;\na;b\n1;2\n;\n3;4\n", ab,
			[]Row{{3, []string{"1", "2"}}, {5, []string{"3", "4"}}},
			[]string{blank + " 2 1"},
		},
		"a blank row with too many separators": {
			"x.csv", "a,b\n,,,\n1,2\n", ab, []Row{{3, []string{"1", "2"}}}, []string{blank + " 1 2"},
		},
		"blank rows of tabs": {
			"x.tsv", "a\tb\n1\t2\n\t\n", ab, []Row{{2, []string{"1", "2"}}}, []string{blank + " 1 3"},
		},
		"marks in cells of tabs": {
			"x.tsv", "a\tb\n12\" pipe\t1\n\"DROPPED\" PHONE\t2\n\"so \"\"said\"\"\"\t\"3\"\r\n\t\"\"\n\"x\ty\"\t4", ab,
			[]Row{
				{2, []string{`12" pipe`, "1"}},
				{3, []string{`"DROPPED" PHONE`, "2"}},
				{4, []string{`so "said"`, "3"}},
				{6, []string{"x\ty", "4"}},
			},
			[]string{blank + " 1 5"},
		},
		"lines in a cell of tabs": {
			"x.tsv", "a\tb\n1\t\"x\n\n\"\"y\"\"\"\n2\tz\n", ab,
			[]Row{{2, []string{"1", "x\n\n\"y\""}}, {5, []string{"2", "z"}}},
			nil,
		},
		"a mark that nothing closes": {
			"x.tsv", "a\tb\n1\t\"LIKE A KNIFE\n2\t12\"\n\"\t3\n4\t\"", ab,
			[]Row{
				{2, []string{"1", `"LIKE A KNIFE`}},
				{3, []string{"2", `12"`}},
				{4, []string{`"`, "3"}},
				{5, []string{"4", `"`}},
			},
			nil,
		},
		"marks of tabs in a .txt": {"x.txt", "a\tb\n5'2\"\t1\n", ab, []Row{{2, []string{`5'2"`, "1"}}}, nil},
		"decimal commas": {
			"x.csv", "a;b\n1,5;\"-0,125\"\n,5;chest, pain\n1,234;1,2,3\n", ab,
			[]Row{
				{2, []string{"1.5", "-0.125"}}, {3, []string{".5", "chest, pain"}}, {4, []string{"1,234", "1,2,3"}},
			},
			[]string{commas + " 3 2"},
		},
		"decimal commas with sep=": {
			"x.csv", "sep=;\na;b\n1,5;2\n", ab, []Row{{3, []string{"1.5", "2"}}}, []string{commas + " 1 3"},
		},
		"points beside no decimal commas": {
			"x.csv", "a;b\n1.234;1,234\n", ab, []Row{{2, []string{"1.234", "1,234"}}}, nil,
		},
		"commas in cells of commas and tabs": {
			"x.csv", "a,b\n\"1,5\",2\n", ab, []Row{{2, []string{"1,5", "2"}}}, nil,
		},
		"Qualtrics": {
			"x.csv", "a,b\n\"How, often?\",Name\n" + import3 + "," + import3 + "\n1,2\n", ab,
			[]Row{{4, []string{"1", "2"}}},
			[]string{"the two further header rows of Qualtrics are left out 1 2"},
		},
		"Qualtrics as tabs": {
			"x.tsv", "a\tb\nHow?\tName\n" + import3 + "\t" + import3 + "\n1\t2\n", ab,
			[]Row{{4, []string{"1", "2"}}},
			[]string{"the two further header rows of Qualtrics are left out 1 2"},
		},
		"rows before JSON in a cell": {
			"x.csv", "a,b\n1,2\n3," + import3 + "\n", ab,
			[]Row{{2, []string{"1", "2"}}, {3, []string{"3", `{"ImportId":"QID1"}`}}},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			warn := func(message string, facts ...any) {
				told = append(told, fmt.Sprint(message, " ", facts[3], " ", facts[5]))
			}
			header, rows := readAll(t, write(t, c.file, c.content), Options{Warn: warn})
			if d := cmp.Diff(c.header, header); d != "" {
				t.Errorf("header: %s", d)
			}
			if d := cmp.Diff(c.rows, rows); d != "" {
				t.Errorf("rows: %s", d)
			}
			if !slices.Equal(told, c.told) {
				t.Errorf("told %q, want %q", told, c.told)
			}
		})
	}
}
