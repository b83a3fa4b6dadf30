package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// chunk is the number of bytes that Write encodes at a time.
const chunk = 1 << 16

// Write writes the tensors and the metadata, which may be nil, in the order of their names, with the same bytes as
// Python's safetensors. A name must be UTF-8 and not "__metadata__", and the product of a shape must be the length of
// its data. Tensors are not modified.
func Write(w io.Writer, tensors Tensors, metadata map[string]string) error {
	names := slices.Sorted(maps.Keys(tensors))
	head, err := header(names, tensors, metadata)
	if err != nil {
		return fmt.Errorf("writing safetensors: %w", err)
	}
	buf := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(head)), uint64(len(head)))
	if _, err := w.Write(append(buf, head...)); err != nil {
		return fmt.Errorf("writing safetensors header: %w", err)
	}
	for _, name := range names {
		for values := range slices.Chunk(tensors[name].Data, chunk/float64Size) {
			if buf, err = binary.Append(buf[:0], binary.LittleEndian, values); err == nil {
				_, err = w.Write(buf)
			}
			if err != nil {
				return fmt.Errorf("writing tensor %q: %w", name, err)
			}
		}
	}
	return nil
}

// header returns the JSON object of the tensors, laid out one behind the other, with the metadata first.
func header(names []string, tensors Tensors, metadata map[string]string) ([]byte, error) {
	entries := make(map[string]entry, len(names))
	var end uint64
	for _, name := range names {
		t := tensors[name]
		if n, ok := count(t.Shape, math.MaxInt); !ok || n != uint64(len(t.Data)) {
			return nil, malformed("tensor %q: shape %v for %d values", name, t.Shape, len(t.Data))
		}
		if name == metadataKey || !utf8.ValidString(name) {
			return nil, malformed("tensor %q: name is taken or no UTF-8", name)
		}
		begin := end
		end += float64Size * uint64(len(t.Data))
		entries[name] = entry{float64Type, append([]int{}, t.Shape...), []uint64{begin, end}}
	}
	var members [][]byte
	if len(metadata) > 0 {
		members = append(members, inside(map[string]any{metadataKey: metadata}))
	}
	if len(entries) > 0 {
		members = append(members, inside(entries))
	}
	head := slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}"))
	head = append(head, bytes.Repeat([]byte(" "), -len(head)&7)...)
	if len(head) > MaxHeader {
		return nil, malformed("header of %d bytes exceeds %d", len(head), MaxHeader)
	}
	return head, nil
}

// inside returns the members of a JSON object in the order of their names, without its braces.
func inside(object any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // as in Python
	_ = enc.Encode(object)   // strings and integers
	return b.Bytes()[1 : b.Len()-len("}\n")]
}
