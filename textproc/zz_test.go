package textproc

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestZZ(t *testing.T) {
	b, _ := os.ReadFile("/tmp/notes.txt")
	r := newReader(t)
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		l = strings.ReplaceAll(l, `\n`, "\n")
		fmt.Println("»", l)
		var o []string
		for _, k := range r.Tokens(l) {
			o = append(o, l[k.Start:k.End]+"→"+prefixes[k.Status]+strings.Join(k.Terms, "+"))
		}
		fmt.Println("   ", strings.Join(o, " | "))
	}
}
