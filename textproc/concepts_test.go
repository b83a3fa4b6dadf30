package textproc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

const conceptsHeader = "concept\tsurfaces\tkind\tnote\n"

// withSite returns the default settings with a site's own concepts.
func withSite(t *testing.T, table string) Settings {
	t.Helper()
	s := DefaultSettings()
	var err error
	if s.Concepts, err = Builtin().With(strings.NewReader(conceptsHeader + table)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWith(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, table, note, want string }{
		{"adds", "zebra_protocol\tzpx|Zebra path\tadmin\tours", "zpx, ZEBRA PATH", "zebra_protocol<zpx>," +
			"zebra_protocol<ZEBRA PATH>"},
		{"three columns do", "zebra\tzpx\tadmin", "zpx", "zebra<zpx>"},
		{"comments, blank lines and Windows line ends", "# ours\r\n\r\nzebra\tzpx\tadmin\r\n", "zpx", "zebra<zpx>"},
		{
			"replaces the concept of its name", "fever\tpyrexia\tsymptom\t", "fever, pyrexia",
			"fever<fever>,fever<pyrexia>",
		},
		{
			"the surfaces of a replaced concept are words again", "dyspnea\tzpx\tsymptom\t", "sob, dyspnea",
			"sob<sob>,dyspnea<dyspnea>",
		},
		{"takes a surface", "zebra\tsob\tsymptom\t", "sob, short of breath", "zebra<sob>,dyspnea<short of breath>"},
		{"takes a surface with senses", "zebra\tcp\tsymptom\t", "h/o cp", "past:zebra<cp>"},
		{"parts", "zebra\tzpx\tsymptom\tparts=fever,stripes: ours", "zpx", "zebra+fever+stripe<zpx>"},
		{"test", "zebra\tzpx\ttreatment\ttest: ours", "zpx neg, zpx+", "not:zebra<zpx>,zebra<zpx>"},
		{"dropped", "zebra\tzpx\tadmin\tdropped: ours", "zpx knee", "knee<knee>"},
		{"ends", "zebra\tzpx\tadmin\tdropped: ends: ours", "no fever zpx cough", "not:fever<fever>,cough<cough>"},
		{"chronic", "zebra\tzpx\thistory\t", "h/o zpx, fever", "past:zebra<zpx>,fever<fever>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, withSite(t, c.table), c.note); got != c.want {
				t.Errorf("%q: got %s, want %s", c.note, got, c.want)
			}
		})
	}
}

// A table without a header loses no line, and a surface is found however its words are joined.
func TestWithoutHeader(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	var err error
	if s.Concepts, err = Builtin().With(strings.NewReader("zebra\tshort-of-breath\tsymptom\n")); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, s, "short of breath"), "zebra<short of breath>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWithErrors(t *testing.T) {
	t.Parallel()
	var manyConcepts strings.Builder
	for i := range mostConcepts + 1 {
		fmt.Fprintf(&manyConcepts, "zebra%d\tzpx%d\tadmin\n", i, i)
	}
	for _, c := range []struct{ name, table, says string }{
		{"fields", "zebra\tzpx", "line 2: 2 fields"},
		{"name", "Zebra path\tzpx\tadmin", `line 2: "Zebra path"`},
		{"kind", "\nzebra\tzpx\tanimal", `line 3: kind "animal"`},
		{"surface of two", "zebra\tz p-x\tadmin\nlion\tz p x\tadmin", `line 3: surface "z p x" belongs to "zebra" ` +
			`and "lion"`},
		{"status in the name", "not:zebra\tzpx\tadmin", `line 2: "not:zebra"`},
		{"empty part", "zebra\tzpx\tadmin\tparts=", `line 2: "parts=" of "zebra"`},
		{"part of itself", "zebra\tzpx\tadmin\tparts=a,zebra", `of "zebra"`},
		{"twice", "zebra\tzpx\tadmin\nzebra\tzpy\tadmin", "line 3: concept"},
		{"empty surface", "zebra\tzpx||zpy\tadmin", "line 2: surface"},
		{"no letter", "zebra\t--\tadmin", "line 2: surface"},
		{"several senses", "zebra\tzpx*\tadmin", `"zpx*"`},
		{"long line", "zebra\t" + strings.Repeat("a", 1<<17), "reading concepts"},
		{"too many", manyConcepts.String(), "more than 100000 concepts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Builtin().With(strings.NewReader(conceptsHeader + c.table)); err == nil ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %s", err, c.says)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := Builtin().With(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// New rejects a table with lines that contradict each other.
func TestConceptsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, table, says string }{
		{"long word", "zebra\t" + strings.Repeat("a", maxWord+1) + "\tadmin", "longer than 64 bytes"},
	} {
		if _, err := Reader(withSite(t, c.table)); !errors.Is(err, ErrSettings) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.says)
		}
	}
}

