package textproc

import (
	"bufio"
	"embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// builtinFiles are the tables and lists that notes are read by.
//
//go:embed concepts
var builtinFiles embed.FS

// builtinFile returns one of them.
func builtinFile(name string) string {
	data, err := builtinFiles.ReadFile("concepts/" + name)
	if err != nil {
		panic("textproc: " + err.Error())
	}
	return string(data)
}

// builtinLines is lines of a built-in table, which has no fault.
func builtinLines(name string, width int, add func(fields []string) error) {
	if err := lines(strings.NewReader(builtinFile(name)), width, add); err != nil {
		panic("textproc: " + name + ": " + err.Error())
	}
}

// Dialects are the varieties of English whose words contradict those of others. The words that do not are in Builtin.
var Dialects = []string{"us", "uk", "au", "in", "ca"}

// Concepts map the words of nurses to their meaning. They are saved with a model.
type Concepts struct {
	Concepts []Concept `json:"concepts"`
	Senses   []Sense   `json:"senses"`
	Triggers []Trigger `json:"triggers"`
	Dialect  string    `json:"dialect,omitempty"` // see Dialects; "" for none: contradictions are left to the context
}

// conceptReader reads tables of concepts, in time linear in their length.
type conceptReader struct {
	all Concepts
	at  map[string]int    // the place of each concept
	of  map[string]string // the concept of each surface of a site's table
}

func newConceptReader() *conceptReader {
	return &conceptReader{at: make(map[string]int), of: make(map[string]string)}
}

// Concept is one column for one meaning, whatever was typed.
type Concept struct {
	Name     string   `json:"name"`     // of the term; a+b are two terms with one span, not:a is a denied one
	Surfaces []string `json:"surfaces"` // forms in notes; the sense of one that ends in * depends on its context
	Kind     string   `json:"kind"`     // see Kinds
	Parts    []string `json:"parts,omitempty"`
	Test     bool     `json:"test,omitempty"`    // takes a result that follows it
	Dropped  bool     `json:"dropped,omitempty"` // has no column
	Ends     bool     `json:"ends,omitempty"`    // ends a denial
	Now      bool     `json:"now,omitempty"`     // a state of the moment: ends a list of the past and of denials
	Lasting  bool     `json:"lasting,omitempty"` // a symptom that a list of the past may hold
}

// Kinds are the kinds of concepts. A history is chronic: "h/o copd" is copd. A symptom ends a list of the past.
var Kinds = []string{"symptom", "finding", "history", "mechanism", "treatment", "anatomy", "admin"}

// Sense is one reading of a surface that has several. The first that fits decides.
type Sense struct {
	Surface string   `json:"surface"`
	Sense   string   `json:"sense"` // a concept, several joined by +, "=" for the word as it stands, "-" for nothing
	Where   string   `json:"where,omitempty"`
	Window  int      `json:"window,omitempty"`
	Cues    []string `json:"cues,omitempty"` // one of them must be there
}

// Trigger is a word that gives a status to findings near it.
type Trigger struct {
	Surface string `json:"surface"`
	Effect  string `json:"effect"`
	Concept string `json:"concept,omitempty"` // its own, if it has one
}

func (c *Concepts) speaks(dialects ...string) bool { return slices.Contains(dialects, c.Dialect) }

// Builtin returns the built-in concepts. They must not be changed.
func Builtin() *Concepts { return builtin() }

var builtin = sync.OnceValue(func() *Concepts {
	c := newConceptReader()
	builtinLines("concepts.tsv", 4, c.addConcept)
	for _, dialect := range Dialects[1:] {
		builtinLines(dialect+".tsv", 4, c.addWords)
	}
	builtinLines("senses.tsv", 5, c.all.addSense)
	builtinLines("status.tsv", 3, c.all.addTrigger)
	return &c.all
})

// In returns the concepts as nurses of a dialect mean them: where dialects contradict each other and the context does
// not decide, theirs does.
func (c *Concepts) In(dialect string) (*Concepts, error) {
	if !slices.Contains(Dialects, dialect) {
		return nil, fmt.Errorf("%q is not one of the dialects %s", dialect, strings.Join(Dialects, ", "))
	}
	own := &Concepts{Concepts: c.Concepts, Triggers: c.Triggers, Dialect: dialect}
	senses := make(map[string]string)
	builtinLines("dialects.tsv", 3, func(fields []string) error {
		if fields[0] == dialect {
			senses[fields[1]] = fields[2]
		}
		return nil
	})
	for _, s := range c.Senses {
		if sense := senses[s.Surface]; sense != "" && s.Where == "" {
			s.Sense = sense
		}
		own.Senses = append(own.Senses, s)
	}
	return own, nil
}

// WithoutConcepts returns the triggers alone: every word is then its own term.
func (c *Concepts) WithoutConcepts() *Concepts {
	plain := &Concepts{}
	for _, t := range c.Triggers {
		t.Concept = ""
		plain.Triggers = append(plain.Triggers, t)
	}
	return plain
}

// With returns the concepts with those of a site's table, which has the form of the built-in concepts/concepts.tsv:
// tab-separated columns concept, surfaces, kind and note. A concept replaces the one with its name, and its surfaces
// are removed from all other concepts. An error names the line.
func (c *Concepts) With(r io.Reader) (*Concepts, error) {
	own := newConceptReader()
	if err := lines(r, 4, own.addSite); err != nil {
		return nil, err
	}
	all := &Concepts{Triggers: c.Triggers, Dialect: c.Dialect}
	taken := func(surface string) bool { return own.of[inWords(strings.TrimSuffix(surface, "*"))] != "" }
	for _, x := range c.Concepts {
		if _, replaced := own.at[x.Name]; replaced {
			continue
		}
		x.Surfaces = slices.DeleteFunc(slices.Clone(x.Surfaces), taken)
		all.Concepts = append(all.Concepts, x) // even without surfaces: senses and triggers may name it
	}
	for _, s := range c.Senses {
		if !taken(s.Surface) {
			all.Senses = append(all.Senses, s)
		}
	}
	all.Concepts = append(all.Concepts, own.all.Concepts...)
	return all, nil
}

// addSite adds a concept of a site's table.
func (c *conceptReader) addSite(fields []string) error {
	if err := c.addConcept(fields); err != nil {
		return err
	}
	x := &c.all.Concepts[c.at[fields[0]]]
	if strings.Contains(x.Name, ":") {
		return fmt.Errorf("%q is not a concept name: names with a colon are built in", x.Name)
	}
	if slices.Contains(strings.Split(x.Name, "+"), "") {
		return fmt.Errorf(
			"the name %q of a concept is not allowed: a plus sign joins two names, so each side needs one", x.Name)
	}
	for _, s := range x.Surfaces {
		switch other := c.of[inWords(s)]; {
		case strings.HasSuffix(s, "*"):
			return fmt.Errorf("surface %q of %q: only built-in surfaces can have several senses", s, x.Name)
		case other != "":
			return fmt.Errorf("surface %q belongs to %q and %q", s, other, x.Name)
		}
		c.of[inWords(s)] = x.Name
	}
	return nil
}

// inWords returns a surface in the form in which surfaces are compared, without the marks between its words.
func inWords(surface string) string {
	var b strings.Builder
	for _, p := range split(surface) {
		b.WriteString(p.raw)
		b.WriteByte(' ')
	}
	return b.String()
}

// lines calls add with the fields of each line of a table. It skips comments and the header, which a site's table may
// omit.
func lines(r io.Reader, width int, add func(fields []string) error) error {
	scanner := bufio.NewScanner(r)
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimRight(strings.TrimPrefix(scanner.Text(), "\ufeff"), "\r")
		fields := strings.Split(line, "\t")
		if number == 1 && slices.Contains([]string{"concept", "surface", "trigger", "dialect"}, fields[0]) ||
			strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if len(fields) < min(width, 3) {
			return fmt.Errorf("reading concepts: line %d: %d fields separated by tabs, must be %d", number,
				len(fields), width)
		}
		for len(fields) < width {
			fields = append(fields, "")
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if err := add(fields); err != nil {
			return fmt.Errorf("reading concepts: line %d: %w", number, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("reading concepts: %w", err)
	}
	return nil
}

// addWords adds a line of the table of a dialect: a concept, or surfaces of one that is there.
func (c *conceptReader) addWords(fields []string) error {
	at, found := c.at[fields[0]]
	if !found {
		return c.addConcept(fields)
	}
	x := &c.all.Concepts[at]
	if x.Kind != fields[2] {
		return fmt.Errorf("kind %q of %q is elsewhere %q", fields[2], x.Name, x.Kind)
	}
	for s := range strings.SplitSeq(fields[1], "|") {
		x.Surfaces = append(x.Surfaces, foldString(strings.TrimSpace(s)))
	}
	return nil
}

// mostConcepts bounds the concepts, which are compiled whenever a program reads them.
const mostConcepts = 100_000

func (c *conceptReader) addConcept(fields []string) error {
	x := Concept{Name: fields[0], Kind: fields[2]}
	if !isName(x.Name) {
		return fmt.Errorf("%q is not a concept name: small letters, digits and underscores", x.Name)
	}
	if !slices.Contains(Kinds, x.Kind) {
		return fmt.Errorf("kind %q of %q is not one of %s", x.Kind, x.Name, strings.Join(Kinds, ", "))
	}
	if _, again := c.at[x.Name]; again {
		return fmt.Errorf("concept %q appears twice", x.Name)
	}
	for s := range strings.SplitSeq(fields[1], "|") {
		s = foldString(strings.TrimSpace(s))
		if !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return fmt.Errorf("surface %q of %q has no letter or digit", s, x.Name)
		}
		x.Surfaces = append(x.Surfaces, s)
	}
	flags := map[string]*bool{
		"test": &x.Test, "dropped": &x.Dropped, "ends": &x.Ends, "now": &x.Now, "lasting": &x.Lasting,
	}
	for note := fields[3]; ; {
		directive, rest, _ := strings.Cut(note, " ")
		directive = strings.TrimRight(directive, ".:;")
		if parts, found := strings.CutPrefix(directive, "parts="); found {
			if x.Parts = strings.Split(parts, ","); slices.Contains(x.Parts, "") || slices.Contains(x.Parts, x.Name) {
				return fmt.Errorf("%q of %q: an empty part, or the concept itself", directive, x.Name)
			}
		} else if flag := flags[directive]; flag != nil {
			*flag = true
		} else {
			break
		}
		note = rest
	}
	if len(c.all.Concepts) == mostConcepts {
		return fmt.Errorf("more than %d concepts", mostConcepts)
	}
	c.at[x.Name] = len(c.all.Concepts)
	c.all.Concepts = append(c.all.Concepts, x)
	return nil
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '+' || r == ':')
	})
}

func (c *Concepts) addSense(fields []string) error {
	x := Sense{Surface: foldString(fields[0]), Sense: fields[1]}
	if fields[2] != "" {
		where, window, _ := strings.Cut(fields[2], " ")
		n, err := strconv.Atoi(window)
		if err != nil || n < 1 || where != "before" && where != "after" && where != "near" {
			return fmt.Errorf("%q is not before, after or near a number of words", fields[2])
		}
		x.Where, x.Window, x.Cues = where, n, strings.Split(fields[3], "|")
	}
	c.Senses = append(c.Senses, x)
	return nil
}

func (c *Concepts) addTrigger(fields []string) error {
	if effectNamed(fields[1]) == none {
		return fmt.Errorf("unknown effect %q", fields[1])
	}
	c.Triggers = append(c.Triggers, Trigger{foldString(fields[0]), fields[1], fields[2]})
	return nil
}
