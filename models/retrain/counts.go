package retrain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/models/train"
)

// Reason says why a note that could be read is no row.
type Reason string

// The reasons.
const (
	Undecided    Reason = "undecided"     // no outcome of the visit is known at the cut-off
	Cancelled    Reason = "cancelled"     // the last outcome known at the cut-off was withdrawn
	AfterCutOff  Reason = "after_cut_off" // arrived after the cut-off
	BeforeWindow Reason = "before_window" // arrived before the window
	NoTime       Reason = "no_time"       // neither the note nor its message has a time of arrival
	Repeated     Reason = "repeated"      // the same text as the note that counts: delivered again
	Superseded   Reason = "superseded"    // another text of a visit whose first note counts
	Erased       Reason = "erased"        // by an empty message with the key of the visit
)

// BadTime is the reason for a refused outcome whose decided_at or recorded_at is not a time in RFC 3339. The
// other reasons for which messages are refused are those of package msg.
const BadTime = "bad_time"

// Read counts the messages of one kind.
type Read struct {
	Messages int `json:"messages"` // with the empty and the refused ones
	Empty    int `json:"empty"`    // messages without a value, which erase
	// Refused counts by reason: a code of package msg with the field, as in "wrong_type: age", or BadTime.
	Refused map[string]int `json:"refused"`
	// First holds for each reason where the first of them stands, as in notes.jsonl:17.
	First map[string]string `json:"first_refused"`
}

func (r *Read) refuse(why string, at Place) {
	if r.Refused[why]++; r.Refused[why] == 1 {
		r.First[why] = at.String()
	}
}

// Counts counts what became of the messages. Its JSON names are stable.
type Counts struct {
	From     time.Time      `json:"from"`    // arrivals before it are left out
	AsOf     time.Time      `json:"cut_off"` // so are later arrivals, and outcomes recorded later
	Notes    Read           `json:"notes"`
	Outcomes Read           `json:"outcomes"`
	Excluded map[Reason]int `json:"excluded"` // notes. Messages = Empty + all Refused + all Excluded + Documents
	// Implausible counts, by field, values that package intake takes as missing: arrivals of notes, numbers of rows.
	Implausible map[string]int `json:"implausible"`

	Documents    int            `json:"documents"` // rows, one for each visit
	Events       int            `json:"events"`    // of them positive
	Dispositions map[string]int `json:"dispositions"`

	OutcomesLater int `json:"outcomes_after_cut_off"` // counts the events after the cut-off, which are ignored
	// OutcomesOvertaken counts the ignored events that contradict an event of their visit with a later time that stands
	// before them in the source. Many of them mean that corrections come without recorded_at.
	OutcomesOvertaken int `json:"outcomes_overtaken"`
	// WithoutNote counts the visits with an outcome in the window and no note that could be read.
	WithoutNote int `json:"outcomes_without_note"`
	Revised     int `json:"revised"` // counts the rows whose outcome was corrected or cancelled at least once
	// Conflicting counts the rows whose visit has final outcomes of both labels, none corrected or cancelled.
	Conflicting int `json:"conflicting"`

	train.Attenders
	Recurring train.Recurring `json:"recurring_texts"`

	// Split counts the rows to train on and to judge on, neither with later rows of patients who are trained on.
	Split SplitCounts `json:"split"`
}

// SplitCounts counts the rows of a split.
type SplitCounts struct {
	Cut           time.Time `json:"cut"` // first arrival of the judged period
	Train         int       `json:"train"`
	TrainEvents   int       `json:"train_events"`
	Judge         int       `json:"judge"`
	JudgeEvents   int       `json:"judge_events"`
	SeenInTrain   int       `json:"seen_in_training"` // rows of the judged period that are in neither part
	PatientsKnown bool      `json:"patients_known"`   // of all rows; else repeat attenders may be on both sides
}

func newCounts() Counts {
	read := func() Read { return Read{Refused: map[string]int{}, First: map[string]string{}} }
	return Counts{
		Notes: read(), Outcomes: read(), Excluded: map[Reason]int{}, Implausible: map[string]int{},
		Dispositions: map[string]int{},
	}
}

// Shares above which Warnings speaks up. They are far above what invented notes without a fault show (package synth).
const (
	manyRefused     = 0.01
	manyConflicting = 0.01
	manyUndecided   = 0.2
)