// A concept that loses its last surface may still be the sense of another.
func TestConceptWithoutSurfaces(t *testing.T) {
	t.Parallel()
	s := withSite(t, "zebra\texposure|exposed\tadmin\t")
	if got, want := read(t, s, "exposed to covid, exposed"),
		"exposure<exposed to>,other:covid<covid>,zebra<exposed>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConceptsAsJSON(t *testing.T) {
	t.Parallel()
	saved, err := json.Marshal(Builtin())
	if err != nil {
		t.Fatal(err)
	}
	var loaded Concepts
	if err := json.Unmarshal(saved, &loaded); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(Builtin(), &loaded); diff != "" {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
}

// Each surface of the built-in table, read alone, means its concept.
func TestEverySurfaceIsRead(t *testing.T) {
	t.Parallel()
	reader := newReader(t)
	for _, c := range Builtin().Concepts {
		for _, s := range c.Surfaces {
			if strings.HasSuffix(s, "*") || c.Dropped {
				continue
			}
			var got []string
			for _, token := range reader.Tokens(s) {
				for _, term := range token.Terms {
					got = append(got, map[bool]string{true: "not:"}[token.Status == Negated]+term)
				}
			}
			for name := range strings.SplitSeq(c.Name, "+") {
				if !slices.Contains(got, name) {
					t.Errorf("%q of %s gives %v", s, name, got)
				}
			}
		}
	}
}

func TestBuiltinStopWords(t *testing.T) {
	t.Parallel()
	stops := listed("stopwords.txt")
	if sorted := slices.Sorted(slices.Values(stops)); len(sorted) != len(slices.Compact(slices.Clone(sorted))) {
		t.Error("a stop word is repeated")
	}
	for _, finding := range []string{
		"left", "right", "up", "down", "after", "before", "off", "out", "more", "unable", "pain",
	} {
		if slices.Contains(stops, finding) {
			t.Errorf("%q is a stop word", finding)
		}
	}
}

// Each trigger has an effect that the table explains, once.
func TestTriggersOnce(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, trigger := range Builtin().Triggers {
		key := trigger.Surface
		if effectRules[effectNamed(trigger.Effect)].class != 0 { // of the word, beside its own effect
			key += " " + trigger.Effect
		}
		if seen[key] {
			t.Errorf("trigger %q appears twice", trigger.Surface)
		}
		seen[key] = true
		if !strings.Contains(builtinFile("status.tsv"), "\n# "+trigger.Effect) {
			t.Errorf("effect %q is not explained", trigger.Effect)
		}
	}
}

func FuzzWith(f *testing.F) {
	for _, seed := range []string{
		"zebra\tzpx|zebra path\tadmin\tours", "a+b\tx/y\tfinding\tparts=q,r: test",
		"not:a\tn\tsymptom", "a\tﬁ|é\tsymptom", "a\t1:1\tadmin", "a\tthe of\tadmin",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, table string) {
		c, err := Builtin().With(strings.NewReader(conceptsHeader + table))
		if err != nil {
			return
		}
		s := DefaultSettings()
		s.Concepts = c
		reader, err := Reader(s)
		if err != nil {
			return
		}
		checkSpans(t, table, reader.Tokens(table))
	})
}

