package main

import (
	"strings"
	"testing"
)

// A text may begin with a hyphen.
func TestTokensOfHyphen(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"-LOC, fell", "- fell"} {
		if out := succeed(t, "", "tokens", "--output=json", "--text", text); !strings.Contains(out, `"tokens":[{`) {
			t.Errorf("%q: %s", text, out)
		}
	}
}
