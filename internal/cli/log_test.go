package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

// Programs read JSON with the whole time; people at a terminal read text with the time of day.
func TestHandler(t *testing.T) {
	t.Parallel()
	for people, want := range map[bool]string{
		false: `^{"time":"\d{4}-\d\d-\d\dT[^"]+","level":"WARN","msg":"a doubt","items":3}\n$`,
		true:  `^time=\d\d:\d\d:\d\d level=WARN msg="a doubt" items=3\n$`,
	} {
		var b bytes.Buffer
		log := slog.New(newHandler(&b, slog.LevelWarn, people))
		log.Info("not written")
		log.Warn("a doubt", "items", 3)
		if !regexp.MustCompile(want).Match(b.Bytes()) {
			t.Errorf("people %v: got %q, want %s", people, &b, want)
		}
	}
}

// What turns the direction of text in a terminal is escaped, and means the same to programs.
func TestVisibleLog(t *testing.T) {
	t.Parallel()
	const name = "a\u202eb\u009bc\u2066d\n\te\u00e9"
	for _, people := range []bool{false, true} {
		var b bytes.Buffer
		slog.New(newHandler(&b, slog.LevelWarn, people)).Warn("read", "name", name)
		if strings.ContainsAny(b.String(), "\u202e\u009b\u2066\t") || strings.Count(b.String(), "\n") != 1 {
			t.Errorf("people %v: %q", people, &b)
		}
		var line struct{ Name string }
		if err := json.Unmarshal(b.Bytes(), &line); !people && (err != nil || line.Name != name) {
			t.Errorf("%q, %v: of %q", line.Name, err, &b)
		}
	}
}
