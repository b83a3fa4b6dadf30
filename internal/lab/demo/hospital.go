package demo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/hl7/mllp"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/bridge/process"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/wait"
)

// hospital sends notes and outcomes to a bridge, as a hospital's systems do: those of every second visit as ADT of HL7
// v2, the others as Bundles of FHIR. It takes the place of a producer.
type hospital struct {
	config *config.Bridge
	key    bridge.Key
	mllp   mllp.Client

	mu   sync.Mutex
	sent int
}

// newHospital configures a bridge with a key and data in dir.
func newHospital(ctx context.Context, cfg *config.Config, dir string) (*hospital, error) {
	b := &cfg.Bridge
	b.Site, b.KeyFile = "A", filepath.Join(dir, "bridge.key")
	for _, address := range []*string{&b.MLLP.Listen, &b.FHIR.Listen} {
		l, err := listen(ctx, 0)
		if err != nil {
			return nil, err
		}
		*address = l.Addr().String()
		_ = l.Close() // the bridge listens there
	}
	err := bridge.NewKeyFile(b.KeyFile)
	h := &hospital{config: b, mllp: mllp.Client{Address: b.MLLP.Listen, Timeout: time.Minute}}
	if err == nil {
		h.key, err = bridge.ReadKey(b.KeyFile)
	}
	return h, err
}

// run runs the bridge until ctx ends.
func (h *hospital) run(ctx context.Context, cfg *config.Config, o *Options) error {
	return process.Run(ctx, process.Options{Config: cfg, Logger: o.Logger, Version: o.Version, CreateTopics: true})
}

// await waits until the bridge takes messages.
func (h *hospital) await(ctx context.Context) error {
	for wait.For(ctx, 20*time.Millisecond) {
		if h.request(ctx, http.MethodGet, "/readyz", nil) == nil {
			return nil
		}
	}
	return ctx.Err()
}

// visit returns the visit_id of a visit of this number.
func (h *hospital) visit(number string) string { return h.key.Visit(h.config.Site, number) }

// Produce sends notes, or outcomes if topic is that of outcomes.
func (h *hospital) Produce(ctx context.Context, _ string, out []*ingest.Output) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range out {
		var n msg.Note
		var o msg.Outcome
		if err := errors.Join(json.Unmarshal(m.Value, &n), json.Unmarshal(m.Value, &o)); err != nil {
			return err
		}
		var err error
		if h.sent++; o.VisitID[len(o.VisitID)-1]%2 == 0 {
			control := fmt.Sprint("D", h.sent)
			var code hl7.Code
			if code, err = h.mllp.Send(ctx, h.adt(control, &n, &o), control); err == nil && code != hl7.Accepted {
				err = fmt.Errorf("the bridge answers %s", code)
			}
		} else {
			err = h.request(ctx, http.MethodPost, "/fhir", h.bundle(&n, &o))
		}
		if err != nil {
			return fmt.Errorf("sending to the bridge: %w", err)
		}
	}
	return nil
}

func (h *hospital) request(ctx context.Context, method, path string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+h.config.FHIR.Listen+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/fhir+json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, res.Body)
	if _ = res.Body.Close(); res.StatusCode/100 != 2 {
		return fmt.Errorf("the bridge answers %d", res.StatusCode)
	}
	return nil
}

// dispositions are the codes of PV1-36, by their meaning.
var dispositions = map[msg.Disposition]string{
	msg.Discharged: "01", msg.Transferred: "02", msg.Left: "07", msg.Admitted: "09", msg.Died: "20",
}

// values calls f with the code of each number of a note.
func (h *hospital) values(n *msg.Note, f func(code string, v float64)) {
	for _, name := range msg.NumberNames() {
		code := map[string]string{"age": h.config.AgeCodes[0], "acuity": h.config.Acuity.Code}[name]
		if vital, ok := strings.CutPrefix(name, "vitals."); ok {
			code = h.config.Vitals[vital][0]
		}
		if v := n.Number(name); v.Set {
			f(code, v.Value)
		}
	}
}

