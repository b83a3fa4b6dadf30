package hl7_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/wardcast/wardcast/ingest/hl7"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	f := func(name, file string, want ...string) {
		t.Helper()
		for way, r := range map[string]io.Reader{
			"at once": strings.NewReader(file), "in pieces": iotest.HalfReader(strings.NewReader(file)),
		} {
			var got []string
			for m, err := range hl7.Messages(r) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(m))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %.200q, want %.200q", name, way, got, want)
			}
		}
	}
	const a, b = "MSH|^~\\&|A\rPID|1\r", "MSH|^~\\&|B\rPID|2\r"
	f("nothing", "")
	f("one", a, a)
	f("two", a+b, a, b)
	f("empty lines between", a+"\r\n\r\n"+b, a+"\r\n\r\n", b)
	f("a batch", "FHS|^~\\&|X\rBHS|^~\\&|X\r"+a+b+"BTS|2\rFTS|1\r", a, b)
	f("another batch of other separators", "FHS#@\rBHS#@\r"+a+"BTS|1\rBHS#@\r"+b+"BTS#1\rFTS#1", a, b)
	f("line feeds", strings.ReplaceAll(a+b, "\r", "\n"), strings.ReplaceAll(a, "\r", "\n"),
		strings.ReplaceAll(b, "\r", "\n"))
	f("frames", "\x0b"+a+"\x1c\r\x0b"+b+"\x1c\r", a+"\r", b+"\r")
	f("no end", a+strings.TrimSuffix(b, "\r"), a, strings.TrimSuffix(b, "\r"))
	f("what comes before", "hello\r"+a, a)
	f("text like a segment", "MSH|^~\\&|A\rMSHX\r", "MSH|^~\\&|A\rMSHX\r")
	f("a long segment", a+"NTE|"+strings.Repeat("MSH|", 50_000)+"\r"+b, a+"NTE|"+strings.Repeat("MSH|", 50_000)+"\r", b)
	n := 0
	for m, err := range hl7.Messages(strings.NewReader(a + strings.Repeat("NTE|1\r", hl7.MaxMessage) + b)) {
		if n++; err != nil || n == 1 && (len(m) <= hl7.MaxMessage || len(m) > hl7.MaxMessage+100) ||
			n == 2 && string(m) != b {
			t.Errorf("message %d has %d bytes", n, len(m))
		}
	}
	if n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
	wrong := errors.New("disk")
	for m, err := range hl7.Messages(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(wrong))) {
		if m != nil || !errors.Is(err, wrong) {
			t.Errorf("%q, %v", m, err)
		}
	}
}
