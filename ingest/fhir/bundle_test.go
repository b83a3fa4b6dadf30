package fhir_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest/fhir"
)

const head = `{"resourceType":"Bundle","type":"transaction","entry":[`

func TestParseBundle(t *testing.T) {
	t.Parallel()
	b, all, err := fhir.ParseBundle([]byte(head +
		`{"fullUrl":"urn:uuid:1","resource":{"resourceType":"Encounter","id":"e1",
		"zzname":7}},{"resource":{"resourceType":"Zzname"}},{},{"resource":{"resourceType":"Binary"}}]}`))
	if got := fmt.Sprintf("%T", all); err != nil || len(b.Entry) != 4 || len(all) != 4 {
		t.Fatalf("%v, %s", err, got)
	}
	if got := fmt.Sprintf("%T %T %T %T", all[0], all[1], all[2], all[3]); got !=
		"*fhir.Encounter *fhir.Head <nil> *fhir.Binary" {
		t.Errorf("the entries are %s", got)
	}
}

func TestParseBundleRefuses(t *testing.T) {
	t.Parallel()
	f := func(data string, reason error, entry int) {
		t.Helper()
		_, _, err := fhir.ParseBundle([]byte(data))
		if wrong, ok := errors.AsType[*fhir.EntryError](err); !ok || !errors.Is(wrong, reason) || wrong.Entry != entry {
			t.Errorf("%.50q is refused by %+v, want %s in entry %d", data, err, reason, entry)
		}
	}
	f("", fhir.ErrNotJSON, 0)
	f("Zzname", fhir.ErrNotJSON, 0)
	f("{\"resourceType\":\"Bundle\",\"x\":\"\xff\"}", fhir.ErrNotJSON, 0)
	f(strings.Repeat("[", 500)+strings.Repeat("]", 500), fhir.ErrNotJSON, 0)
	f(`{"resourceType":"Bundle","x":"\\\"`+strings.Repeat("[", 500)+`"}`, fhir.ErrWrongBundle, 0) // a string
	f(`["Zzname"]`, fhir.ErrNotFHIR, 0)
	f(`{"name":"Zzname"}`, fhir.ErrNotFHIR, 0)
	f(`{"resourceType":"Patient","entry":"Zzname"}`, fhir.ErrWrongBundle, 0)
	f(`{"resourceType":"Bundle","type":"transaction","entry":"Zzname"}`, fhir.ErrNotFHIR, 0)
	f(`{"resourceType":"Bundle","type":"searchset"}`, fhir.ErrWrongBundle, 0)
	f(head+`{},{"resource":{"resourceType":"Patient","gender":7}}]}`, fhir.ErrNotFHIR, 2)
	f(head+`{"resource":"Zzname"}]}`, fhir.ErrNotFHIR, 1)
	f(strings.Repeat(" ", fhir.MaxBundle)+"{}", fhir.ErrTooLarge, 0)
	f(strings.Repeat("{", 100_001), fhir.ErrTooMany, 0)
	f(head+"{}"+strings.Repeat(",{}", 10_000)+"]}", fhir.ErrTooMany, 0)
	f(head+"null"+strings.Repeat(",null", 250_001)+"]}", fhir.ErrTooMany, 0)
}

// TestParseRefuses: a line of an export may be larger than a Bundle, and is bounded by its values too.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	nulls := `{"resourceType":"Observation","component":[null` + strings.Repeat(",null", fhir.MaxBundle) + "]}"
	if _, err := fhir.Parse([]byte(nulls)); !errors.Is(err, fhir.ErrTooMany) {
		t.Errorf("an observation of %d components: %v", fhir.MaxBundle, err)
	}
	text := `{"resourceType":"Observation","valueString":"` + strings.Repeat(",", fhir.MaxBundle) + `"}`
	if _, err := fhir.Parse([]byte(text)); err != nil {
		t.Errorf("a text of commas: %v", err)
	}
}

