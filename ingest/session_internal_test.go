package ingest

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// TestMessages: however a stream is cut, the messages that are over are counted, and it is known when none is under
// way.
func TestMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		ends := map[int]int{0: 0} // messages that are over, by position
		for i, size := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 5).Draw(t, "sizes") {
			//nolint:gosec // small
			stream = append(binary.BigEndian.AppendUint32(stream, uint32(size)), make([]byte, size)...)
			ends[len(stream)] = i + 1
		}
		var m messages
		for at := 0; at < len(stream); {
			n := rapid.IntRange(1, len(stream)-at).Draw(t, "part")
			m.pass(stream[at : at+n])
			at += n
			if over, whole := ends[at]; m.whole() != whole || whole && m.n != over {
				t.Fatalf("at %d: %d messages, none under way: %v; want %d, %v", at, m.n, m.whole(), over, whole)
			}
		}
	})
}
