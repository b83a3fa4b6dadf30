package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli/clitest"
)

const triageMessage = "MSH|^~\\&|A|B|C|D|20261120080000||ADT^A04^ADT_A01|1|P|2.5.1\n" +
	"PID|1||Zzmrn1^^^^MR||Zzname\nPV1|1|E|ED||||||||||||||||Zzvisit1|||||||||||||||||||||||||20261120080000\n" +
	"OBX|1|TX|54094-8||fell at home||||||F\nOBX|2|TX|8661-1||fall||||||F\nOBX|3|NM|11283-9||9||||||F\n"

func TestBridgeCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "bridge.key")
	succeed(t, "", "bridge", "keygen", "--out", key)
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v", info.Mode(), err)
	}
	fail(t, 1, []string{"bridge", "keygen", "--out", key}, "exists")
	config := clitest.File(t, "wardcast.yaml",
		"kafka: {brokers: [127.0.0.1:9]}\nbridge: {site: A, key_file: "+key+"}\n")
	message := clitest.File(t, "adt.hl7", triageMessage)
	check := func(args ...string) (checked struct {
		Kind, Answer, Reason, Place string
		Unused                      []string
		Events                      []struct {
			Topic, Key string
			Value      struct {
				Text  string
				Visit string `json:"visit_id"`
			}
		}
	},
	) {
		t.Helper()
		out := succeed(t, "", append([]string{"bridge", "check", "--output=json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &checked); err != nil || strings.Contains(strings.ToLower(out), "zz") {
			t.Errorf("prints %s: %v", out, err)
		}
		return checked
	}
	own := check("--message", message, "--config", config)
	if own.Kind != "ADT^A04" || own.Answer != "AA" || len(own.Events) != 1 || own.Events[0].Topic != "triage.notes" ||
		own.Events[0].Value.Text != "fell at home" || own.Events[0].Value.Visit != own.Events[0].Key ||
		len(own.Unused) != 1 || own.Unused[0] != "acuity" {
		t.Errorf("%+v", own)
	}
	if public := check("--message", message); len(public.Events) != 1 || public.Events[0].Key == own.Events[0].Key {
		t.Errorf("without a key of one's own: %+v", public)
	}
	other := strings.NewReplacer("54094-8", "TRIAGE", "|E|ED", "|EMER|ED").Replace(triageMessage)
	if got := succeed(t, other, "bridge", "check", "--message", "-"); !strings.Contains(got,
		"no note, which lacks: emergency, text; in no setting: PV1-2 EMER, OBX-3 TRIAGE\n") {
		t.Errorf("of another site: %s", got)
	}
	framed := clitest.File(t, "framed.hl7", "\x0b"+strings.Replace(triageMessage, "Zzvisit1", "", 1)+"\x1c\r")
	if got := check("--message", framed); got.Answer != "AE" || got.Reason != "missing_visit" || got.Place != "PV1-19" {
		t.Errorf("without a visit: %+v", got)
	}
	if got := check("--message", clitest.File(t, "fhir.json", `{"resourceType":"Bundle"}`)); got.Answer != "AE" {
		t.Errorf("JSON: %+v", got)
	}
	bundle := clitest.File(t, "bundle.json",
		`{"resourceType":"Bundle","type":"transaction","entry":[{"resource":{"resourceType":
		"Encounter","id":"Zzvisit1","status":"in-progress","class":{"code":"EMER"},"reasonCode":[{"text":"fall"}]}},{"resource":
		{"resourceType":"Observation","status":"final","code":{"coding":[{"code":"54094-8"}]},"valueString":"fell at home"}}]}`)
	if got := check("--message", bundle, "--config", config); got.Kind != "Bundle^transaction" ||
		len(got.Events) != 1 ||
		got.Events[0].Value.Text != "fell at home" || got.Events[0].Key != own.Events[0].Key {
		t.Errorf("a Bundle: %+v, want the visit of the message", got)
	}
	large := clitest.File(t, "large.hl7", triageMessage+strings.Repeat("x", 1<<20))
	if got := check("--message", large); got.Answer != "AE" || got.Reason != "too_large" {
		t.Errorf("a large message: %+v", got)
	}
	table := succeed(t, "", "bridge", "check", "--message", message, "--config", config)
	if !strings.HasPrefix(table, "ADT^A04 is answered AA; unusable: acuity\n") ||
		!strings.Contains(table, "triage.notes") {
		t.Errorf("the table is\n%s", table)
	}
	bare := clitest.File(t, "bare.yaml", "kafka: {brokers: [127.0.0.1:9]}\n")
	fail(t, 1, []string{"bridge", "check", "--message", message, "--config", bare}, "bridge.site", "bridge.key_file")
	fail(t, 1, []string{"bridge", "--config", bare}, "bridge.site", "keygen")
}
