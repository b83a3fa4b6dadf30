package process_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/bridge/process"
)

// planted stands where a message identifies a patient, or could.
const planted = "Zzplanted^Zzplanted&Zzplanted^^^Zzplanted~Zzplanted"

// plant returns a message with planted in every field of a segment that meant says no to, as far as field 60.
func plant(message string, meant func(segment string, field int) bool) string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(message, "\n", "\r"), "\r"), "\r")
	for i, l := range lines {
		fields := strings.Split(l, "|")
		name := fields[0]
		if name == "MSH" {
			name, fields = "MSH", slices.Insert(fields, 1, "|") // MSH-1 is the separator
		}
		code := ""
		if name == "OBX" && len(fields) > 3 {
			code, _, _ = strings.Cut(fields[3], "^")
		}
		for n := 1; n <= 60; n++ {
			if n == len(fields) {
				fields = append(fields, "")
			}
			// The text of a note is the nurse's, and so is the complaint.
			text := name == "OBX" && n == 5 && (slices.Contains([]string{"54094-8", "8661-1"}, code) ||
				fields[2] == "TX")
			if !text && !meant(name, n) {
				fields[n] = planted
			}
		}
		if lines[i] = strings.Join(fields, "|"); name == "MSH" {
			lines[i] = strings.Replace(lines[i], "MSH|||", "MSH|", 1)
		}
	}
	return strings.Join(lines, "\r") + "\r"
}

// What a message means by these fields is not who the patient is.
var structural = map[string][]int{
	"MSH": {1, 2, 9, 10, 11, 12, 18}, "OBX": {2, 3, 6, 11}, "OBR": {4}, "TXA": {2, 19}, "PV1": {2, 3}, "EVN": {1},
}

// TestIdentifiers plants a name in every field of every kind of message, in all at once and in each alone, and looks
// for it in all that the bridge writes but its own two topics: that of refused messages, and that of identifiers.
func TestIdentifiers(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	h.config.Bridge.KeepIdentifiers = true
	h.broker()
	h.start(nil)
	files, err := filepath.Glob("../testdata/*.hl7")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d messages, %v", len(files), err)
	}
	s, answers := h.dial(), map[hl7.Code]int{}
	send := func(message string) {
		code, _ := s.ask(message, ingesttest.Patience)
		if answers[code]++; code == "" {
			t.Fatalf("no answer after %v", answers)
		}
	}
	alone := []string{"a01.hl7", "a03.hl7", "a04.hl7", "a40.hl7", "oru.hl7", "mdm.hl7"}
	found := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		message := string(data)
		send(plant(message,
			func(segment string, field int) bool { return slices.Contains(structural[segment], field) }))
		if !slices.Contains(alone, filepath.Base(file)) {
			continue
		}
		found++
		for l := range strings.SplitSeq(strings.TrimRight(message, "\r\n"), "\r") {
			for n := range 60 {
				at := [2]any{l[:3], n + 1}
				if l[:3] == "PV1" && n+1 == 3 {
					continue // the ward, which an outcome names
				}
				send(plant(message, func(segment string, field int) bool { return at != [2]any{segment, field} }))
			}
		}
	}
	if found != len(alone) || answers[hl7.Accepted] == 0 || answers[hl7.Failed] == 0 || answers[hl7.Rejected] == 0 {
		t.Errorf("%d of %v; answers %v", found, alone, answers)
	}
	h.plantBundles()
	own, topics := &h.config.Bridge.Topics, &h.config.Kafka.Topics
	written := 0
	for _, topic := range []string{topics.Notes, topics.Outcomes, own.DeadLetters, own.State} {
		all := h.held(topic)
		written += len(all)
		for _, r := range all {
			h.clean(topic, fmt.Sprintf("%s %s %q", r.Key, r.Value, r.Headers))
		}
		if len(all) == 0 {
			t.Errorf("nothing in %s", topic)
		}
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		if status, body := h.get(path); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		} else {
			h.clean(path, body)
		}
	}
	h.clean("the log", h.log.String())
	for _, topic := range []string{own.Raw, own.Identifiers} {
		if !slices.ContainsFunc(h.held(topic),
			func(r *record) bool { return bytes.Contains(r.Value, []byte("Zzplanted")) }) {
			t.Errorf("%s, which holds identifiers, has none of %d records", topic, written)
		}
	}
}

