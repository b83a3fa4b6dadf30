package config

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
)

// Bridge says how messages of hospitals become notes and outcomes, and where predictions go (docs/interfaces.md).
type Bridge struct {
	Site     string `yaml:"site"`                   // in notes, and in the hash of identifiers
	KeyFile  string `yaml:"key_file" file:"secret"` // of `wardcast bridge keygen`
	TimeZone string `yaml:"time_zone"`              // of times without an offset
	Visit    string `yaml:"visit"`                  // the field that names a visit: one of VisitFields
	// EmergencyClasses are the values of PV1-2 of emergency visits; others are left out. Empty: all are emergency
	// visits.
	EmergencyClasses []string `yaml:"emergency_classes"`
	// A01Registers says that an A01 of an emergency class begins a visit. It means an admission only after an A04.
	A01Registers   bool     `yaml:"a01_registers"`
	NoteCodes      []string `yaml:"note_codes"`      // of a note's text, in OBX-3, OBR-4 or TXA-2
	ComplaintCodes []string `yaml:"complaint_codes"` // in OBX-3
	AgeCodes       []string `yaml:"age_codes"`
	Acuity         Acuity   `yaml:"acuity"`
	// Vitals are the codes of each vital sign (msg.VitalNames). Those of a name in the file replace its defaults.
	Vitals map[string][]string `yaml:"vitals"`
	// Dispositions are those of PV1-36. The file adds to the defaults; "" takes one away.
	Dispositions    map[string]msg.Disposition `yaml:"dispositions"`
	Topics          BridgeTopics               `yaml:"topics"`
	Keep            time.Duration              `yaml:"keep"` // of a visit after its last message
	MLLP            MLLP                       `yaml:"mllp"`
	FHIR            FHIR                       `yaml:"fhir"`
	Answers         Answers                    `yaml:"answers"`
	KeepIdentifiers bool                       `yaml:"keep_identifiers"` // in a topic, for answers
}

// Acuity says how levels of triage are written.
type Acuity struct {
	Code  string         `yaml:"code"`  // in OBX-3
	Scale string         `yaml:"scale"` // whose names are levels, "" for numbers alone: one of AcuityScales
	Map   map[string]int `yaml:"map"`   // a code or text of the site to its level, 1 to 5
}

// BridgeTopics names the KafkaTopics that only the bridge writes.
type BridgeTopics struct {
	DeadLetters string `yaml:"dead_letters"`
	Raw         string `yaml:"raw"`         // messages that were refused: they identify patients
	State       string `yaml:"state"`       // compacted: what was joined of each visit
	Identifiers string `yaml:"identifiers"` // compacted, with keep_identifiers
}

// MLLP says where HL7 v2 messages come in.
type MLLP struct {
	Listen      string        `yaml:"listen"` // "" is off
	TLS         BridgeTLS     `yaml:"tls"`
	Idle        time.Duration `yaml:"idle"` // after which a silent connection is closed
	Connections int           `yaml:"connections"`
}

// BridgeTLS holds PEM files. With an authority, clients must have a certificate of it.
type BridgeTLS struct {
	Certificate string `yaml:"certificate" file:"certificate"`
	Key         string `yaml:"key" file:"secret"`
	ClientCA    string `yaml:"client_ca" file:"certificate"`
}

// FHIR says where FHIR, CDS Hooks, metrics and health are served, and how FHIR servers are asked.
type FHIR struct {
	Listen    string    `yaml:"listen"` // "" is off
	TLS       BridgeTLS `yaml:"tls"`
	TokenFile string    `yaml:"token_file" file:"secret"` // a token that all but requests for health need; "" for none
	Server    string    `yaml:"server"`                   // base URL of what notifications only name; "" for none
	CA        string    `yaml:"ca" file:"certificate"`    // to trust when servers are asked; "" trusts the system's
	SMART     SMART     `yaml:"smart"`                    // at bridge.fhir.server and bridge.answers.fhir
	Page      string    `yaml:"page"`                     // address of the pages, in cards
	CDS       CDS       `yaml:"cds"`
}

// CDS says whose calls of CDS Hooks are answered. Without clients those of all who may send FHIR are.
type CDS struct {
	Address string            `yaml:"address"`              // of the service as clients call it: the audience of tokens
	Clients map[string]string `yaml:"clients" file:"other"` // issuer of tokens to its JSON Web Key Set, a file or a URL
}

// SMART is a login by SMART Backend Services. Without a client ID there is none.
type SMART struct {
	ClientID string `yaml:"client_id"`
	Key      string `yaml:"key" file:"secret"` // PEM file
	KeyID    string `yaml:"key_id"`            // kid
	TokenURL string `yaml:"token_url"`         // "" asks the server
	Scope    string `yaml:"scope"`
}

