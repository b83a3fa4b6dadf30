package bridge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
)

// TestAnyOrder joins the messages of a visit, each at a time of its own, in many orders, with repeats and restarts:
// what the notes and the outcomes of the visit say in the end is always the same.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 14)) //nolint:gosec // a seeded test
		all := randomVisit(r)
		note, outcome := end(t, r, all, false)
		for range 4 {
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			gotNote, gotOutcome := end(t, r, all, true)
			if gotNote != note || gotOutcome != outcome {
				for _, m := range all {
					t.Logf("%s %s class %s at %s: %s %q", m.kind, m.event, m.class, m.at, m.disposition, m.obx)
				}
				t.Fatalf("seed %d: ends as %q %q, in order of time as %q %q", seed, gotNote, gotOutcome, note, outcome)
			}
		}
	}
}

// randomVisit returns messages of one visit in the order of their times.
func randomVisit(r *rand.Rand) (all []message) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for i := range 3 + r.IntN(6) {
		m := message{event: pick("A04", "A08", "A08", "A01", "A03", "A06", "A11", "A13", "R01"), class: "E"}
		if i == 0 {
			m.event = "A04"
		}
		m.at, m.control = fmt.Sprint(i), fmt.Sprint(i)
		switch m.event {
		case "R01":
			m.kind = "ORU"
			m.obx = []string{"54094-8|text " + m.at}
		case "A01", "A06", "A11":
			m.class = "I"
		case "A03":
			m.disposition = pick("01", "02", "07", "09", "20", "99")
			m.class = pick("E", "E", "I")
		}
		if m.kind == "" && r.IntN(2) == 0 {
			m.obx = append(m.obx, pick(fall, "8661-1|hip pain", "8867-4|"+fmt.Sprint(60+i)+"|NM",
				"21612-7|"+fmt.Sprint(30+i)+"|NM|a",
				"8867-4|60|NM|/min|W", "54094-8|text|||D", "8661-1|W1^Fall|CE"))
		}
		all = append(all, m)
	}
	return all
}

// end joins messages and returns what the last note and the latest outcome say. With disturbances some messages come
// twice, and some after a restart.
func end(t *testing.T, r *rand.Rand, all []message, disturbed bool) (note, outcome string) {
	t.Helper()
	b := newBridge(t, nil)
	saved := map[string][]byte{}
	latest := ""
	// The last message shows what the note is by then: none if its text was taken back.
	probe := message{event: "A08", control: "probe", at: "99", obx: []string{"9279-1|99|NM"}}
	for i, m := range append(slices.Clone(all), probe) {
		_, reading, err := b.ReadHL7(m.bytes())
		if err != nil {
			t.Fatal(err)
		}
		note = ""
		for _, e := range b.Join(reading, now) {
			switch e.To {
			case bridge.Notes:
				var n msg.Note
				if err := msg.DecodeNote(e.Value, &n); err != nil {
					t.Fatal(err)
				}
				note = fmt.Sprint(n)
			case bridge.Outcomes:
				var o msg.Outcome
				if err := msg.DecodeOutcome(e.Value, &o); err != nil {
					t.Fatal(err)
				}
				if o.RecordedAt >= latest {
					latest = o.RecordedAt
					if outcome = ""; o.Status != msg.Cancelled {
						outcome = fmt.Sprint(o.Disposition, o.DecidedAt, o.Ward)
					}
				}
			case bridge.State:
				saved[e.Key] = e.Value
			case bridge.Identifiers:
			}
		}
		if disturbed && r.IntN(4) == 0 {
			b = newBridge(t, nil)
			for key, value := range saved {
				if err := b.Load(bridge.State, key, value); err != nil {
					t.Fatal(err)
				}
			}
		}
		if disturbed && r.IntN(4) == 0 && i > 0 {
			_, again, _ := b.ReadHL7(all[r.IntN(i)].bytes())
			for _, e := range b.Join(again, now) {
				if e.To == bridge.Notes || e.To == bridge.Outcomes {
					t.Errorf("a repeat causes %s", e.Value)
				}
			}
		}
	}
	return note, outcome
}
