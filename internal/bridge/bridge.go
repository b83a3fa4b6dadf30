package bridge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/config"
)

// Bridge knows the visits of a site. Its method ReadHL7 may be called at any time, the others by one caller at a time.
type Bridge struct {
	config config.Bridge
	key    Key
	zone   *time.Location

	noteCodes map[string]bool
	fields    map[string]string // by code: the name of the value that an observation is
	order     []string          // of those names
	levels    map[string]int    // of acuity, by name
	// dispositions are those of PV1-36, in lower case.
	dispositions map[string]msg.Disposition

	visits map[string]*visit
	merges map[string]string // the hashed number of a patient to the one that replaced it
	// aliases are what stands for a visit where only the id of its Encounter is known.
	aliases map[string]string
	known   map[string]identity // with KeepIdentifiers: of hashed numbers
}

// New returns a bridge that knows no visit. The configuration was checked.
func New(c config.Bridge, key Key) (*Bridge, error) {
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("finding bridge.time_zone: %w", err)
	}
	b := &Bridge{
		config: c, key: key, zone: zone, noteCodes: map[string]bool{}, fields: map[string]string{},
		levels: acuityLevels(c.Acuity.Scale, c.Acuity.Map), visits: map[string]*visit{}, merges: map[string]string{},
		aliases: map[string]string{}, known: map[string]identity{}, dispositions: map[string]msg.Disposition{},
	}
	for written, d := range c.Dispositions {
		b.dispositions[strings.ToLower(written)] = d
	}
	add := func(name string, codes ...string) {
		b.order = append(b.order, name)
		for _, code := range codes {
			b.fields[code] = name
		}
	}
	add(textField, c.NoteCodes...)
	add(complaintField, c.ComplaintCodes...)
	add("age", c.AgeCodes...)
	add("acuity", c.Acuity.Code)
	for _, name := range msg.VitalNames() {
		add(vitalsPrefix+name, c.Vitals[name]...)
	}
	delete(b.fields, "") // an observation without a code
	for _, code := range c.NoteCodes {
		b.noteCodes[code] = code != ""
	}
	return b, nil
}

// KeyID names the key of the hashes.
func (b *Bridge) KeyID() string { return b.key.ID() }

// To is the KafkaTopic of an event.
type To int

// The topics.
const (
	Notes To = iota
	Outcomes
	State
	Identifiers
)

// Event is a message to be written. Those to State follow from the others: they are written last.
type Event struct {
	To    To
	Key   string
	Value []byte // nil deletes the key
	// ID and Type are those of a CloudEvent, "" for State and Identifiers. Time is the time of the message.
	ID, Type string
	Time     time.Time
}

// visit is what is known of a visit: the value of its key in the topic of states.
type visit struct {
	Emergency  bool              `json:"emergency,omitzero"`  // some message had the class of an emergency
	Registered bool              `json:"registered,omitzero"` // it began as one
	Alias      string            `json:"alias,omitzero"`
	Patient    string            `json:"patient,omitzero"`
	PatientAt  int64             `json:"patient_at,omitzero"`
	Values     map[string][]held `json:"values,omitempty"` // by name, the latest of each rank, the highest rank first
	Gone       map[string]int64  `json:"gone,omitempty"`   // by name, when the sender took back what it had sent
	Steps      []step            `json:"steps,omitempty"`  // in the order in which they came
	Said       *said             `json:"said,omitzero"`
	Note       string            `json:"note,omitzero"` // digest of the last note
	Events     int               `json:"events,omitzero"`
	Seen       []string          `json:"seen,omitempty"` // digests of messages that changed something, the last ones
	First      int64             `json:"first"`          // when the first message came, and the last one
	Last       int64             `json:"last"`

	predicted *prediction // the latest, for cards
}

func newVisit() *visit { return &visit{Values: map[string][]held{}, Gone: map[string]int64{}} }

// held is a value with the time of its message.
type held struct {
	At     int64   `json:"at"`
	Text   string  `json:"text,omitzero"`
	Number float64 `json:"number,omitzero"`
	Rank   int     `json:"rank,omitzero"`
}

// said is the last outcome that was written.
type said struct {
	Disposition msg.Disposition   `json:"disposition"`
	Status      msg.OutcomeStatus `json:"status"`
	Ward        string            `json:"ward,omitzero"`
	Decided     int64             `json:"decided"`
	Recorded    int64             `json:"recorded"`
}

