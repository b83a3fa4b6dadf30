package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/config"
)

// TestHospital: both ways of sending a visit are the same note and the same outcome to the bridge.
func TestHospital(t *testing.T) {
	t.Parallel()
	g, err := synth.New(synth.Settings{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Bridge.Site = "A"
	h := &hospital{config: &cfg.Bridge, key: bridge.PublicKey()}
	department := newDepartment(7, 1)
	for i := range 20 {
		n := g.At(i)
		n.Site = "A"
		department.arrive(g, i, &n.Note)
		o := department.due[0].outcome
		department.due = nil
		arrives := &msg.Outcome{VisitID: n.VisitID}
		want := n.Note
		want.SchemaVersion, want.VisitID = "1", h.visit(n.VisitID)
		ways := map[string]func(b *bridge.Bridge, n *msg.Note, o *msg.Outcome) ([]bridge.Reading, error){
			"HL7 v2": func(b *bridge.Bridge, n *msg.Note, o *msg.Outcome) ([]bridge.Reading, error) {
				_, r, err := b.ReadHL7(h.adt("1", n, o))
				return []bridge.Reading{r}, err
			},
			"FHIR": func(b *bridge.Bridge, n *msg.Note, o *msg.Outcome) ([]bridge.Reading, error) {
				read, err := b.ReadBundle(h.bundle(n, o))
				return read.Readings, err
			},
		}
		for way, read := range ways {
			b, err := bridge.New(cfg.Bridge, bridge.PublicKey())
			if err != nil {
				t.Fatal(err)
			}
			var note msg.Note
			var outcome msg.Outcome
			for _, sent := range []struct {
				n *msg.Note
				o *msg.Outcome
			}{{&n.Note, arrives}, {&msg.Note{}, &o}} {
				readings, err := read(b, sent.n, sent.o)
				if err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				for _, r := range readings {
					for _, e := range b.Join(r, time.Now().Add(24*time.Hour)) {
						switch e.To {
						case bridge.Notes:
							err = msg.DecodeNote(e.Value, &note)
						case bridge.Outcomes:
							err = msg.DecodeOutcome(e.Value, &outcome)
						}
						if err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			want.PatientID = note.PatientID
			if d := cmp.Diff(want, note, cmp.AllowUnexported(msg.Value{})); d != "" || note.PatientID == "" {
				t.Errorf("%s (-want +got):\n%s", way, d)
			}
			if outcome.Disposition != o.Disposition || outcome.DecidedAt != o.DecidedAt {
				t.Errorf("%s: %+v, want %+v", way, outcome, o)
			}
		}
	}
}