// Answers say where predictions go.
type Answers struct {
	MLLP    string     `yaml:"mllp"` // host:port that takes ORU^R01; "" is off
	TLS     AnswersTLS `yaml:"tls"`
	FHIR    string     `yaml:"fhir"`    // base URL that takes RiskAssessment; "" is off
	Topic   string     `yaml:"topic"`   // KafkaTopic that takes RiskAssessment; "" is off
	Version string     `yaml:"version"` // of FHIR: one of FHIRVersions
	Scale   string     `yaml:"scale"`   // of probabilities: percent or fraction
}

// AnswersTLS encrypts answers by MLLP.
type AnswersTLS struct {
	Enabled     bool   `yaml:"enabled"`
	CA          string `yaml:"ca" file:"certificate"`          // to trust; "" trusts the system's
	Certificate string `yaml:"certificate" file:"certificate"` // of this client, with its key; "" for none
	Key         string `yaml:"key" file:"secret"`
}

// VisitFields returns the fields that may name a visit.
func VisitFields() []string { return []string{"PV1-19", "PID-18"} }

// AcuityScales returns the scales of triage whose names are known.
func AcuityScales() []string { return []string{"ESI", "CTAS", "MTS", "ATS", "KTAS"} }

// FHIRVersions returns the versions of FHIR in which predictions are written.
func FHIRVersions() []string { return []string{"R4", "R4B", "R5"} }

// defaultBridge returns the defaults, by the codes of LOINC that emergency departments in the US send, and the codes of
// PV1-36 in table 0112 as they use it.
func defaultBridge() Bridge {
	b := Bridge{
		TimeZone: "UTC", Visit: "PV1-19", EmergencyClasses: []string{"E"}, NoteCodes: []string{"54094-8"},
		ComplaintCodes: []string{"8661-1"}, AgeCodes: []string{"21612-7"},
		Acuity: Acuity{Code: "11283-9", Map: map[string]int{}},
		Vitals: map[string][]string{
			"sbp": {"8480-6"}, "dbp": {"8462-4"}, "hr": {"8867-4"}, "rr": {"9279-1"},
			"temp_c": {"11289-6", "8310-5"}, "spo2": {"59408-5", "2708-6"},
		},
		Dispositions: map[string]msg.Disposition{},
		Topics: BridgeTopics{
			DeadLetters: "triage.bridge.dlq", Raw: "triage.bridge.raw", State: "triage.bridge.state",
			Identifiers: "triage.bridge.identifiers",
		},
		Keep: 30 * 24 * time.Hour,
		MLLP: MLLP{Listen: "127.0.0.1:2575", Idle: 5 * time.Minute, Connections: 64},
		FHIR: FHIR{
			Listen: "127.0.0.1:8090", Page: "http://127.0.0.1:8080/",
			SMART: SMART{Scope: "system/*.read system/RiskAssessment.write"}, CDS: CDS{Clients: map[string]string{}},
		},
		Answers: Answers{Version: "R4", Scale: "percent"},
	}
	for disposition, codes := range map[msg.Disposition]string{
		msg.Discharged: "01 03 04 06 21 50 51 62 64", msg.Transferred: "02 05 43 63 65 66 70", msg.Left: "07",
		msg.Admitted: "09", msg.Died: "20 40 41 42",
	} {
		for code := range strings.FieldsSeq(codes) {
			b.Dispositions[code] = disposition
		}
	}
	return b
}

// Require returns an error if a key is missing that has no default.
func (b *Bridge) Require() error { return errors.Join(b.missing()...) }

func (b *Bridge) missing() (bad faults) {
	bad.add(b.Site == "", "bridge.site", "is empty; name the emergency department as notes shall name it")
	bad.add(b.KeyFile == "", "bridge.key_file", "is empty; make a key with `wardcast bridge keygen --out FILE`")
	return bad
}

// doubled adds the codes that are in two settings: one of them would never have a value.
func (b *Bridge) doubled(bad *faults) {
	codes := map[string][]string{
		"bridge.note_codes": b.NoteCodes, "bridge.complaint_codes": b.ComplaintCodes, "bridge.age_codes": b.AgeCodes,
		"bridge.acuity.code": {b.Acuity.Code},
	}
	for name, all := range b.Vitals {
		codes["bridge.vitals."+name] = all
	}
	first := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(codes)) {
		for _, code := range codes[key] {
			before := first[code]
			bad.add(before != "" && before != key && code != "", key, "%q is in %s too", code, before)
			first[code] = key
		}
	}
}

