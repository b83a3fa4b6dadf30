package bridge_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/goldentest"
	"github.com/wardcast/wardcast/internal/service/config"
)

func TestKeepIdentifiers(t *testing.T) {
	t.Parallel()
	keep := func(c *config.Bridge) { c.KeepIdentifiers = true }
	b := newBridge(t, keep)
	data := message{event: "A04", obx: []string{fell, fall}}.bytes()
	_, r, err := b.ReadHL7(data)
	if err != nil {
		t.Fatal(err)
	}
	restored := newBridge(t, keep)
	got := map[string]string{}
	visit := ""
	for _, e := range b.Join(r, now) {
		if e.To == bridge.Notes {
			visit = e.Key
		} else if err := restored.Load(e.To, e.Key, e.Value); err != nil {
			t.Fatal(err)
		}
		if e.To == bridge.Identifiers {
			got[e.Key[:2]] = string(e.Value)
		}
	}
	if d := cmp.Diff(map[string]string{"v-": `{"number":"V1"}`, "p-": `{"number":"M1"}`}, got); d != "" {
		t.Errorf("identifiers (-want +got):\n%s", d)
	}
	value := fmt.Appendf(nil, `{"visit_id":%q,"scored_at":"2026-11-20T08:15:02Z","probability":0.5}`, visit)
	oru, _, err := restored.ORU(value, "1", now)
	if err != nil || !strings.Contains(string(oru), "|M1^^^A^MR|") || !strings.Contains(string(oru), "|V1\r") {
		t.Errorf("the answer lacks the numbers: %q, %v", oru, err)
	}
	// A visit that is forgotten takes its numbers with it, but not those of a patient who is here again.
	again := message{event: "A04", control: "2", visit: "V2"}.bytes()
	if _, r, err = restored.ReadHL7(again); err != nil {
		t.Fatal(err)
	}
	restored.Join(r, now.Add(30*24*time.Hour))
	deleted := 0
	for _, e := range restored.Expire(now.Add(31 * 24 * time.Hour)) {
		if e.Value != nil || e.To == bridge.State && e.Key != visit {
			t.Errorf("%+v does not delete the visit", e)
		}
		deleted++
	}
	if _, _, err := restored.ORU(value, "1", now); deleted != 2 || !errors.Is(err, bridge.ErrUnknownVisit) {
		t.Errorf("%d keys are deleted, and the answer is %v", deleted, err)
	}
	if left := restored.Expire(now.Add(61 * 24 * time.Hour)); len(left) != 3 {
		t.Errorf("%d keys are deleted with the patient's last visit, want 3", len(left))
	}
	account := newBridge(t, func(c *config.Bridge) { keep(c); c.Visit = "PID-18" })
	_, _, events := join(t, account, message{
		event: "A04", pid: map[int]string{18: "ACC1"}, pv1: map[int]string{19: "other"}, obx: []string{fell, fall},
	}.bytes())
	oru, _, err = account.ORU(fmt.Appendf(nil, `{"visit_id":%q}`, events[0].Key), "1", now)
	if m, _ := hl7.Parse(oru); err != nil || m.First("PID").Field(18).String() != "ACC1" ||
		!m.First("PV1").Field(19).Empty() {
		t.Errorf("the answer of a visit by its account is %q, %v", oru, err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "bridge.key")
	if err := bridge.NewKeyFile(name); err != nil {
		t.Fatal(err)
	}
	if err := bridge.NewKeyFile(name); !errors.Is(err, os.ErrExist) {
		t.Errorf("an existing key is overwritten: %v", err)
	}
	key, err := bridge.ReadKey(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil || len(data) != 65 {
		t.Errorf("a key file of %d bytes, %v", len(data), err)
	}
	if len(key.ID()) != 8 || key.ID() == bridge.PublicKey().ID() {
		t.Errorf("ID %s", key.ID())
	}
	for _, wrong := range []string{"", "xyz", strings.Repeat("a", 62)} {
		if err := os.WriteFile(name, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bridge.ReadKey(name); err == nil || strings.Contains(err.Error(), "aaa") {
			t.Errorf("a key file of %q: %v", wrong, err)
		}
	}
	if _, err := bridge.ReadKey(name + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no key file: %v", err)
	}
}

func TestIdentifiersStay(t *testing.T) {
	t.Parallel()
	m := message{event: "A04", visit: "Zzvisit1", patient: "Zzmrn1^^^H^MR", obx: []string{fell, fall}}
	m.pid, m.pv1 = map[int]string{}, map[int]string{}
	for n := 2; n < 40; n++ {
		if n != 3 && n != 7 && n != 8 {
			m.pid[n] = fmt.Sprintf("Zzpid%d^Zzname", n)
		}
		if n != 2 && n != 19 {
			m.pv1[n] = fmt.Sprintf("Zzpv1-%d^Zzdoctor", n)
		}
	}
	delete(m.pv1, 3)
	m.more = []string{"NK1|1|Zzrelative\r", "IN1|1|Zzinsured\r", "ZZZ|Zzsite\r"}
	b := newBridge(t, nil)
	_, r, err := b.ReadHL7(m.bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range b.Join(r, now) {
		if text := strings.ToLower(fmt.Sprintf("%+v %s", e, e.Value)); strings.Contains(text, "zz") {
			t.Errorf("an identifier leaves the bridge: %s", text)
		}
	}
}

func TestORU(t *testing.T) {
	t.Parallel()
	b := newBridge(t, nil)
	_, _, events := join(t, b, message{event: "A04", obx: []string{fell, fall}}.bytes())
	value := func(more string) []byte {
		return fmt.Appendf(nil, `{"visit_id":%q,"scored_at":"2026-11-20T08:15:02.000Z","probability":0.8312,`+
			`"model":{"name":"fall","version":"2026-11-20T02-00-00Z-3f9c1a"},"evidence":[`+
			`{"start":0,"end":4,"text":"unable to wt bear | x","status":"affirmed","contribution":0.71,"terms":[]},`+
			`{"start":5,"end":6,"status":"affirmed","contribution":0.7,"terms":[]},`+
			`{"start":7,"end":9,"text":"walks","status":"affirmed","contribution":-0.2,"terms":[]},`+
			`{"contribution":-0.08}]%s}`,
			events[0].Key, more)
	}
	const id = "0123456789abcdef0123456789abcdef"
	for name, more := range map[string]string{
		"oru": "", "oru-abstained": `,"abstained":true,"abstain_reason":"no_known_term"`,
		"oru-classes": `,"admission_probability":0.25`,
	} {
		got, control, err := b.ORU(value(more), id, now)
		if err != nil || control != id[:20] {
			t.Fatalf("ORU: %s, %v", control, err)
		}
		if m, err := hl7.Parse(got); err != nil || m.Header.Control != control {
			t.Errorf("the answer cannot be read: %v", err)
		}
		goldentest.Equal(t, "testdata/answers/"+name+".golden.hl7", []byte(strings.ReplaceAll(string(got), "\r", "\n")))
	}
	fraction := newBridge(t, func(c *config.Bridge) { c.Answers.Scale = "fraction" })
	join(t, fraction, message{event: "A04", obx: []string{fell, fall}}.bytes())
	if got, _, err := fraction.ORU(value(""), id, now); err != nil ||
		!strings.Contains(string(got), "||0.831|1^ratio^UCUM|") {
		t.Errorf("as a fraction: %q, %v", got, err)
	}
	if _, _, err := b.ORU([]byte("{"), id, now); err == nil {
		t.Error("half a prediction is answered")
	}
	if _, _, err := b.ORU([]byte(`{"visit_id":"v-1"}`), id, now); !errors.Is(err, bridge.ErrUnknownVisit) {
		t.Errorf("a prediction of another site: %v", err)
	}
}
