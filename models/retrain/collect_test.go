package retrain_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/train"
)

// collect returns the labels by visit. It lets few notes pass.
func collect(t testing.TB, m *memory, s retrain.Settings) (map[string]bool, *retrain.Past) {
	t.Helper()
	s.MinDocuments, s.MinEvents = 1, 1
	past, err := retrain.Collect(t.Context(), m, s)
	if _, few := errors.AsType[*retrain.TooFewError](err); err != nil &&
		(past == nil || !few && !errors.Is(err, train.ErrSettings) && !strings.Contains(err.Error(), "splitting")) {
		t.Fatal(err)
	}
	labels := map[string]bool{}
	for _, r := range past.Rows {
		if _, twice := labels[r.Visit]; twice {
			t.Errorf("two rows of a visit")
		}
		labels[r.Visit] = r.Positive
	}
	balance(t, &past.Counts, len(m.notes))
	return labels, past
}

// balance fails unless every note is counted once.
func balance(t testing.TB, c *retrain.Counts, messages int) {
	t.Helper()
	sum := c.Notes.Empty + c.Documents
	for _, n := range c.Notes.Refused {
		sum += n
	}
	for _, n := range c.Excluded {
		sum += n
	}
	if c.Notes.Messages != messages || sum != messages {
		t.Errorf("%d of %d notes are counted: %+v", sum, messages, c)
	}
	if c.Split.Train+c.Split.Judge+c.Split.SeenInTrain != c.Documents {
		t.Errorf("the split lost rows: %+v of %d", c.Split, c.Documents)
	}
}

// TestLabels sets the label of one visit by its events.
func TestLabels(t *testing.T) {
	t.Parallel()
	const yes, no, none = "yes", "no", "undecided"
	const asOf = 24
	for name, c := range map[string]struct {
		events []retrain.Message
		want   string
		check  func(c *retrain.Counts) bool
	}{
		"admitted":    {[]retrain.Message{outcomeOf(1, 5, msg.Admitted)}, yes, nil},
		"discharged":  {[]retrain.Message{outcomeOf(1, 5, msg.Discharged)}, no, nil},
		"transferred": {[]retrain.Message{outcomeOf(1, 5, msg.Transferred)}, no, nil},
		"died":        {[]retrain.Message{outcomeOf(1, 5, msg.Died)}, no, nil},
		"left":        {[]retrain.Message{outcomeOf(1, 5, msg.Left)}, no, nil},
		"none":        {nil, none, nil},
		"too late": {[]retrain.Message{outcomeOf(1, asOf+1, msg.Admitted)}, none, func(c *retrain.Counts) bool {
			return c.OutcomesLater == 1
		}},
		"at the cut": {[]retrain.Message{outcomeOf(1, asOf, msg.Admitted)}, yes, nil},
		"late":       {[]retrain.Message{outcomeOf(1, 5, msg.Admitted, recordedAt(asOf+1))}, none, nil},
		"cancelled": {
			[]retrain.Message{outcomeOf(1, 5, msg.Admitted), outcomeOf(1, 5, msg.Admitted, status(msg.Cancelled))},
			none,
			func(c *retrain.Counts) bool { return c.Excluded[retrain.Cancelled] == 1 },
		},
		"cancelled too late": {[]retrain.Message{outcomeOf(1, 5, msg.Admitted), outcomeOf(1, 5, msg.Admitted,
			status(msg.Cancelled), recordedAt(asOf+1))}, yes, nil},
		"cancelled, then discharged": {
			[]retrain.Message{
				outcomeOf(1, 5, msg.Admitted), outcomeOf(1, 6, msg.Admitted, status(msg.Cancelled)),
				outcomeOf(1, 7, msg.Discharged),
			},
			no,
			func(c *retrain.Counts) bool { return c.Revised == 1 && c.Conflicting == 0 },
		},
		"corrected": {
			[]retrain.Message{outcomeOf(1, 5, msg.Admitted), outcomeOf(1, 5, msg.Discharged, status(msg.Corrected))},
			no, nil,
		},
		"corrected back in time": {
			[]retrain.Message{outcomeOf(1, 5, msg.Admitted), outcomeOf(1, 4, msg.Discharged, status(msg.Corrected),
				recordedAt(9))}, no, nil,
		},
		"corrected back without a record": {
			[]retrain.Message{outcomeOf(1, 5, msg.Admitted), outcomeOf(1, 4, msg.Discharged, status(msg.Corrected))},
			yes,
			func(c *retrain.Counts) bool { return c.OutcomesOvertaken == 1 },
		},
		"out of order": {[]retrain.Message{outcomeOf(1, 7, msg.Discharged), outcomeOf(1, 5, msg.Admitted)}, no, nil},
		"contradiction": {
			[]retrain.Message{outcomeOf(1, 5, msg.Admitted), outcomeOf(1, 6, msg.Discharged)},
			no,
			func(c *retrain.Counts) bool { return c.Conflicting == 1 },
		},
		"repeated": {
			[]retrain.Message{outcomeOf(1, 5, msg.Admitted), outcomeOf(1, 5, msg.Admitted)},
			yes, func(c *retrain.Counts) bool { return c.Conflicting == 0 && c.OutcomesOvertaken == 0 },
		},
		"erased": {
			[]retrain.Message{outcomeOf(1, 5, msg.Admitted), {Key: []byte("v0001")}},
			none, func(c *retrain.Counts) bool { return c.Outcomes.Empty == 1 },
		},
		"erased, and again": {
			[]retrain.Message{outcomeOf(1, 5, msg.Admitted), {Key: []byte("v0001")}, outcomeOf(1, 4, msg.Left)},
			no, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			labels, past := collect(t, &memory{c.events, []retrain.Message{noteOf(1, 1)}},
				retrain.Settings{AsOf: at(asOf)})
			got := none
			if positive, ok := labels["v0001"]; ok {
				got = map[bool]string{true: yes, false: no}[positive]
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if c.check != nil && !c.check(&past.Counts) {
				t.Errorf("counts %+v", past.Counts)
			}
		})
	}
}

