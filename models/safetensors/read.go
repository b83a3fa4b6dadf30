package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// MaxHeader is the largest header in bytes that is read or written, the limit of Python's safetensors.
const MaxHeader = 100_000_000

const metadataKey = "__metadata__"

// entry is the header's record of one tensor.
type entry struct {
	DType   DType    `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// Read returns the tensors of a file in the order of their offsets (of empty ones, of their names), and its metadata,
// nil if there is none. The values are copied, data is not kept. All values of the format are accepted, NaN and
// infinities too.
//
// Errors wrap ErrFormat and name the tensor: a header that is longer than MaxHeader or the file, is no JSON object, or
// repeats a name; metadata other than strings; an unknown type or field; a shape that is negative, too large or not the
// length of the data; offsets outside the file, overlapping or with holes; bytes behind the last tensor.
func Read(data []byte) ([]Tensor, map[string]string, error) {
	if len(data) < 8 {
		return nil, nil, malformed("%d bytes are no header", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	if n > MaxHeader || n > uint64(len(data)-8) {
		return nil, nil, malformed("header of %d bytes in a file of %d", n, len(data))
	}
	names, entries, metadata, err := parseHeader(data[8 : 8+n])
	if err != nil {
		return nil, nil, err
	}
	body := data[8+n:]
	if err := checkLayout(names, entries, uint64(len(body))); err != nil {
		return nil, nil, err
	}
	tensors := make([]Tensor, len(names))
	for i, name := range names {
		e := entries[name]
		tensors[i] = Tensor{Name: name, Shape: e.Shape, Data: decode(e.DType, body[e.Offsets[0]:e.Offsets[1]])}
	}
	return tensors, metadata, nil
}

// parseHeader reads the header token by token, because encoding/json would let a repeated name pass.
func parseHeader(head []byte) ([]string, map[string]entry, map[string]string, error) {
	if len(head) == 0 || head[0] != '{' || !utf8.Valid(head) {
		return nil, nil, nil, malformed("header is no JSON object in UTF-8")
	}
	var names []string
	var metadata map[string]string
	entries := map[string]entry{}
	dec := json.NewDecoder(bytes.NewReader(head))
	dec.DisallowUnknownFields()
	if _, err := dec.Token(); err != nil {
		return nil, nil, nil, malformed("header is no JSON object")
	}
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, nil, nil, malformed("header is no JSON object")
		}
		if name == metadataKey {
			if metadata != nil {
				return nil, nil, nil, malformed("metadata stands twice")
			}
			if metadata, err = parseMetadata(dec); err != nil {
				return nil, nil, nil, err
			}
			continue
		}
		if _, ok := entries[name]; ok {
			return nil, nil, nil, malformed("tensor %q stands twice", name)
		}
		var e entry
		if err := dec.Decode(&e); err != nil {
			return nil, nil, nil, malformed("tensor %q: %v", name, err)
		}
		entries[name] = e
		names = append(names, name)
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, nil, malformed("header is cut short")
	}
	if len(bytes.Trim(head[dec.InputOffset():], " \t\r\n")) > 0 {
		return nil, nil, nil, malformed("header has trailing bytes")
	}
	return names, entries, metadata, nil
}

func parseMetadata(dec *json.Decoder) (map[string]string, error) {
	m := map[string]string{}
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil, malformed("metadata is no object")
	}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return nil, malformed("metadata is no object")
		}
		if _, ok := m[name]; ok {
			return nil, malformed("metadata %q stands twice", name)
		}
		value, err := dec.Token()
		s, ok := value.(string)
		if err != nil || !ok {
			return nil, malformed("metadata %q is no string", name)
		}
		m[name] = s
	}
	if _, err := dec.Token(); err != nil {
		return nil, malformed("metadata is cut short")
	}
	return m, nil
}

// checkLayout orders the names by offset and checks that the tensors cover exactly total bytes.
func checkLayout(names []string, entries map[string]entry, total uint64) error {
	for _, name := range names {
		e := entries[name]
		size, ok := e.DType.size()
		switch {
		case !ok:
			return malformed("tensor %q: unknown type %q", name, e.DType)
		case e.Shape == nil:
			return malformed("tensor %q: no shape", name)
		case len(e.Offsets) != 2 || e.Offsets[0] > e.Offsets[1] || e.Offsets[1] > total:
			return malformed("tensor %q: offsets %v in %d bytes", name, e.Offsets, total)
		}
		if n, ok := count(e.Shape, total); !ok || n*uint64(size) != e.Offsets[1]-e.Offsets[0] {
			return malformed("tensor %q: shape %v of %s in %d bytes", name, e.Shape, e.DType, e.Offsets[1]-e.Offsets[0])
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := entries[a].Offsets, entries[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a, b))
	})
	var end uint64
	for _, name := range names {
		if begin := entries[name].Offsets[0]; begin != end {
			return malformed("tensor %q: begins at %d behind an end at %d", name, begin, end)
		}
		end = entries[name].Offsets[1]
	}
	if end != total {
		return malformed("%d bytes behind the last tensor", total-end)
	}
	return nil
}

func decode(d DType, b []byte) any {
	switch d {
	case F64:
		return values[float64](b, 8)
	case F32:
		return values[float32](b, 4)
	case I64:
		return values[int64](b, 8)
	case I32:
		return values[int32](b, 4)
	default:
		return bytes.Clone(b)
	}
}

func values[T any](b []byte, size int) []T {
	v := make([]T, len(b)/size)
	_, _ = binary.Decode(b, binary.LittleEndian, v) // b is as long as v
	return v
}