// noTime is the Unix time of a time that is not known.
var noTime = time.Time{}.Unix()

// Bounds of what is kept of a visit.
const (
	maxSeen  = 16
	maxSteps = 64
)

// Join adds a reading to its visit, at the time now, and returns the events that follow.
func (b *Bridge) Join(r Reading, now time.Time) (all []Event) {
	if r.Ignored {
		return nil
	}
	all = b.identify(r)
	if r.merged != "" {
		all = append(all, b.merge(r)...)
		for _, more := range r.also {
			all = append(all, b.Join(more, now)...)
		}
		return all
	}
	if to := b.aliases[r.visit]; to != "" {
		r.visit = to
	}
	if s := r.step; s != nil && s.At == noTime {
		s.At, s.Decided = now.Unix(), now.Unix()
	}
	if r.at.IsZero() || r.at.After(now) { // a clock that is fast must not keep out what comes later
		r.at = now
	}
	v := b.visits[r.visit]
	if v == nil {
		v = newVisit()
		v.First = now.Unix()
		// Unless the sender says it. It is not the time of this clock: the message may come again, and is the same.
		v.take(value{
			name: arrivedField, text: r.at.UTC().Format(time.RFC3339), rank: rankDerived,
		}, r.at.Unix())
	}
	if slices.Contains(v.Seen, r.digest) {
		return all
	}
	changed := v.add(r, now)
	if r.alias != v.Alias && r.alias != "" {
		changed = true
		v.Alias, b.aliases[r.alias] = r.alias, r.visit
		if before := b.visits[r.alias]; before != nil {
			v.absorb(before)
			delete(b.visits, r.alias)
			all = append(all, Event{To: State, Key: r.alias, Time: r.at})
		}
	}
	if note := b.note(r, v); note != nil {
		all = append(all, *note)
	}
	if outcome := b.outcome(r, v); outcome != nil {
		all = append(all, *outcome)
	}
	if !changed {
		return all
	}
	b.visits[r.visit] = v
	v.Last = now.Unix()
	v.Seen = append(v.Seen, r.digest)
	v.Seen = v.Seen[max(0, len(v.Seen)-maxSeen):]
	return append(all, Event{To: State, Key: r.visit, Value: encode(v), Time: r.at})
}

// encode returns a value as JSON.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}") // no type of this package can fail
	}
	return data
}

// absorb adds what came before the number of the visit was known.
func (v *visit) absorb(before *visit) {
	for name, all := range before.Values {
		for _, h := range all {
			v.take(value{name: name, text: h.Text, number: msg.Some(h.Number), rank: h.Rank}, h.At)
		}
	}
	for name, at := range before.Gone {
		v.take(value{name: name, gone: true}, at)
	}
	v.Steps = append(v.Steps, before.Steps...)
	v.Steps = v.Steps[max(0, len(v.Steps)-maxSteps):]
	v.First = min(v.First, before.First)
}

// add adds what a reading reports and reports whether it is new.
func (v *visit) add(r Reading, now time.Time) (changed bool) {
	at := r.at.Unix()
	if r.emergency && !v.Emergency {
		v.Emergency, changed = true, true
	}
	if r.registers && !v.Registered {
		v.Registered, changed = true, true
	}
	switch {
	case r.patient == "" || r.patient == v.Patient:
	case r.weak && v.Patient == "":
		v.Patient, changed = r.patient, true
	case !r.weak && at >= v.PatientAt:
		v.Patient, v.PatientAt, changed = r.patient, at, true
	}
	for _, value := range r.values {
		if value.at.IsZero() || value.at.After(now) {
			value.at = r.at
		}
		changed = v.take(value, value.at.Unix()) || changed
	}
	if s := r.step; s != nil && !slices.Contains(v.Steps, *s) {
		v.Steps = append(v.Steps, *s)
		v.Steps = v.Steps[max(0, len(v.Steps)-maxSteps):]
		changed = true
	}
	return changed
}