const notURL = "%q is not a URL of http or https"

// isURL reports whether text is such a URL, or empty.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func (b *Bridge) check() faults {
	var bad faults
	if b.Site != "" || b.KeyFile != "" {
		bad = b.missing()
	}
	b.doubled(&bad)
	bad.add(b.Answers.MLLP != "" && b.Answers.MLLP == b.MLLP.Listen, "bridge.answers.mllp",
		"is bridge.mllp.listen: the bridge would send predictions to itself")
	bad.add(!isZone(b.TimeZone), "bridge.time_zone", notZone, b.TimeZone)
	for _, choice := range []struct {
		key, value string
		of         []string
	}{
		{"bridge.visit", b.Visit, VisitFields()},
		{"bridge.acuity.scale", cmp.Or(b.Acuity.Scale, AcuityScales()[0]), AcuityScales()},
		{"bridge.answers.version", b.Answers.Version, FHIRVersions()},
		{"bridge.answers.scale", b.Answers.Scale, []string{"percent", "fraction"}},
	} {
		bad.add(!slices.Contains(choice.of, choice.value), choice.key, "%q is not one of %s", choice.value,
			strings.Join(choice.of, ", "))
	}
	bad.add(len(b.NoteCodes) == 0, "bridge.note_codes", "is empty: no note would have a text")
	bad.add(len(b.ComplaintCodes) == 0, "bridge.complaint_codes", "is empty: no note would have a complaint")
	for _, name := range slices.Sorted(maps.Keys(b.Acuity.Map)) {
		level := b.Acuity.Map[name]
		bad.add(level < 1 || level > 5, "bridge.acuity.map."+name, "%d is not between 1 and 5", level)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Vitals)) {
		bad.add(!slices.Contains(msg.VitalNames(), name), "bridge.vitals."+name, "is not one of %s",
			strings.Join(msg.VitalNames(), ", "))
	}
	for _, code := range slices.Sorted(maps.Keys(b.Dispositions)) {
		d := b.Dispositions[code]
		bad.add(d != "" && !slices.Contains(msg.Dispositions(), d), "bridge.dispositions."+code,
			"%q is not one of %v", d,
			msg.Dispositions())
	}
	for _, l := range [][2]string{
		{"bridge.mllp.listen", b.MLLP.Listen},
		{"bridge.fhir.listen", b.FHIR.Listen},
		{"bridge.answers.mllp", b.Answers.MLLP},
	} {
		_, _, err := net.SplitHostPort(l[1])
		bad.add(l[1] != "" && err != nil, l[0], "%q is not host:port", l[1])
	}
	for key, in := range map[string]BridgeTLS{"bridge.mllp.tls": b.MLLP.TLS, "bridge.fhir.tls": b.FHIR.TLS} {
		bad.add((in.Certificate == "") != (in.Key == "") || in.ClientCA != "" && in.Key == "", key,
			"needs both certificate and key")
	}
	for _, l := range [][2]string{
		{"bridge.fhir.server", b.FHIR.Server},
		{"bridge.fhir.page", b.FHIR.Page},
		{"bridge.fhir.smart.token_url", b.FHIR.SMART.TokenURL},
		{"bridge.answers.fhir", b.Answers.FHIR},
		{"bridge.fhir.cds.address", b.FHIR.CDS.Address},
	} {
		bad.add(!isURL(l[1]), l[0], notURL, l[1])
	}
	bad.add(len(b.FHIR.CDS.Clients) > 0 && b.FHIR.CDS.Address == "", "bridge.fhir.cds.address",
		"is empty: it is the audience of the tokens of clients")
	smart := b.FHIR.SMART
	bad.add((smart.ClientID == "") != (smart.Key == ""), "bridge.fhir.smart", "needs both client_id and key")
	out := b.Answers.TLS
	bad.add((out.Certificate == "") != (out.Key == ""), "bridge.answers.tls", "needs both certificate and key")
	bad.add(!out.Enabled && out != (AnswersTLS{}), "bridge.answers.tls.enabled",
		"is not set, but other keys of tls are")
	bad.add(b.MLLP.Idle < time.Second, "bridge.mllp.idle", "%v is less than 1s", b.MLLP.Idle)
	bad.add(b.MLLP.Connections < 1, "bridge.mllp.connections", "%d is less than 1", b.MLLP.Connections)
	bad.add(b.Keep < time.Hour, "bridge.keep", "%v is less than 1h", b.Keep)
	return bad
}