// TestMemory: the worst Bundles that are read need a bounded multiple of their size.
func TestMemory(t *testing.T) {
	for name, data := range map[string]string{
		"empty objects": head + `{"resource":{"resourceType":"Observation","component":[{}` +
			strings.Repeat(",{}", 99_990) + `]}}]}`,
		"one long list": head + `{"resource":{"resourceType":"Parameters","parameter":[` +
			strings.Repeat(`{"part":[]},`, 99_000) + `{}]}}]}`,
		"one long string": head + `{"resource":{"resourceType":"Observation","valueString":"` +
			strings.Repeat(`\"`, fhir.MaxBundle/2-100) + `"}}]}`,
		"unread lists": head + `{"resource":{"resourceType":"Observation","x":[0` +
			strings.Repeat(",0", 249_000) + `]}}]}`,
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if _, _, err := fhir.ParseBundle([]byte(data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		const limit = 256 << 20 // allocated, garbage too
		if got := after.TotalAlloc - before.TotalAlloc; got > limit {
			t.Errorf("%s: %d MiB for %d MiB", name, got>>20, len(data)>>20)
		}
	}
}

func TestNotificationFocus(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"R4": `{"resourceType":"Parameters","parameter":[{"name":"subscription"},{"name":"type","valueCode":
			"event-notification"},{"name":"notification-event","part":[{"name":"event-number"},{"name":"focus",
			"valueReference":{"reference":"Encounter/1"}}]}]}`,
		"R5": `{"resourceType":"SubscriptionStatus","type":"event-notification","notificationEvent":[{"focus":{"reference":
			"Encounter/1"}}]}`,
	} {
		r, err := fhir.Parse([]byte(data))
		n, ok := r.(*fhir.Notification)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %T", name, err, r)
		}
		if all, is := n.Focus(); !is || len(all) != 1 || all[0].ID("Encounter") != "1" {
			t.Errorf("%s: %v, %t", name, all, is)
		}
	}
}

// TestExamples reads every example of FHIR R4, alone and as an entry of a Bundle, but those too large for a Bundle.
func TestExamples(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("WARDCAST_FHIR_EXAMPLES")
	if dir == "" {
		t.Skip("WARDCAST_FHIR_EXAMPLES does not name the folder of npm's hl7.fhir.r4.examples")
	}
	files, read, refused := 0, 0, map[string]int{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".json" || d.Name() == "package.json" ||
			d.Name()[0] == '.' {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files++
		r, err := fhir.Parse(data)
		switch _, other := r.(*fhir.Head); {
		case err != nil && len(data) > fhir.MaxBundle:
		case err != nil:
			refused[err.Error()]++
		case !other:
			read++
		}
		_, _, _ = fhir.ParseBundle([]byte(head + `{"resource":` + string(data) + `}]}`))
		return nil
	})
	t.Logf("%d files, %d of types that are read, refused: %v", files, read, refused)
	const all, used = 5300, 100
	if err != nil || files < all || read < used || len(refused) > 0 {
		t.Errorf("%d files, %d read, refused: %v, %v", files, read, refused, err)
	}
}

// FuzzParseBundle reads any bytes, and the texts of what it reads.
func FuzzParseBundle(f *testing.F) {
	for _, seed := range []string{
		head +
			`{"resource":{"resourceType":"DocumentReference","context":{"encounter":{"reference":"Encounter/1"}},"content":
			[{"attachment":{"contentType":"text/html","data":"PHA+ZmVsbA=="}}]}}]}`,
		head + `{"resource":{"resourceType":"Encounter","class":[{"coding":[{}]}],"period":{"start":"2026-11-20"}}}]}`,
		head + `{"resource":{"resourceType":"Observation","valueQuantity":{"value":1e400},"component":[{}]}}]}`,
		`{"resourceType":"Bundle","type":"history","entry":[{"resource":{"resourceType":"Parameters",` +
			`"parameter":[{}]}}]}`,
		"[", "{}", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, all, err := fhir.ParseBundle(data)
		if _, ok := errors.AsType[*fhir.EntryError](err); err != nil && !ok {
			t.Fatalf("%T", err)
		}
		for _, kind := range []string{"text/html", "text/plain; charset=windows-1252"} {
			a := fhir.Attachment{ContentType: kind, Data: base64.StdEncoding.EncodeToString(data)}
			if text, _ := a.Text(); len(text) > 4*len(data)+4 {
				t.Errorf("%d bytes become a text of %d", len(data), len(text))
			}
		}
		for _, r := range all {
			if n, ok := r.(*fhir.Notification); ok {
				n.Focus()
			}
		}
	})
}