// take takes up a value of a message of this time and reports whether something changes. In which order values come
// makes no difference, but for those of the same time, of which the last one counts.
func (v *visit) take(value value, at int64) (changed bool) {
	gone, wasGone := v.Gone[value.name]
	all := v.Values[value.name]
	if value.gone {
		left := slices.DeleteFunc(slices.Clone(all), func(h held) bool { return h.At <= at })
		changed = len(left) < len(all) || !wasGone || at > gone
		v.Values[value.name], v.Gone[value.name] = left, max(at, gone)
		if !wasGone {
			v.Gone[value.name] = at
		}
		return changed
	}
	if wasGone && at < gone {
		return false
	}
	h := held{At: at, Text: value.text, Number: value.number.Value, Rank: value.rank}
	i, is := slices.BinarySearchFunc(all, h.Rank, func(h held, rank int) int { return rank - h.Rank })
	switch {
	case !is:
		v.Values[value.name] = slices.Insert(all, i, h)
	case all[i].At > at || all[i] == h:
		return false
	default:
		all[i] = h
	}
	return true
}

// value returns what is known of a name: the latest of the highest rank.
func (v *visit) value(name string) (h held, ok bool) {
	if all := v.Values[name]; len(all) > 0 {
		return all[0], true
	}
	return held{}, false
}

// note returns the note of a visit if it is whole and has changed.
func (b *Bridge) note(r Reading, v *visit) *Event {
	if !v.Emergency {
		return nil
	}
	n := msg.Note{VisitID: r.visit, Site: b.config.Site}
	for name := range v.Values {
		h, known := v.value(name)
		if !known {
			continue
		}
		switch name {
		case textField:
			n.Text = h.Text
		case complaintField:
			n.Complaint = h.Text
		case arrivedField:
			n.ArrivedAt = h.Text
		default:
			if word := n.Word(name); word != nil {
				*word = h.Text
			} else if number := n.Number(name); number != nil {
				*number = msg.Some(h.Number)
			}
		}
	}
	if n.Text == "" || n.Complaint == "" {
		return nil
	}
	// Arrival and patient identify the visit; that they are corrected changes no prediction.
	bare := n
	bare.ArrivedAt = ""
	sum := sha256.Sum256(bare.AppendJSON(nil))
	digest := hex.EncodeToString(sum[:8])
	if digest == v.Note {
		return nil
	}
	v.Note = digest
	n.PatientID = b.current(v.Patient)
	return v.event(Notes, r, n.AppendJSON(nil))
}

// event returns an event of a visit. Its identifier follows from its bytes and from the number of events before it: the
// same after a restart that lost the state of an unacknowledged message, and another one for a value that returns.
func (v *visit) event(to To, r Reading, value []byte) *Event {
	v.Events++
	typ := msg.TypeNote
	if to == Outcomes {
		typ = msg.TypeOutcome
	}
	id := msg.AppendEventID(nil, value, typ, fmt.Sprint(v.Events))
	return &Event{To: to, Key: r.visit, Value: value, ID: string(id), Type: typ, Time: r.at}
}

// outcome returns the outcome of a visit if it has changed.
func (b *Bridge) outcome(r Reading, v *visit) *Event {
	if !v.Emergency {
		return nil
	}
	now := v.standing()
	stands := v.Said != nil && v.Said.Status != msg.Cancelled
	o := said{Status: msg.Final}
	switch {
	case now == nil && !stands:
		return nil
	case now == nil: // taken back
		o = *v.Said
		o.Status = msg.Cancelled
	default:
		o.Disposition, o.Ward, o.Decided = now.Disposition, now.Ward, now.Decided
		if stands {
			if v.Said.Disposition == o.Disposition && v.Said.Ward == o.Ward && v.Said.Decided == o.Decided {
				return nil
			}
			o.Status = msg.Corrected
		}
	}
	if now != nil {
		o.Recorded = now.At
	}
	if r.step != nil {
		o.Recorded = max(o.Recorded, r.step.At)
	}
	if v.Said != nil {
		o.Recorded = max(o.Recorded, v.Said.Recorded) // the latest one counts
	}
	v.Said = &o
	at := func(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }
	out := msg.Outcome{
		VisitID: r.visit, Disposition: o.Disposition, Status: o.Status, Ward: o.Ward, DecidedAt: at(o.Decided),
		RecordedAt: at(o.Recorded),
	}
	return v.event(Outcomes, r, out.AppendJSON(nil))
}

