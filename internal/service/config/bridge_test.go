package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
)

func TestBridge(t *testing.T) {
	t.Parallel()
	const head = "kafka: {brokers: [127.0.0.1:9092]}\nbridge:\n"
	c, err := Load(write(t, head+`  site: A
  key_file: bridge.key
  emergency_classes: [ED OBS]
  acuity: {map: {Yellow: 3}}
  vitals: {hr: [PULSE]}
  dispositions: {"99": left, "03": ""}
  mllp: {idle: 30s, tls: {certificate: /c.pem, key: /k.pem, client_ca: /ca.pem}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := defaultBridge()
	want.Site, want.KeyFile, want.EmergencyClasses = "A", c.Bridge.KeyFile, []string{"ED OBS"}
	want.Acuity.Map["Yellow"], want.Vitals["hr"] = 3, []string{"PULSE"}
	want.Dispositions["99"], want.Dispositions["03"] = msg.Left, ""
	want.MLLP.Idle, want.MLLP.TLS = 30*time.Second, BridgeTLS{Certificate: "/c.pem", Key: "/k.pem", ClientCA: "/ca.pem"}
	if d := cmp.Diff(want, c.Bridge); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if !strings.HasSuffix(c.Bridge.KeyFile, "/bridge.key") || c.Bridge.Require() != nil {
		t.Errorf("key file %q, %v", c.Bridge.KeyFile, c.Bridge.Require())
	}
	err = (&Bridge{}).Require()
	if err == nil || !strings.Contains(err.Error(), "bridge.site") || !strings.Contains(err.Error(), "bridge keygen") {
		t.Errorf("Require = %v", err)
	}
	for line, fault := range map[string]string{
		"time_zone: Mars":                         "bridge.time_zone",
		"visit: PV1-20":                           `bridge.visit: "PV1-20" is not one of PV1-19, PID-18`,
		"note_codes: []":                          "bridge.note_codes: is empty",
		"complaint_codes: []":                     "bridge.complaint_codes: is empty",
		"acuity: {scale: XYZ}":                    "ESI, CTAS, MTS, ATS, KTAS",
		"acuity: {map: {Red: 6}}":                 "bridge.acuity.map.Red: 6 is not between 1 and 5",
		"vitals: {pulse: [x]}":                    "bridge.vitals.pulse: is not one of sbp",
		`dispositions: {"01": home}`:              `bridge.dispositions.01: "home" is not one of`,
		"mllp: {listen: here}":                    "bridge.mllp.listen",
		"fhir: {listen: here}":                    "bridge.fhir.listen",
		"fhir: {cds: {clients: {a: keys.json}}}":  "bridge.fhir.cds.address",
		"answers: {mllp: here}":                   "bridge.answers.mllp",
		"answers: {version: DSTU2}":               "R4, R4B, R5",
		"answers: {scale: permille}":              "percent, fraction",
		"answers: {tls: {ca: x}}":                 "bridge.answers.tls.enabled",
		"answers: {tls: {enabled: true, key: x}}": "bridge.answers.tls: needs both",
		"mllp: {tls: {certificate: x}}":           "bridge.mllp.tls: needs both",
		"mllp: {tls: {client_ca: x}}":             "bridge.mllp.tls: needs both",
		"mllp: {idle: 0s}":                        "bridge.mllp.idle",
		"mllp: {connections: 0}":                  "bridge.mllp.connections",
		"keep: 1m":                                "bridge.keep",
		"site: A":                                 "bridge.key_file: is empty",
		"key_file: bridge.key":                    "bridge.site: is empty",
		"note_codes: [8661-1]":                    `bridge.note_codes: "8661-1" is in bridge.complaint_codes too`,
		"vitals: {hr: [8480-6]}":                  `bridge.vitals.sbp: "8480-6" is in bridge.vitals.hr too`,
		"answers: {mllp: 127.0.0.1:2575}":         "bridge.answers.mllp: is bridge.mllp.listen",
		"topics: {raw: triage.notes}":             "bridge.topics.raw: must differ from kafka.topics.notes",
		"sites: A":                                `the nearest known key is "site"`,
		"topics: {state: \"\"}":                   "bridge.topics.state: is empty",
	} {
		if _, err := Load(write(t, head+"  "+line+"\n")); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", line, err, fault)
		}
	}
}
