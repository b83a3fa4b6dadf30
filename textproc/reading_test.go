package textproc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReading compares the terms of the notes in testdata with the expected ones. A new rule or a new line of
// concepts/*.tsv needs a line there.
func TestReading(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tokens.tsv", "senses.tsv", "status.tsv", "spelling.tsv"} {
		t.Run(strings.TrimSuffix(name, ".tsv"), func(t *testing.T) {
			t.Parallel()
			table, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			reader := newReader(t)
			for line := range strings.Lines(string(table)) {
				if line[0] == '#' {
					continue
				}
				fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
				if len(fields) != 3 {
					t.Fatalf("%q has %d fields", line, len(fields))
				}
				note := strings.ReplaceAll(fields[1], `\n`, "\n")
				if got := strings.Join(termsOf(reader.Tokens(note)), ","); got != fields[2] {
					t.Errorf("%s %q:\n got %s\nwant %s", fields[0], note, got, fields[2])
				}
			}
		})
	}
}

// read returns the terms of a note, each followed by the bytes that it came from.
func read(t *testing.T, s Settings, note string) string {
	t.Helper()
	reader, err := Reader(s)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, token := range reader.Tokens(note) {
		all = append(all, prefixes[token.Status]+strings.Join(token.Terms, "+")+"<"+note[token.Start:token.End]+">")
	}
	return strings.Join(all, ",")
}

func TestPositions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, note, want string }{
		{"empty", "", ""},
		{"only stop words and punctuation", "The patient is ... [who]?!", ""},
		{"case", "Chest HURTS", "chest<Chest>,hurt<HURTS>"},
		{"parts share the span", "CP, n/v", "chest_pain+chest+pain<CP>,nausea+vomiting<n/v>"},
		{"small words inside", "pain in his chest", "chest_pain+chest+pain<pain in his chest>"},
		{"number with its key", "HR: 120, pain is 8/10", "hr:111-130<HR: 120>,pain<pain>,pain:7-10<8/10>"},
		{"age", "78 y.o. F fell", "age:75-84y+sex:f<78 y.o. F>,fall<fell>"},
		{"duration with ago", "2 days ago", "dur:1-3d<2 days ago>"},
		{"sign is not part", "+LOC, -n/v", "loss_of_consciousness<LOC>,not:nausea+vomiting<n/v>"},
		{"misspelled", "vomitting", "vomiting<vomitting>"},
		{"run together", "chestpain", "chest_pain+chest+pain<chestpain>"},
		{"digits inside a word", "covid19pos", "covid<covid19>"},
		{"apostrophes", "mother's 'knee' o'clock", "mother<mother's>,knee<knee>,oclock<o'clock>"},
		{"typographic", "can’t walk – pain 8⁄10", "unable_to_walk<can’t walk>,pain<pain>,pain:7-10<8⁄10>"},
		{"invalid UTF-8 is dropped", "kn\xffee \xc3pain", "knee<kn\xffee>,pain<pain>"},
		{"composed and decomposed are one", "café cafe\u0301", "café<café>,café<cafe\u0301>"},
		{"compatibility forms", "ﬁnger ｋｎｅｅ", "finger<ﬁnger>,knee<ｋｎｅｅ>"},
		{"full case folding", "STRASSE straße ΣΊΣΥΦΟΣ", "strass<STRASSE>,strass<straße>,σίσυφοσ<ΣΊΣΥΦΟΣ>"},
		{"soft hyphen and byte order mark", "\ufeffkn\u00adee", "knee<kn\u00adee>"},
		{"one character of several words", "knee㏂hip", "kneea<knee㏂>,hip<hip>"},
		{"longest word", strings.Repeat("a", 64) + " knee", strings.Repeat("a", 64) + "<" + strings.Repeat("a", 64) +
			">,knee<knee>"},
		{"longer word", strings.Repeat("a", 65) + " knee", "knee<knee>"},
		{"longer word beyond ASCII", strings.Repeat("é", 33) + " knee", "knee<knee>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, DefaultSettings(), c.note); got != c.want {
				t.Errorf("%q: got %s, want %s", c.note, got, c.want)
			}
		})
	}
}

func TestSettingsOfReading(t *testing.T) {
	t.Parallel()
	const note = "78F HR 120, vomitting"
	for _, c := range []struct {
		name   string
		change func(*Settings)
		want   string
	}{
		{"default", func(*Settings) {}, "age:75-84y+sex:f<78F>,hr:111-130<HR 120>,vomiting<vomitting>"},
		{"age is auxiliary", func(s *Settings) { s.Age = false }, "hr:111-130<HR 120>,vomiting<vomitting>"},
		{"age is a column", func(s *Settings) { s.AgeColumn = true }, "sex:f<78F>,hr:111-130<HR 120>," +
			"vomiting<vomitting>"},
		{"sex is a column", func(s *Settings) { s.SexColumn = true }, "age:75-84y<78F>,hr:111-130<HR 120>," +
			"vomiting<vomitting>"},
		{"no numbers", func(s *Settings) { s.Numbers = false }, "vomiting<vomitting>"},
		{"no spelling", func(s *Settings) { s.Spelling = false }, "age:75-84y+sex:f<78F>,hr:111-130<HR " +
			"120>,vomit<vomitting>"},
		{"own stop words", func(s *Settings) { s.StopWords = []string{"Vomitting"} }, "age:75-84y+sex:f<78F>," +
			"hr:111-130<HR 120>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := DefaultSettings()
			c.change(&s)
			if got := read(t, s, note); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A child's vital signs are not an adult's, wherever the age is, and the age of another person is not the patient's.
func TestOnlyTheFirstAgeCounts(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]string{
		"HR 150, 8mo F":               "child:hr:>=131<HR 150>,age:3-35mo+sex:f<8mo F>",
		"40F with 3 yo sister HR 150": "age:18-44y+sex:f<40F>,sister<sister>,hr:>=131<HR 150>",
	} {
		if got := read(t, DefaultSettings(), note); got != want {
			t.Errorf("%q: got %s, want %s", note, got, want)
		}
	}
}

func TestStatusNames(t *testing.T) {
	t.Parallel()
	want := []string{"affirmed", "negated", "uncertain", "historical", "other-person"}
	for s := range Status(statuses) {
		if s.String() != want[s] {
			t.Errorf("got %s, want %s", s, want[s])
		}
	}
}

func TestCodePoints(t *testing.T) {
	t.Parallel()
	positions := []int{0, 1, 3, 3, 8}
	CodePoints("aé\xff𝐏", positions)
	for i, want := range []int{0, 1, 2, 2, 4} {
		if positions[i] != want {
			t.Errorf("position %d: got %d, want %d", i, positions[i], want)
		}
	}
}