// standing returns the step that decides the outcome: the latest that is not cancelled, nil if there is none.
func (v *visit) standing() *step {
	ordered := slices.Clone(v.Steps)
	slices.SortStableFunc(ordered, func(a, b step) int { return int(max(-1, min(1, a.At-b.At))) })
	var left []step
	for _, s := range ordered {
		switch s.Kind {
		case admits, ends:
			if !s.Registered || v.Registered {
				left = append(left, s)
			}
		case cancelsAdmit:
			left = slices.DeleteFunc(left, func(l step) bool { return l.Kind == admits })
		case cancelsEnd:
			left = slices.DeleteFunc(left, func(l step) bool { return l.Kind == ends })
		}
	}
	if len(left) == 0 {
		return nil
	}
	return &left[len(left)-1]
}

// merge records that a patient's number replaces another one.
func (b *Bridge) merge(r Reading) []Event {
	if b.merges[r.merged] == r.patient || r.merged == r.patient {
		return nil
	}
	events := []Event{{To: State, Key: r.merged, Value: encode(merge{r.patient}), Time: r.at}}
	for at := r.patient; at != ""; at = b.merges[at] {
		if b.merges[at] == r.merged { // they were merged the other way round before: the later merge holds
			delete(b.merges, r.patient)
			events = append(events, Event{To: State, Key: r.patient, Time: r.at})
			break
		}
	}
	b.merges[r.merged] = r.patient
	return events
}

// merge is the value of the key of a replaced number in the topic of states.
type merge struct {
	Into string `json:"into"`
}

// current returns the number of a patient after all merges.
func (b *Bridge) current(patient string) string {
	for range len(b.merges) { // which have no circle
		into, merged := b.merges[patient]
		if !merged {
			break
		}
		patient = into
	}
	return patient
}

// identify returns the events that keep the numbers of a reading.
func (b *Bridge) identify(r Reading) (events []Event) {
	if !b.config.KeepIdentifiers {
		return nil
	}
	for i, hashed := range []string{r.visit, r.patient} {
		before := b.known[hashed]
		now := identity{r.numbers[i], cmp.Or(r.references[i], before.Reference)}
		if now.Number != "" && now != before {
			b.known[hashed] = now
			events = append(events, Event{To: Identifiers, Key: hashed, Value: encode(now), Time: r.at})
		}
	}
	return events
}

// identity is the value of a key in the topic of identifiers.
type identity struct {
	Number    string `json:"number"`
	Reference string `json:"reference,omitzero"` // in FHIR
}

// Load takes up a record of the topics State or Identifiers, oldest first. A nil value deletes.
func (b *Bridge) Load(to To, key string, value []byte) error {
	var err error
	switch {
	case to == Identifiers:
		var known identity
		if delete(b.known, key); len(value) > 0 {
			err = json.Unmarshal(value, &known)
			b.known[key] = known
		}
	case strings.HasPrefix(key, patientPrefix):
		var m merge
		if delete(b.merges, key); len(value) > 0 {
			err = json.Unmarshal(value, &m)
			b.merges[key] = m.Into
		}
	case strings.HasPrefix(key, visitPrefix):
		if delete(b.visits, key); len(value) > 0 {
			v := newVisit()
			err = json.Unmarshal(value, v)
			b.visits[key] = v
			if v.Alias != "" {
				b.aliases[v.Alias] = key
			}
		}
	}
	if err != nil {
		return fmt.Errorf("reading what was joined: %T", err) // its text may quote the record
	}
	return nil
}

// Expire forgets the visits without a message for Keep, and the numbers of visits and patients that are of none of the
// others, and returns the events that delete them.
func (b *Bridge) Expire(now time.Time) (events []Event) {
	left := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(b.visits)) {
		v := b.visits[key]
		if now.Sub(time.Unix(max(v.Last, v.First), 0)) < b.config.Keep {
			left[key], left[b.current(v.Patient)] = true, true
			continue
		}
		delete(b.aliases, v.Alias)
		delete(b.visits, key)
		events = append(events, Event{To: State, Key: key, Time: now})
	}
	for _, key := range slices.Sorted(maps.Keys(b.known)) {
		if !left[key] {
			delete(b.known, key)
			events = append(events, Event{To: Identifiers, Key: key, Time: now})
		}
	}
	return events
}