// A word that dialects use in different senses means what the chosen one means, unless the context decides.
func TestDialects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dialect, note, want string }{
		{"", "pd, cough", "pd,cough"},
		{"us", "pd, cough", "police,cough"},
		{"uk", "pd, cough", "personality_disorder,cough"},
		{"in", "pd, cough", "peritoneal_dialysis,dialysis,cough"},
		{"uk", "brought in by pd", "brought,police"},
		{"", "bm 6", "bm"},
		{"uk", "bm 6", "glucose:70-199"},
		{"us", "bgl 22", "glucose:<54"},
		{"au", "bgl 22", "glucose:200-599"},
		{"", "cord", "cord"},
		{"au", "cord", "copd"},
		{"in", "ccf", "upper_respiratory_infection,fever"},
		{"ca", "ccf", "heart_failure"},
	} {
		s := DefaultSettings()
		if c.dialect != "" {
			var err error
			if s.Concepts, err = Builtin().In(c.dialect); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Reader(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(termsOf(r.Tokens(c.note)), ","); got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.dialect, c.note, got, c.want)
		}
	}
	if _, err := Builtin().In("fr"); err == nil {
		t.Error("no error for a dialect that there is not")
	}
}

// A long table is read in time linear in its rows: a second of the processor here, where a quadratic reader took 25.
func TestLongTable(t *testing.T) { //nolint:paralleltest // tests beside it would use the processor too
	const rows, most = 100_000, 10 * time.Second
	var table strings.Builder
	for i := range rows {
		fmt.Fprintf(&table, "own_%d\tzq%dx\tsymptom\t\n", i, i)
	}
	start := processorTime(t)
	s := withSite(t, table.String())
	if used := processorTime(t) - start; used > most {
		t.Errorf("reading %d rows took %v, more than %v", rows, used, most)
	}
	if got := len(s.Concepts.Concepts); got != len(Builtin().Concepts)+rows {
		t.Errorf("%d concepts", got)
	}
}

// processorTime returns what this process has used, which other load on the machine disturbs least.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// The table of a dialect adds surfaces to a concept of the same kind only.
func TestWordsOfADialect(t *testing.T) {
	t.Parallel()
	c := newConceptReader()
	for _, step := range []struct {
		fields []string
		want   string
	}{
		{[]string{"zebra", "zpx", "finding", ""}, ""},
		{[]string{"zebra", "zpy", "finding", ""}, ""},
		{[]string{"zebra", "zpz", "symptom", ""}, `kind "symptom" of "zebra" is elsewhere "finding"`},
	} {
		err := c.addWords(step.fields)
		if got := fmt.Sprint(err); err == nil && step.want != "" || err != nil && got != step.want {
			t.Errorf("%v: got %s, want %q", step.fields, got, step.want)
		}
	}
	if got := strings.Join(c.all.Concepts[0].Surfaces, " "); got != "zpx zpy" {
		t.Errorf("surfaces %s", got)
	}
}

// Each sense of a dialect is a concept, and replaces one that the table of senses has.
func TestSensesOfDialects(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, c := range Builtin().Concepts {
		names[c.Name] = true
	}
	builtinLines("dialects.tsv", 3, func(fields []string) error {
		last := slices.ContainsFunc(Builtin().Senses,
			func(s Sense) bool { return s.Surface == fields[1] && s.Where == "" })
		for name := range strings.SplitSeq(fields[2], "+") {
			if !names[name] {
				t.Errorf("no concept %q", name)
			}
		}
		if !last || !slices.Contains(Dialects, fields[0]) {
			t.Errorf("%v replaces nothing", fields)
		}
		return nil
	})
}

// Any table that validates reads any note: the fuzzer changes the table and the note together, with the built-in
// concepts beside it and without them.
func FuzzTablesAndNotes(f *testing.F) {
	for table, note := range map[string]string{
		"":                                     "Ms Smith",
		"zebra\tms zz1|zpx\tadmin\tours":       "Pt Name: Garcia, Maria. Ms zz1",
		"a+b\tdr zz|name\tfinding\tparts=q,r:": "Dr. J. Burns seen by NP Okoro, mother Jane",
		"nurse\tnurse|np|by\tsymptom":          "NP Okoro, +LOC -ve fever # NOF [ ] sob",
		"a\t#1|-ve x\tfinding\tlasting:":       "12 Elm St SW1A 1AA a.b@c.de #1 -ve x",
		"fracture\tfx\thistory\tdropped:":      "# NOF 31+4/40 3/7 BM 4 PR 96",
		"nausea\tzq\tadmin\tdropped:":          "-n -v a &amp; b<br>&#39; \\T\\",
		"x\tno zz|not\tfinding\tends:":         "no meds, cp - x not zz",
		"mother\tmum zz\thistory\tnow:":        "allergies: penicillin (rash), mum zz 45 yo",
		"t\t5 zq|½9\ttreatment":                "off lithium quit 2018 1) a 2) 5 zq",
	} {
		f.Add(table, note)
	}
	f.Fuzz(func(t *testing.T, table, note string) {
		for _, base := range []*Concepts{Builtin(), Builtin().WithoutConcepts()} {
			c, err := base.With(strings.NewReader(conceptsHeader + table))
			if err != nil {
				return
			}
			s := DefaultSettings()
			s.Concepts = c
			reader, err := Reader(s)
			if err != nil {
				return
			}
			checkSpans(t, note, reader.Tokens(note))
		}
	})
}

