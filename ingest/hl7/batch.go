package hl7

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"slices"
)

// chunk is how much of a segment is read at a time.
const chunk = 64 << 10

// envelopes are the segments around the messages of a batch file.
var envelopes = []string{"FHS", "BHS", "BTS", "FTS"}

// Messages yields the messages of a file, one after the other, in a batch (FHS, BHS) or not, in frames of MLLP or not.
// A message is valid until the next one. One that is too large is yielded cut short, but so large that Parse refuses
// it.
func Messages(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, chunk), 2*chunk)
		lines.Split(splitLine)
		var message []byte
		begins, inside := true, false
		flush := func() bool {
			whole := inside && len(bytes.TrimSpace(message)) > 0
			inside = false
			return !whole || yield(message, nil)
		}
		for lines.Scan() {
			line := lines.Bytes()
			name := bytes.TrimLeft(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), "\x0b\x1c")
			if begins && len(name) > len(header) && delimits(name[len(header)]) {
				first := string(name[:len(header)])
				if first == header || slices.Contains(envelopes, first) {
					if !flush() {
						return
					}
					message, inside, line = message[:0], first == header, name
				}
			}
			if inside && len(message) <= MaxMessage {
				message = append(message, bytes.TrimPrefix(line, []byte{0x1c})...)
			}
			begins = line[len(line)-1] == '\r' || line[len(line)-1] == '\n'
		}
		if flush() && lines.Err() != nil {
			yield(nil, lines.Err())
		}
	}
}

// splitLine splits at line ends, which it keeps, and cuts what is longer than a chunk.
func splitLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	n := bytes.IndexAny(data, "\r\n") + 1
	if n == 0 && (atEOF || len(data) >= chunk) {
		n = len(data)
	}
	if n == 0 {
		return 0, nil, nil
	}
	return n, data[:n:n], nil
}
