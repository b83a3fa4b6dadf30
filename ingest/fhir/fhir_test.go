package fhir_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/fhir"
)

func TestText(t *testing.T) {
	t.Parallel()
	f := func(kind, content, want string, wrong error) {
		t.Helper()
		a := fhir.Attachment{ContentType: kind, Data: base64.StdEncoding.EncodeToString([]byte(content))}
		got, err := a.Text()
		if got != want || !errors.Is(err, wrong) {
			t.Errorf("%s %q: %q, %v, want %q, %v", kind, content, got, err, want, wrong)
		}
	}
	f("text/plain", " fell at home\n", "fell at home", nil)
	f("text/plain; charset=UTF-8", "café", "café", nil)
	f("text/plain; charset=ISO-8859-1", "caf\xe9", "café", nil)
	f("text/plain; charset=iso-8859-15", "10 \xa4", "10 €", nil)
	f("text/plain; charset=big5", "fell", "", fhir.ErrUnsupported)
	f("text/plain", "caf\xe9", "", fhir.ErrBadContent)
	f("application/pdf", "%PDF-1.4", "", fhir.ErrUnsupported)
	f("", "fell", "", fhir.ErrUnsupported)
	f("application/xhtml+xml",
		`<div xmlns="http://www.w3.org/1999/xhtml"><p>fell <i>at</i> home,</p><b>hip</b> pain &amp; rash</div>`,
		"fell at home,\nhip pain & rash", nil)
	f("text/html", "<html><head><title>Mrs Zz</title></head><body>fell&nbsp;<br>hip<script>x()</script></body></html>",
		"fell\nhip", nil)
	f("text/html", "<p>fell</q></p", "", fhir.ErrBadContent)
	a := fhir.Attachment{ContentType: "text/plain", URL: "Binary/7"}
	if _, err := a.Text(); !errors.Is(err, fhir.ErrElsewhere) {
		t.Errorf("an attachment elsewhere: %v", err)
	}
	a = fhir.Attachment{ContentType: "text/plain", Data: "***"}
	if _, err := a.Text(); !errors.Is(err, fhir.ErrBadContent) {
		t.Errorf("not base64: %v", err)
	}
}