func TestTransfersMayCountAsAdmitted(t *testing.T) {
	t.Parallel()
	m := &memory{
		[]retrain.Message{outcomeOf(1, 5, msg.Transferred), outcomeOf(2, 5, msg.Discharged)},
		[]retrain.Message{noteOf(1, 1), noteOf(2, 2)},
	}
	labels, past := collect(t, m, retrain.Settings{Admission: []msg.Disposition{msg.Admitted, msg.Transferred}})
	if d := cmp.Diff(map[string]bool{"v0001": true, "v0002": false}, labels); d != "" {
		t.Error(d)
	}
	if past.Counts.Events != 1 || past.Counts.Dispositions["transferred"] != 1 {
		t.Errorf("%+v", past.Counts)
	}
}

// TestExcluded counts one note for each reason, and says where refused messages stand.
func TestExcluded(t *testing.T) {
	t.Parallel()
	text := func(s string) func(*msg.Note) { return func(n *msg.Note) { n.Text = s } }
	arrived := func(s string) func(*msg.Note) { return func(n *msg.Note) { n.ArrivedAt = s } }
	var outcomes []retrain.Message
	for i := range 20 {
		outcomes = append(outcomes,
			outcomeOf(i, 48+float64(i), map[bool]msg.Disposition{true: msg.Admitted, false: msg.Discharged}[i%2 == 0]))
	}
	outcomes = append(outcomes, outcomeOf(3, 60, msg.Discharged, status(msg.Cancelled)), outcomeOf(99, 50, msg.Left),
		retrain.Message{Value: []byte(`{"schema_version":"1","visit_id":"v","disposition":"eaten"}`)},
		outcomeOf(98, 0, msg.Left, func(o *msg.Outcome) { o.DecidedAt = "yesterday" }))
	untimed := noteOf(5, 0, arrived(""))
	late := noteOf(6, 0, arrived(""))
	late.Recorded = at(3)
	lateNoon := noteOf(12, 0, arrived("12:00")) // as if it had no time
	lateNoon.Recorded = at(3)
	notes := []retrain.Message{
		noteOf(0, 1), noteOf(1, 2), noteOf(1, 2), noteOf(1, 2, text("corrected: fell twice")), noteOf(50, 3),
		noteOf(3, 3), noteOf(4, 101), noteOf(2, -30*24), untimed, late, noteOf(7, 4),
		{Key: []byte("v0007")},
		noteOf(8, 5, arrived("noon")), noteOf(10, 5, arrived("1970-01-01T00:00:00Z")), lateNoon,
		{Value: []byte(`{"schema_version":"2"}`)},
		{Value: []byte("fell")},
		noteOf(9, 6, func(n *msg.Note) { n.SchemaVersion = "2" }),
		{Key: []byte("v0077")},
	}
	labels, past := collect(t, &memory{outcomes, notes}, retrain.Settings{AsOf: at(100), Window: 7 * 24 * time.Hour})
	if d := cmp.Diff(map[string]bool{"v0000": true, "v0001": false, "v0006": true, "v0012": true}, labels); d != "" {
		t.Error(d)
	}
	c := past.Counts
	want := map[retrain.Reason]int{
		retrain.Repeated: 1, retrain.Superseded: 1, retrain.Undecided: 1, retrain.Cancelled: 1, retrain.AfterCutOff: 1,
		retrain.BeforeWindow: 1, retrain.NoTime: 3, retrain.Erased: 1,
	}
	if d := cmp.Diff(want, c.Excluded); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"unknown_schema_version: schema_version": 2, "not_json": 1},
		c.Notes.Refused); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"arrived_at": 3}, c.Implausible); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"wrong_type: disposition": "outcomes:22", retrain.BadTime: "outcomes:23"},
		c.Outcomes.First); d != "" {
		t.Error(d)
	}
	// 20 visits and v0099 have an outcome; 0 to 8, 10 and 12 have a note that could be read, and 3 is cancelled.
	if c.WithoutNote != 21-11 || c.Notes.Empty != 2 {
		t.Errorf("%d outcomes without a note, %d empty messages", c.WithoutNote, c.Notes.Empty)
	}
	warnings := strings.Join(c.Warnings(), "\n")
	for _, want := range []string{
		"could not be read", "notes:15", "3 values of arrived_at are implausible", "2 of 6 notes have no outcome",
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q is not in the warnings:\n%s", want, warnings)
		}
	}
}