// adt returns the message of an arrival, or of an outcome.
func (h *hospital) adt(control string, n *msg.Note, o *msg.Outcome) []byte {
	quote := hl7.Standard().Quote
	at := func(written string) string {
		t, err := time.Parse(time.RFC3339, written)
		if err != nil {
			t = time.Now()
		}
		return hl7.FormatTime(t.UTC())
	}
	event, class := "A04", "E"
	switch o.Disposition {
	case "":
	case msg.Admitted:
		event, class = "A01", "I"
	default:
		event = "A03"
	}
	var b strings.Builder
	line := func(fields ...string) { b.WriteString(strings.Join(fields, "|") + "\r") }
	empty := func(n int) string { return strings.Repeat("|", n-1) }
	line("MSH", `^~\&`, "DEMO", "A", "WARDCAST", "A", at(""), "", "ADT^"+event, control, "P", "2.5.1", empty(5),
		"UNICODE UTF-8")
	line("EVN", event, at(o.DecidedAt))
	line("PID", "1", "", quote(n.PatientID), empty(4), n.Sex)
	line("PV1", "1", class, quote(o.Ward), empty(15), quote(o.VisitID), empty(16),
		dispositions[o.Disposition], empty(7),
		at(n.ArrivedAt))
	if o.Disposition == "" {
		line("OBX", "1", "TX", h.config.NoteCodes[0], "", quote(n.Text), empty(5), "F")
		line("OBX", "2", "TX", h.config.ComplaintCodes[0], "", quote(n.Complaint), empty(5), "F")
		h.values(n, func(code string, v float64) { line("OBX", "", "NM", code, "", fmt.Sprint(v), empty(5), "F") })
	}
	return []byte(b.String())
}

// bundle returns the resources of an arrival, or of an outcome.
func (h *hospital) bundle(n *msg.Note, o *msg.Outcome) []byte {
	type object = map[string]any
	code := func(c string) object { return object{"coding": []object{{"code": c}}} }
	of := object{"reference": "Encounter/" + o.VisitID}
	encounter := object{
		"resourceType": "Encounter", "id": o.VisitID, "status": "in-progress", "class": object{"code": "EMER"},
		"subject": object{"reference": "Patient/" + n.PatientID}, "period": object{"start": n.ArrivedAt},
	}
	resources := []object{encounter}
	observe := func(c, kind string, v any) {
		resources = append(resources, object{
			"resourceType": "Observation", "status": "final", "code": code(c), "encounter": of,
			"effectiveDateTime": n.ArrivedAt, kind: v,
		})
	}
	if o.Disposition != "" {
		encounter["status"], encounter["period"] = "finished", object{"end": o.DecidedAt}
		encounter["hospitalization"] = object{"dischargeDisposition": code(dispositions[o.Disposition])}
		delete(encounter, "subject")
	} else {
		gender := map[string]string{"F": "female", "M": "male", "O": "other"}[n.Sex]
		resources = append(resources, object{"resourceType": "Patient", "id": n.PatientID, "gender": gender}, object{
			"resourceType": "DocumentReference", "status": "current", "type": code(h.config.NoteCodes[0]),
			"date": n.ArrivedAt, "context": object{"encounter": []object{of}}, "content": []object{{
				"attachment": object{
					"contentType": "text/plain", "data": base64.StdEncoding.EncodeToString([]byte(n.Text)),
				},
			}},
		})
		observe(h.config.ComplaintCodes[0], "valueString", n.Complaint)
		h.values(n, func(code string, v float64) { observe(code, "valueQuantity", object{"value": v}) })
	}
	entries := make([]object, len(resources))
	for i, r := range resources {
		entries[i] = object{
			"resource": r, "request": object{"method": "PUT", "url": fmt.Sprint(r["resourceType"], "/", i)},
		}
	}
	// which cannot fail
	data, _ := json.Marshal(object{"resourceType": "Bundle", "type": "transaction", "entry": entries})
	return data
}
