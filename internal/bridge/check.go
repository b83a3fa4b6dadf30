package bridge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/msg"
)

// Checked is what a bridge that knows no visit makes of one message.
type Checked struct {
	Kind   string   `json:"kind"`
	Answer hl7.Code `json:"answer"`
	Reason string   `json:"reason,omitzero"`
	Place  string   `json:"place,omitzero"`   // of the fault, such as PV1-19
	Unused []string `json:"unused,omitempty"` // values that cannot be used: some of UnusedValues
	// Lacks says what a note of the visit still needs: emergency, text, complaint; or use.
	Lacks []string `json:"lacks,omitempty"`
	// Unconfigured are the class and the codes of a message without a note that no setting names, as in OBX-3 TRIAGE.
	Unconfigured []string `json:"unconfigured,omitempty"`

	Events []CheckedEvent `json:"events"`
}

// String says all but the events in one line.
func (c *Checked) String() string {
	var line strings.Builder
	fmt.Fprintf(&line, "%s is answered %s", cmp.Or(c.Kind, "the message"), c.Answer)
	add := func(before, what string) {
		if what != "" {
			line.WriteString(before + what)
		}
	}
	add(": ", c.Reason)
	add(" at ", c.Place)
	add("; unusable: ", strings.Join(c.Unused, ", "))
	add("; no note, which lacks: ", strings.Join(c.Lacks, ", "))
	add("; in no setting: ", strings.Join(c.Unconfigured, ", "))
	return line.String()
}

// CheckedEvent is an event that the message causes.
type CheckedEvent struct {
	Topic string          `json:"topic"`
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// ReadMessage reads a file with one message, or in for -. Of one that is too large it returns so much that this is
// noticed.
func ReadMessage(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the command line names it
		if err != nil {
			return nil, fmt.Errorf("reading the message: %w", err)
		}
		defer func() { _ = f.Close() }() // it is only read
		in = f
	}
	const frame = 3
	data, err := io.ReadAll(io.LimitReader(in, max(hl7.MaxMessage, fhir.MaxBundle)+frame+1))
	if err != nil {
		return nil, fmt.Errorf("reading the message: %w", err)
	}
	return data, nil
}

// Check reads and joins one message, in a frame of MLLP or not. topic names the topics.
func (b *Bridge) Check(data []byte, topic func(To) string, now time.Time) Checked {
	data = bytes.Trim(data, "\x0b\x1c")
	c := Checked{Answer: hl7.Accepted, Events: []CheckedEvent{}}
	readings, err := b.read(data, &c)
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		c.Answer, c.Reason, c.Place = refusal.Code, refusal.Reason, refusal.Place()
	}
	first := ""
	for _, r := range readings {
		c.Unused = append(c.Unused, r.Unused()...)
		for _, e := range b.Join(r, now) {
			if e.To == Notes || e.To == Outcomes {
				c.Events = append(c.Events, CheckedEvent{topic(e.To), e.Key, e.Value})
			}
		}
		first = cmp.Or(first, b.aliases[r.visit], r.visit)
		if r.Ignored {
			c.Lacks = []string{LacksUse}
		}
	}
	if first != "" {
		c.Lacks = cmp.Or(b.visits[first], newVisit()).lacks()
	}
	if m, err := hl7.Parse(data); err == nil && len(c.Lacks) > 0 {
		c.Unconfigured = b.unconfigured(m)
	}
	return c
}

// Bounds of a list for people, and of what may be a code in it.
const (
	maxUnconfigured = 20
	maxCode         = 40
)

// unconfigured returns the class of the visit if it is no emergency, and the codes of observations and documents, that
// no setting names.
func (b *Bridge) unconfigured(m *hl7.Message) (all []string) {
	add := func(place, what string, known bool) {
		s := place + " " + what
		if what != "" && !known && len(what) <= maxCode && len(all) < maxUnconfigured && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	class := code(m.First("PV1").Field(2))
	add("PV1-2", class, b.isEmergency(class))
	for _, s := range m.Segments() {
		switch c := code(s.Field(3)); s.Name {
		case "TXA":
			c = code(s.Field(2))
			add("TXA-2", c, b.noteCodes[c])
		case "OBX":
			add("OBX-3", c, b.fields[c] != fieldUnknown)
		}
	}
	return all
}

// What a note may lack.
const (
	LacksUse       = "use"       // messages of this kind are not read
	LacksEmergency = "emergency" // the class of the visit is not one of bridge.emergency_classes
	LacksText      = textField
	LacksComplaint = complaintField
)

// lacks returns what a note of the visit still needs.
func (v *visit) lacks() (all []string) {
	if !v.Emergency {
		all = append(all, LacksEmergency)
	}
	for _, name := range []string{LacksText, LacksComplaint} {
		if _, known := v.value(name); !known {
			all = append(all, name)
		}
	}
	return all
}

// Lacks returns what a note of the visit still needs; known is false if nothing is known of the visit.
func (b *Bridge) Lacks(visit string) (all []string, known bool) {
	v, known := b.visits[visit]
	if known {
		all = v.lacks()
	}
	return all, known
}

// Counts are the visits by what they lack.
type Counts struct {
	Visits, OtherClasses                          int // emergencies, and others
	WithoutText, WithoutComplaint, WithoutOutcome int
	// OldestUnjoined is when the first message came of the oldest emergency visit without a note, zero if there is
	// none.
	OldestUnjoined time.Time
}

// Count counts the visits.
func (b *Bridge) Count() (c Counts) {
	oldest := int64(0)
	for _, v := range b.visits {
		if !v.Emergency {
			c.OtherClasses++
			continue
		}
		c.Visits++
		lacks := v.lacks()
		if slices.Contains(lacks, LacksText) {
			c.WithoutText++
		}
		if slices.Contains(lacks, LacksComplaint) {
			c.WithoutComplaint++
		}
		if v.Said == nil || v.Said.Status == msg.Cancelled {
			c.WithoutOutcome++
		}
		if v.Note == "" && (oldest == 0 || v.First < oldest) {
			oldest = v.First
			c.OldestUnjoined = time.Unix(oldest, 0)
		}
	}
	return c
}

// read reads a message of any format. A document that cannot be read is the reason of an accepted Bundle.
func (b *Bridge) read(data []byte, c *Checked) ([]Reading, error) {
	if begin := bytes.TrimLeft(data, " \t\r\n"); !bytes.HasPrefix(begin, []byte("{")) {
		_, r, err := b.ReadHL7(data)
		if c.Kind = r.Kind; err != nil {
			return nil, err
		}
		return []Reading{r}, nil
	}
	read, err := b.ReadBundle(data)
	c.Kind = read.Kind
	for _, u := range read.Unread {
		c.Reason, c.Place = u.Reason, u.Place()
	}
	if err == nil && len(read.Readings) == 0 {
		c.Lacks = []string{LacksUse}
	}
	return read.Readings, err
}