// TestImplausible: what cannot be is no value of a row, and a level has one spelling.
func TestImplausible(t *testing.T) {
	t.Parallel()
	var m memory
	sexes := []string{"F", "FEMALE", "F", "2", "M"}
	for i, sex := range sexes {
		m.outcomes = append(m.outcomes, outcomeOf(i, 9, msg.Admitted))
		m.notes = append(m.notes, noteOf(i, float64(i),
			func(n *msg.Note) { n.Sex, n.Age, n.Acuity = sex, msg.Some(float64(40+900*(i%2))), msg.Some(3) }))
	}
	r := intake.Default()
	r.Ranges["acuity"] = []float64{1, 2} // of the site
	in, err := intake.New(r)
	if err != nil {
		t.Fatal(err)
	}
	aux := []train.Aux{{Name: "age", Kind: bundle.Numeric}, {Name: "sex", Kind: bundle.Categorical}, {
		Name: "acuity", Kind: bundle.Numeric,
	}}
	_, past := collect(t, &m, retrain.Settings{Aux: aux, Intake: in})
	for i := range sexes {
		want := []msg.Value{{}, msg.Text("F"), {}}
		if i%2 == 0 {
			want[0] = msg.Number(40)
		}
		if sexes[i] == "M" {
			want[1] = msg.Text("M")
		}
		if !slices.Equal(past.Rows[i].Aux, want) {
			t.Errorf("row %d: got %v, want %v", i, past.Rows[i].Aux, want)
		}
	}
	if d := cmp.Diff(map[string]int{"age": 2, "acuity": 5}, past.Counts.Implausible); d != "" {
		t.Error(d)
	}
}