// Warnings returns sentences about what may be wrong with the data, none if nothing seems to be.
func (c *Counts) Warnings() (all []string) {
	warn := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
	if c.Recurring.Many() {
		warn("%.1f%% of the longer notes recur, but for numbers, under other visits: if their patients are the same, "+
			"send patient_id; otherwise every figure is too good", 100*c.Recurring.Share)
	}
	for _, r := range []struct {
		what string
		Read
	}{{"notes", c.Notes}, {"outcomes", c.Outcomes}} {
		refused := 0
		for _, n := range r.Refused {
			refused += n
		}
		if share(refused, r.Messages) > manyRefused {
			warn("%d of %d %s could not be read: %s", refused, r.Messages, r.what, r.reasons())
		}
	}
	for _, field := range slices.Sorted(maps.Keys(c.Implausible)) {
		if n := c.Implausible[field]; share(n, c.Notes.Messages) > manyRefused {
			warn("%d values of %s are implausible and count as missing: check the sender, or the section input of "+
				"the configuration", n, field)
		}
	}
	undecided := c.Excluded[Undecided] + c.Excluded[Cancelled]
	if share(undecided, undecided+c.Documents) > manyUndecided {
		warn("%d of %d notes have no outcome at the cut-off: those that are decided early may differ from the others",
			undecided, undecided+c.Documents)
	}
	if share(c.Conflicting, c.Documents) > manyConflicting {
		warn("%d of %d visits have final outcomes that contradict each other; the latest counts",
			c.Conflicting, c.Documents)
	}
	if share(c.OutcomesOvertaken, c.Outcomes.Messages) > manyConflicting {
		warn("%d outcomes differ from a later one of their visit that stands before them: send recorded_at with "+
			"corrections", c.OutcomesOvertaken)
	}
	return all
}

// sorted returns the reasons, the most common first.
func (r *Read) sorted() []string {
	return slices.SortedFunc(maps.Keys(r.Refused), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Refused[b], r.Refused[a]), strings.Compare(a, b))
	})
}

// reasons returns the reasons, each with its number and the place of its first message.
func (r *Read) reasons() string {
	names := r.sorted()
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d, first at %s)", name, r.Refused[name], r.First[name])
	}
	return strings.Join(names, ", ")
}

func (c *Counts) exclusions() (all []report.Exclusion) {
	for _, reason := range []Reason{
		Undecided, Cancelled, AfterCutOff, BeforeWindow, NoTime, Repeated, Superseded, Erased,
	} {
		if n := c.Excluded[reason]; n > 0 {
			all = append(all, report.Exclusion{Reason: string(reason), Notes: n})
		}
	}
	for _, reason := range c.Notes.sorted() {
		all = append(all, report.Exclusion{Reason: "refused, " + reason, Notes: c.Notes.Refused[reason]})
	}
	if n := c.Split.SeenInTrain; n > 0 {
		all = append(all,
			report.Exclusion{Reason: "of the later part, since their patient is in the earlier one", Notes: n})
	}
	return all
}

// about returns what the reports of all models say of the notes.
func (c *Counts) about(sources []string) report.Data {
	return report.Data{
		Sources: sources, Outcome: "admitted, as known at " + c.AsOf.Format(time.RFC3339), Exclusions: c.exclusions(),
		Counts: append([]report.Count{
			{Name: "visits with final outcomes that contradict each other", Number: &c.Conflicting},
			{Name: "visits whose outcome was corrected or cancelled", Number: &c.Revised},
			{Name: "outcomes that a later decision on their visit overrules", Number: &c.OutcomesOvertaken},
			{Name: "visits with an outcome and without a note", Number: &c.WithoutNote},
		}, c.Counts(c.Recurring)...),
	}
}

// TooFewError says that there are too few labelled notes to train on.
type TooFewError struct {
	Documents, Events, Others int // to train on: all, positive, and negative rows
	MinDocuments, MinEvents   int
	Sources                   []string
	Counts                    Counts // of all that was read
}

func (e *TooFewError) Error() string {
	c := &e.Counts
	left := []string{}
	for _, x := range c.exclusions() {
		left = append(left, fmt.Sprintf("%d %s", x.Notes, x.Reason))
	}
	if c.Split.Judge > 0 {
		left = append(left, fmt.Sprintf("%d to judge by", c.Split.Judge))
	}
	if len(left) == 0 {
		left = []string{"none"}
	}
	return fmt.Sprintf(
		"too few notes to train on: %d with %d admissions and %d other outcomes; at least %d notes and %d of each "+
			"are required. Read were %d notes and %d outcomes from %s, and the cut-off is %s; notes left out: %s",
		e.Documents, e.Events, e.Others, e.MinDocuments, e.MinEvents, c.Notes.Messages, c.Outcomes.Messages,
		strings.Join(e.Sources, ", "), c.AsOf.Format(time.RFC3339), strings.Join(left, ", "))
}