// What R5 moved is read into the same place.
func TestVersions(t *testing.T) {
	t.Parallel()
	parse := func(s string) fhir.Resource {
		t.Helper()
		r, err := fhir.Parse([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	four := parse(
		`{"resourceType":"Encounter","id":"7","class":{"code":"EMER"},"period":{"start":"2026-11-20T08:00:00Z"},
		"reasonCode":[{"text":"fall"}],"reasonReference":[{"reference":"Condition/c"}],
		"hospitalization":{"dischargeDisposition":{"coding":[{"code":"home"}]}}}`).(*fhir.Encounter)
	five := parse(`{"resourceType":"Encounter","id":"7","class":[{"coding":[{"code":"EMER"}]}],
		"actualPeriod":{"start":"2026-11-20T08:00:00Z"},
		"reason":[{"value":[{"concept":{"text":"fall"}},{"reference":{"reference":"Condition/c"}}]}],
		"admission":{"dischargeDisposition":{"coding":[{"code":"home"}]}}}`).(*fhir.Encounter)
	read := func(e *fhir.Encounter) []any {
		concepts, references := e.Reasons()
		return []any{e.Reference(), []fhir.Coding(e.Class), e.Time(), concepts, references, e.Disposition()}
	}
	if d := cmp.Diff(read(four), read(five)); d != "" || len(four.Class) != 1 {
		t.Errorf("R4 and R5 differ: %s", d)
	}
	d4 := parse(`{"resourceType":"DocumentReference","context":{"encounter":[{"reference":"Encounter/7"}]}}`)
	d5 := parse(`{"resourceType":"DocumentReference","context":[{"reference":"Encounter/7"}]}`)
	a, b := d4.(*fhir.DocumentReference).Context, d5.(*fhir.DocumentReference).Context
	if len(a) != 1 || len(b) != 1 || a[0] != b[0] {
		t.Errorf("contexts %v and %v", a, b)
	}
	if a, b := fhir.Of(d4).Digest(), fhir.Of(d5).Digest(); a == b || a == "" {
		t.Errorf("digests %q and %q", a, b)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]error{
		"": fhir.ErrNotJSON, "{": fhir.ErrNotJSON, `{"resourceType":"Patient"} x`: fhir.ErrNotJSON,
		"{\"resourceType\":\"Patient\",\"id\":\"\xff\"}": fhir.ErrNotJSON,
		"[]": fhir.ErrNotFHIR, `"x"`: fhir.ErrNotFHIR, "{}": fhir.ErrNotFHIR, `{"resourceType":7}`: fhir.ErrNotFHIR,
		`{"resourceType":"Patient","id":7}`:                         fhir.ErrNotFHIR,
		`{"resourceType":"Encounter","class":"EMER"}`:               fhir.ErrNotFHIR,
		`{"resourceType":"DocumentReference","context":7}`:          fhir.ErrNotFHIR,
		`{"resourceType":"Bundle","entry":"x"}`:                     fhir.ErrNotFHIR,
		`{"resourceType":"Patient","x":` + strings.Repeat("[", 2e5): fhir.ErrNotJSON,
	} {
		if r, err := fhir.Parse([]byte(body)); !errors.Is(err, want) {
			t.Errorf("Parse(%.60q) = %v, %v, want %v", body, r, err, want)
		}
	}
	if r, err := fhir.Parse([]byte(`{"resourceType":"Basic","id":"7"}`)); err != nil ||
		fhir.Of(r).Reference() != "Basic/7" {
		t.Errorf("a resource that is not read: %v, %v", r, err)
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -5*60*60)
	f := func(s, want string, exact bool) {
		t.Helper()
		got, is, err := fhir.Time(s, zone)
		if want == "" {
			if !errors.Is(err, fhir.ErrBadTime) {
				t.Errorf("Time(%q) = %v, %v", s, got, err)
			}
			return
		}
		if err != nil || got.UTC().Format(time.RFC3339) != want || is != exact {
			t.Errorf("Time(%q) = %v, %v, %v, want %s, %v", s, got, is, err, want, exact)
		}
	}
	f("2026-11-20T08:15:02Z", "2026-11-20T08:15:02Z", true)
	f("2026-11-20T08:15:02.123+01:00", "2026-11-20T07:15:02Z", true)
	f("2026-11-20T08:15:02", "2026-11-20T13:15:02Z", true)
	f("2026-11-20", "2026-11-20T05:00:00Z", false)
	f("2026-11", "2026-11-01T05:00:00Z", false)
	f("yesterday", "", false)
	f("", "", false)
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for reference, want := range map[string]string{
		"Encounter/7": "Encounter/7", "http://ehr.invalid/fhir/Encounter/7/_history/2": "Encounter/7",
		"urn:uuid:1-2": "urn:uuid:1-2", "": "",
	} {
		if got := (fhir.Reference{Reference: reference}).Local(); got != want {
			t.Errorf("%q is %q, want %q", reference, got, want)
		}
	}
	if n := fhir.Number(&fhir.Head{ID: "7"}, nil, "VN"); n != "7" {
		t.Errorf("number %q", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"resourceType":"Encounter","class":{"code":"EMER"},"reason":[{"value":[{}]}]}`))
	f.Add([]byte(
		`{"resourceType":"DocumentReference","content":[{"attachment":{"contentType":"text/html","data":"PHA+"}}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		r, _ := fhir.Parse(data)
		switch r := r.(type) {
		case *fhir.Encounter:
			r.Reasons()
		case *fhir.DocumentReference:
			for i := range r.Content {
				_, _ = r.Content[i].Attachment.Text()
			}
		}
	})
}