// plantBundles posts Bundles with a name in each string alone, but for texts and complaints, and in fields that nobody
// reads.
func (h *hospital) plantBundles() {
	h.t.Helper()
	files, err := filepath.Glob("../testdata/fhir-*-transaction.json")
	if err != nil || len(files) < 2 {
		h.t.Fatalf("%d Bundles, %v", len(files), err)
	}
	statuses := map[int]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			h.t.Fatal(err)
		}
		for n, more := 0, true; more; n++ {
			var bundle map[string]any
			if err := json.Unmarshal(data, &bundle); err != nil {
				h.t.Fatal(err)
			}
			for _, e := range bundle["entry"].([]any) {
				resource := e.(map[string]any)["resource"].(map[string]any)
				resource["name"], resource["text"] = []any{map[string]any{"family": planted}},
					map[string]any{"div": planted}
			}
			left := n
			plantString(bundle, &left)
			more = left < 0
			body, err := json.Marshal(bundle)
			if err != nil {
				h.t.Fatal(err)
			}
			status, answer := h.post("/fhir", string(body), ingesttest.Patience)
			if status == 0 {
				h.t.Fatalf("no answer after %v", statuses)
			}
			statuses[status/100]++
			h.clean("an answer to a Bundle", answer)
		}
	}
	if statuses[2] < 50 || statuses[4] == 0 {
		h.t.Errorf("answers %v", statuses)
	}
}

// plantString plants a name in the string number n of a value, and sets n below 0.
func plantString(v any, n *int) any {
	switch v := v.(type) {
	case string:
		if *n--; *n == -1 {
			return planted
		}
	case []any:
		for i := range v {
			v[i] = plantString(v[i], n)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !slices.Contains([]string{"data", "text", "display", "valueString"}, key) {
				v[key] = plantString(v[key], n)
			}
		}
	}
	return v
}

// TestIdentifiersInAnswers: without keep_identifiers a prediction goes back without them.
// Visits that were joined with another key are never met again.
func TestAnotherKey(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	run := func(o *process.Options) { o.EmbeddedBroker = h.dir }
	stop := h.start(run)
	if code, _ := h.dial().ask(adt("A04", "1", "V1", text+fall), time.Minute); code != hl7.Accepted {
		t.Fatalf("answered %s", code)
	}
	stop()
	const warning = "visits were joined with another key"
	stop = h.start(run)
	stop()
	if strings.Contains(h.log.String(), warning) {
		t.Error("the same key is taken for another one")
	}
	h.config.Bridge.KeyFile = filepath.Join(t.TempDir(), "other.key")
	if err := bridge.NewKeyFile(h.config.Bridge.KeyFile); err != nil {
		t.Fatal(err)
	}
	h.start(run)
	if !strings.Contains(h.log.String(), warning) {
		t.Error("another key is not told")
	}
}

func TestIdentifiersInAnswers(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	h.broker()
	r := h.receive(&receiver{})
	h.start(nil)
	h.dial().want(hl7.Accepted, "1", adt("A04", "1", "Zzvisit", text+fall))
	h.predict(string(h.records(h.config.Kafka.Topics.Notes, 1)[0].Key), half, "1")
	ingesttest.Await(t, "the answer", func() bool { return len(r.got()) > 0 })
	h.clean("an answer", r.bodies[0])
}

// clean fails if a planted name stands in a text.
func (h *hospital) clean(where, text string) {
	h.t.Helper()
	if i := strings.Index(strings.ToLower(text), "zz"); i >= 0 {
		h.t.Errorf("a planted name in %s: %.200q", where, text[max(0, i-60):])
	}
}
