package textproc

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTableIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		got, want := newTable(), make(map[string]*word)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			raw := rapid.OneOf(rapid.StringMatching(`[ab]{1,10}`), rapid.StringMatching(`[a-zé]{1,20}`)).Draw(t, "word")
			var folded [maxWord]byte
			if w := got.lookup(folded[:copy(folded[:], raw)]); w != want[raw] {
				t.Fatalf("%q: got %v, want %v", raw, w, want[raw])
			}
			if want[raw] == nil {
				want[raw] = &word{raw: raw}
				got.insert(want[raw])
			}
		}
		for raw, w := range want {
			var folded [maxWord]byte
			if got.lookup(folded[:copy(folded[:], raw)]) != w {
				t.Fatalf("%q is lost", raw)
			}
		}
		got.clear()
		for raw := range want {
			var folded [maxWord]byte
			if got.lookup(folded[:copy(folded[:], raw)]) != nil {
				t.Fatalf("%q is there after clearing", raw)
			}
		}
	})
}
