package cli

import (
	"bytes"
	"log/slog"
	"regexp"
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
