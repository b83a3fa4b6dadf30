package wording_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/wording"
)

// TestVisibleLines: a text keeps its lines and tabs, and nothing else that commands a terminal.
func TestVisibleLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a\n\tb\n": "a\n\tb\n", "a\r\nb\x1b": `a\u000d` + "\n" + `b\u001b`,
		"\u2028\xff": `\u2028` + "\ufffd",
	} {
		if got := wording.VisibleLines(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLine: what commands a terminal or turns the direction of text is refused by its code point, and shown escaped.
func TestLine(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct{ shown, code string }{
		"":                            {"", ""},
		"Überprüft, 50 % – \\u001b ✓": {"Überprüft, 50 % – \\u001b ✓", ""},
		"שלום مرحبا 👩\u200d⚕️":        {"שלום مرحبا 👩\u200d⚕️", ""}, // a joiner is part of words and pictures
		"no-break\u00a0space":         {"no-break\u00a0space", ""},
		"a\x1b[2Jb":                   {`a\u001b[2Jb`, "U+001B"},
		"\x00":                        {`\u0000`, "U+0000"},
		"a\nb\tc":                     {`a\u000ab\u0009c`, "U+000A"},
		"\x7f":                        {`\u007f`, "U+007F"},
		"\u0080":                      {`\u0080`, "U+0080"},
		"\u009b2J\u0085":              {`\u009b2J\u0085`, "U+009B"},
		"\u009f":                      {`\u009f`, "U+009F"},
		"\u061c":                      {`\u061c`, "U+061C"},
		"\u200e":                      {`\u200e`, "U+200E"},
		"\u200f":                      {`\u200f`, "U+200F"},
		"a\u2028b":                    {`a\u2028b`, "U+2028"},
		"\u2029":                      {`\u2029`, "U+2029"},
		"\u202a":                      {`\u202a`, "U+202A"},
		"by \u202eeod.j":              {`by \u202eeod.j`, "U+202E"},
		"\u2066":                      {`\u2066`, "U+2066"},
		"\u2069":                      {`\u2069`, "U+2069"},
		"a\xffb":                      {"a\ufffdb", "not UTF-8"},
	} {
		if got := wording.Visible(text); got != c.shown {
			t.Errorf("%q is shown as %q, want %q", text, got, c.shown)
		}
		err := wording.CheckLine(text)
		if (err == nil) != (c.code == "") ||
			err != nil && !(errors.Is(err, wording.ErrNotLine) && strings.HasSuffix(err.Error(), c.code)) {
			t.Errorf("%q: %v, want %q", text, err, c.code)
		}
	}
}