// Random tables that validate read random notes of their own words, of those of the tables of ours, and of marks and
// numbers, without a panic; and a note has the same row in training as later. WARDCAST_LONG reads 10,000,000 notes.
func TestAnyTableReadsAnyNote(t *testing.T) {
	t.Parallel()
	tables, notes := 4, 500
	if os.Getenv("WARDCAST_LONG") != "" {
		tables, notes = 500, 20_000
	}
	random := rand.New(rand.NewPCG(12, 5))
	reader, err := Reader(DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	pieces := strings.Fields("0 1 3 7 12 38/40 3/7 39.5 120/80 2018 0200 : ; , . ! ? / - + ++ > = ( ) [ ] [x] \" ' % # " +
		"* ~ @ & <br> &amp; \\.br\\ a@b.c Ms Dr. Smith Okoro Pt Name: nhs no MRN SW1A 1AA é ½ \xff Ø -ve")
	pieces = append(pieces, "\n", "12 Elm St", "\\T\\")
	marks, words := len(pieces), []string(nil)
	for _, w := range reader.v.words {
		words = append(words, w.raw)
	}
	slices.Sort(words)
	pieces = append(pieces, words...)
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	kinds := []string{"symptom", "finding", "history", "mechanism", "treatment", "anatomy", "admin"}
	read := 0
	for made := 0; made < tables; {
		var table strings.Builder
		own := slices.Clone(pieces[:marks])
		for i := range 1 + random.IntN(12) {
			surface := pick(words) + []string{" zz", "zq", " " + pick(words) + "zq"}[random.IntN(3)] + string(rune('a'+i))
			if random.IntN(20) == 0 {
				surface = pick(pieces) + " " + surface
			}
			own = append(own, surface, surface, surface, surface)
			name := []string{"", "not:", "site_z+"}[random.IntN(3)] + "site_" + string(rune('a'+i))
			note := []string{"", "parts=zp:", "test:", "dropped:", "ends:", "lasting:", "now:"}[random.IntN(7)]
			fmt.Fprintf(&table, "%s\t%s\t%s\t%s\n", name, surface, pick(kinds), note)
		}
		base := []*Concepts{Builtin(), Builtin().WithoutConcepts()}[random.IntN(2)]
		c, err := base.With(strings.NewReader(conceptsHeader + table.String()))
		if err != nil {
			continue
		}
		s := DefaultSettings()
		s.Concepts, s.MinDF = c, 1
		draw := func() string {
			var note strings.Builder
			for range 1 + random.IntN(14) {
				if random.IntN(4) > 0 {
					note.WriteByte(' ')
				}
				note.WriteString(pick([][]string{own, pieces}[random.IntN(2)]))
			}
			return note.String()
		}
		var docs []Document
		for range 20 {
			docs = append(docs, Document{Text: draw()})
		}
		v, rows, err := Fit(docs, s)
		if err != nil {
			continue
		}
		made++
		transformer := v.Transformer()
		for i, d := range docs {
			columns, values := rows.Row(i)
			if got := transformer.Row(d.Text); !slices.Equal(got.Columns, columns) || !slices.Equal(got.Values, values) {
				t.Fatalf("%q has another row in training than later, with the table %q", d.Text, table.String())
			}
		}
		for range notes {
			note := draw()
			checkSpans(t, note, transformer.Tokens(note))
			read++
		}
	}
	t.Logf("%d notes with %d tables", read, tables)
}
