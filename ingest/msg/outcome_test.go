package msg

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const contractOutcome = `{"schema_version":"1","visit_id":"V1","disposition":"admitted","ward":"ORTHO",` +
	`"decided_at":"2026-11-20T11:40:00Z"}`

func TestDecodeOutcome(t *testing.T) {
	t.Parallel()
	contract := Outcome{
		SchemaVersion: "1", VisitID: "V1", Disposition: Admitted, Status: Final, Ward: "ORTHO",
		DecidedAt: "2026-11-20T11:40:00Z",
	}
	cancelled := contract
	cancelled.Status, cancelled.RecordedAt = Cancelled, "2026-11-20T13:05:00Z"
	for name, c := range map[string]struct {
		data string
		want Outcome
	}{
		"contract": {contractOutcome, contract},
		"cancelled": {contractOutcome[:len(contractOutcome)-1] +
			`,"status":"cancelled","recorded_at":"2026-11-20T13:05:00Z"}`, cancelled},
		"unknown fields": {contractOutcome[:len(contractOutcome)-1] + `,"bed":[7],"status":null}`, contract},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Outcome{Status: "left over"}
			if err := DecodeOutcome([]byte(c.data), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			for _, problem := range validate(t, Schema("outcome"), got.AppendJSON(nil)) {
				t.Error(problem)
			}
		})
	}
}

func TestDecodeOutcomeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data string
		want Error
	}{
		"empty":          {"", Error{NotJSON, ""}},
		"no version":     {`{"visit_id":"v","disposition":"left"}`, Error{MissingField, "schema_version"}},
		"version 2":      {`{"schema_version":"2","visit_id":7}`, Error{UnknownSchemaVersion, "schema_version"}},
		"no visit":       {`{"schema_version":"1","disposition":"left"}`, Error{MissingField, "visit_id"}},
		"no disposition": {`{"schema_version":"1","visit_id":"v"}`, Error{MissingField, "disposition"}},
		"unknown disposition": {
			`{"schema_version":"1","visit_id":"v","disposition":"` + secret + `"}`, Error{WrongType, "disposition"},
		},
		"unknown status": {
			`{"schema_version":"1","visit_id":"v","disposition":"left","status":"` + secret + `"}`,
			Error{WrongType, "status"},
		},
		"a list": {
			`{"schema_version":"1","visit_id":"v","disposition":["left"]}`, Error{WrongType, "disposition"},
		},
		"endless ward": {`{"schema_version":"1","visit_id":"v","disposition":"left","ward":"` + strings.Repeat("W",
			MaxField+1) + `"}`, Error{TooLarge, "ward"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err, ok := errors.AsType[*Error](DecodeOutcome([]byte(c.data), new(Outcome)))
			if !ok || *err != c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	if err := DecodeOwnOutcome([]byte(`{"visit_id":"v","disposition":"left"}`), new(Outcome)); err != nil {
		t.Errorf("outside Kafka the version may be absent: %v", err)
	}
}

func TestOutcomeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := Outcome{
			SchemaVersion: "1", VisitID: "v" + rapid.String().Draw(t, "visit"),
			Disposition: rapid.SampledFrom(Dispositions()).Draw(t, "disposition"),
			Status:      rapid.SampledFrom([]OutcomeStatus{Final, Corrected, Cancelled}).Draw(t, "status"),
			Ward:        rapid.String().Draw(t, "ward"), DecidedAt: rapid.String().Draw(t, "decided"),
			RecordedAt: rapid.String().Draw(t, "recorded"),
		}
		data := want.AppendJSON(nil)
		var got Outcome
		if err := DecodeOutcome(data, &got); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if got != want {
			t.Fatal(cmp.Diff(want, got))
		}
		if reference := reencode(t, &want); string(data) != reference {
			t.Fatalf("got  %s\nwant %s", data, reference)
		}
	})
}

func FuzzDecodeOutcome(f *testing.F) {
	for _, s := range []string{contractOutcome, ``, `{}`, `null`, `{"schema_version":"1.3","visit_id":"v",` +
		`"disposition":"died","status":"corrected"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var o Outcome
		if err := DecodeOutcome(data, &o); err != nil {
			checkRefusal(t, data, err)
			return
		}
		if !json.Valid(data) {
			t.Fatal("accepted what is no JSON")
		}
		var again Outcome
		if err := DecodeOutcome(o.AppendJSON(nil), &again); err != nil || again != o {
			t.Error(err, cmp.Diff(o, again))
		}
	})
}

// TestPatientID: an identifier that scoring does not need never refuses a note.
func TestPatientID(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"P1"`: "P1", `12345678901234567890`: "12345678901234567890", `-1.50`: "-1.50", `null`: "", `[7]`: "",
		`{"id":"P1"}`: "", `true`: "", `"` + strings.Repeat("x", MaxField+1) + `"`: "",
	} {
		var n Note
		if err := DecodeNote([]byte(`{"schema_version":"1","visit_id":"v","text":"x","patient_id":`+value+`}`),
			&n); err != nil || n.PatientID != want {
			t.Errorf("%.40s: got %q, %v", value, n.PatientID, err)
		}
	}
	if err := DecodeNote([]byte(`{"schema_version":"1","visit_id":"v","text":"x","patient_id":01}`),
		new(Note)); err == nil {
		t.Error("01 is no JSON")
	}
}