// TestFirstNoteCounts: a corrected note may know the decision.
func TestFirstNoteCounts(t *testing.T) {
	t.Parallel()
	first, second := noteOf(1, 1), noteOf(1, 1, func(n *msg.Note) { n.Text = "admitted to the ward" })
	other := []retrain.Message{outcomeOf(1, 5, msg.Admitted)}
	_, past := collect(t, &memory{other, []retrain.Message{first, second}}, retrain.Settings{})
	if past.Rows[0].Text != "fell at home 1" {
		t.Error("the later note counts")
	}
	first.Recorded, second.Recorded = at(1), at(2)
	_, past = collect(t, &memory{other, []retrain.Message{second, first}}, retrain.Settings{})
	if past.Rows[0].Text != "fell at home 1" || past.Counts.Excluded[retrain.Superseded] != 1 {
		t.Error("the note that was recorded later counts")
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	m := &memory{
		[]retrain.Message{outcomeOf(2, 5, msg.Discharged), outcomeOf(1, 5, msg.Admitted)},
		[]retrain.Message{
			noteOf(2, 2, func(n *msg.Note) { n.PatientID, n.Age = "P2", msg.Optional{} }),
			noteOf(1, 1, func(n *msg.Note) { n.PatientID, n.Vitals.HR = "P1", msg.Some(99) }),
		},
	}
	aux := []train.Aux{{Name: "age", Kind: bundle.Numeric}, {Name: "sex", Kind: bundle.Categorical}, {
		Name: "vitals.hr", Kind: bundle.Numeric,
	}}
	_, past := collect(t, m, retrain.Settings{Aux: aux})
	want := []train.Row{
		{
			Patient: "P1", Visit: "v0001", Complaint: "Fall", Text: "fell at home 1", Arrived: at(1), Positive: true,
			Aux: []msg.Value{msg.Number(1), msg.Text("F"), msg.Number(99)},
		},
		{Patient: "P2", Visit: "v0002", Complaint: "Fall", Text: "fell at home 2", Arrived: at(2), Aux: []msg.Value{
			{}, msg.Text("F"), {},
		}},
	}
	if d := cmp.Diff(want, past.Rows, cmp.AllowUnexported(msg.Value{})); d != "" {
		t.Error(d)
	}
	if past.Counts.AsOf != at(5) || past.Counts.From != at(5).Add(-retrain.DefaultWindow) {
		t.Errorf("window %v to %v", past.Counts.From, past.Counts.AsOf)
	}
}

// TestCutOffIsTheNewestOutcome, but a typing error in a date does not move the window into the future.
func TestCutOffIsTheNewestOutcome(t *testing.T) {
	t.Parallel()
	outcomes := []retrain.Message{outcomeOf(1, 5, msg.Admitted), outcomeOf(2, 7, msg.Left), outcomeOf(3, 0, msg.Left,
		func(o *msg.Outcome) { o.DecidedAt = "2999-01-01T00:00:00Z" })}
	_, past := collect(t, &memory{outcomes, []retrain.Message{noteOf(1, 1), noteOf(2, 1)}}, retrain.Settings{})
	if past.Counts.AsOf != at(7) || past.Counts.OutcomesLater != 1 {
		t.Errorf("cut-off %v, %d later", past.Counts.AsOf, past.Counts.OutcomesLater)
	}
	untimed := outcomeOf(1, 0, msg.Left, func(o *msg.Outcome) { o.DecidedAt = "" })
	if _, err := retrain.Collect(t.Context(), &memory{[]retrain.Message{untimed}, nil},
		retrain.Settings{}); !errors.Is(err, retrain.ErrNoTime) {
		t.Errorf("got %v", err)
	}
	labels, _ := collect(t, &memory{[]retrain.Message{untimed}, []retrain.Message{noteOf(1, 1)}},
		retrain.Settings{AsOf: at(9)})
	if len(labels) != 1 {
		t.Error("an outcome without a time is not known")
	}
}

func TestNothing(t *testing.T) {
	t.Parallel()
	past, err := retrain.Collect(t.Context(), &memory{nil, []retrain.Message{noteOf(1, 1)}}, retrain.Settings{})
	few, ok := errors.AsType[*retrain.TooFewError](err)
	if !ok || few.MinDocuments != retrain.DefaultMinDocuments || few.MinEvents != retrain.DefaultMinEvents ||
		past.Counts.Excluded[retrain.Undecided] != 1 {
		t.Errorf("got %v with %+v", err, past)
	}
}

func TestTooFewEvents(t *testing.T) {
	t.Parallel()
	m := &memory{}
	for i := range 400 {
		d := msg.Discharged
		if i%10 == 0 {
			d = msg.Admitted
		}
		m.outcomes, m.notes = append(m.outcomes, outcomeOf(i, float64(i)+3, d)), append(m.notes, noteOf(i, float64(i)))
	}
	_, err := retrain.Collect(t.Context(), m, retrain.Settings{})
	few, ok := errors.AsType[*retrain.TooFewError](err)
	if !ok || few.Documents != 300 || few.Events != 30 || few.Others != 270 {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "300 with 30 admissions") ||
		!strings.Contains(err.Error(), "left out: 100 to judge by") {
		t.Error(err)
	}
	_, err = retrain.Collect(t.Context(), m, retrain.Settings{AsOf: at(-10)})
	if err == nil || !strings.HasSuffix(err.Error(), "Read were 400 notes and 400 outcomes from "+strings.Join(
		m.Names(), ", ")+", and the cut-off is "+at(-10).Format(time.RFC3339)+"; notes left out: 400 after_cut_off") {
		t.Error(err)
	}
	_, err = retrain.Collect(t.Context(), &memory{}, retrain.Settings{AsOf: at(9)})
	if err == nil || !strings.Contains(err.Error(), "Read were 0 notes and 0 outcomes") ||
		!strings.HasSuffix(err.Error(), "left out: none") {
		t.Error(err)
	}
	if _, err := retrain.Collect(t.Context(), m, retrain.Settings{MinEvents: 30}); err != nil {
		t.Error(err)
	}
}

func TestSettingsErrors(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]retrain.Settings{
		"window":          {Window: -time.Hour},
		"least":           {MinEvents: -1},
		"share":           {Judged: 1},
		"disposition":     {Admission: []msg.Disposition{"eaten"}},
		"all":             {Admission: msg.Dispositions()},
		`no field "beds"`: {Aux: []train.Aux{{Name: "beds"}}},
	} {
		if _, err := retrain.Collect(t.Context(), &memory{}, s); !errors.Is(err, retrain.ErrSettings) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

// TestSplitKeepsPatientsTogether judges on the latest quarter without the patients who are trained on.
func TestSplitKeepsPatientsTogether(t *testing.T) {
	t.Parallel()
	m := &memory{}
	const n = 400
	for i := range n {
		d := []msg.Disposition{msg.Admitted, msg.Discharged}[i%2]
		m.outcomes = append(m.outcomes, outcomeOf(i, float64(i)+3, d))
		// 50 come twice
		m.notes = append(m.notes, noteOf(i, float64(i), func(n *msg.Note) { n.PatientID = fmt.Sprintf("P%d", i%350) }))
	}
	_, past := collect(t, m, retrain.Settings{})
	want := retrain.SplitCounts{
		Cut: at(300), Train: 300, TrainEvents: 150, Judge: 50, JudgeEvents: 25, SeenInTrain: 50, PatientsKnown: true,
	}
	if d := cmp.Diff(want, past.Counts.Split); d != "" {
		t.Error(d)
	}
	trained := map[string]bool{}
	for _, i := range past.Split.Train {
		trained[past.Rows[i].Patient] = true
	}
	for _, i := range past.Split.Test {
		if trained[past.Rows[i].Patient] || past.Rows[i].Arrived.Before(at(300)) {
			t.Fatal("a patient is on both sides, or a judged note is early")
		}
	}
	c := past.Counts
	if c.Patients != 350 || c.RepeatPatients != 50 || c.RepeatVisits != 100 || c.UnknownPatient != 0 {
		t.Errorf("%+v", c)
	}
}

// TestRecurringTexts: the same note but for numbers, under other visits.
func TestRecurringTexts(t *testing.T) {
	t.Parallel()
	texts := []string{
		"78F fell down five stairs at home, pain in the left hip",
		"81f  FELL down five stairs at home; pain in the left hip!",
		"78F fell down four stairs at home, pain in the left hip", "fell", "fell",
	}
	m := &memory{}
	for i, text := range texts {
		m.outcomes = append(m.outcomes,
			outcomeOf(i, float64(i)+3, []msg.Disposition{msg.Admitted, msg.Discharged}[i%2]))
		m.notes = append(m.notes, noteOf(i, float64(i), func(n *msg.Note) { n.Text = text }))
	}
	_, past := collect(t, m, retrain.Settings{})
	if d := cmp.Diff(train.Recurring{Texts: 1, Notes: 2, Share: 2.0 / 3}, past.Counts.Recurring); d != "" {
		t.Error(d)
	}
	if !slices.ContainsFunc(past.Counts.Warnings(), func(w string) bool { return strings.Contains(w, "66.7%") }) {
		t.Errorf("no warning: %q", past.Counts.Warnings())
	}
}

// TestOrderDoesNotMatter shuffles messages of a hospital whose events have times of their own.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		m := &memory{}
		visits := rapid.IntRange(1, 30).Draw(r, "visits")
		for i := range visits {
			arrives := float64(rapid.IntRange(-20, 100).Draw(r, "arrival")) + float64(i)/100
			for e := range rapid.IntRange(0, 4).Draw(r, "events") {
				hours := arrives + float64(rapid.IntRange(0, 40).Draw(r, "delay")) + float64(e)/10 // no two are equal
				m.outcomes = append(m.outcomes,
					outcomeOf(i, arrives, rapid.SampledFrom(msg.Dispositions()).Draw(r, "disposition"),
						status(rapid.SampledFrom([]msg.OutcomeStatus{msg.Final, msg.Corrected, msg.Cancelled}).Draw(r,
							"status")), recordedAt(hours)))
			}
			for e := range rapid.IntRange(0, 3).Draw(r, "notes") {
				n := noteOf(i, arrives, func(n *msg.Note) { n.Text += strings.Repeat(" again", e) })
				n.Recorded = at(arrives + float64(e))
				m.notes = append(m.notes, n)
			}
		}
		s := retrain.Settings{AsOf: at(90), Window: 80 * time.Hour}
		labels, past := collect(t, m, s)
		m.outcomes, m.notes = rapid.Permutation(m.outcomes).Draw(r, "outcomes"),
			rapid.Permutation(m.notes).Draw(r, "notes")
		again, shuffled := collect(t, m, s)
		if d := cmp.Diff(labels, again); d != "" {
			r.Fatal(d)
		}
		if d := cmp.Diff(past.Rows, shuffled.Rows, cmp.AllowUnexported(msg.Value{})); d != "" {
			r.Fatal(d)
		}
		shuffled.Counts.OutcomesOvertaken = past.Counts.OutcomesOvertaken // it depends on the order
		if d := cmp.Diff(past.Counts, shuffled.Counts); d != "" {
			r.Fatal(d)
		}
	})
}
