package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// MaxHeader is the largest header in bytes that is read or written, the limit of Python's safetensors.
const MaxHeader = 100_000_000

const metadataKey = "__metadata__"

type entry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// Read returns the tensors of a file and its metadata, nil if there is none. The values are copied, data is not kept.
// NaN and infinities are accepted.
//
// Errors wrap ErrFormat and name the tensor: a header that is longer than MaxHeader or the file, is not a JSON object,
// or repeats a name; metadata other than strings; a type other than F64, or an unknown field; a shape that is negative,
// too large or not the length of the data; offsets outside the file, overlapping or with holes; bytes behind the last
// tensor.
func Read(data []byte) (Tensors, map[string]string, error) {
	if len(data) < 8 {
		return nil, nil, malformed("%d bytes are too few for a header", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	if n > MaxHeader || n > uint64(len(data)-8) {
		return nil, nil, malformed("header of %d bytes in a file of %d", n, len(data))
	}
	entries, metadata, err := parseHeader(data[8 : 8+n])
	if err != nil {
		return nil, nil, err
	}
	body := data[8+n:]
	if err := checkLayout(entries, uint64(len(body))); err != nil {
		return nil, nil, err
	}
	tensors := make(Tensors, len(entries))
	for name, e := range entries {
		values := body[e.Offsets[0]:e.Offsets[1]]
		t := Tensor{Shape: e.Shape, Data: make([]float64, len(values)/float64Size)}
		_, _ = binary.Decode(values, binary.LittleEndian, t.Data) // as long as the values
		tensors[name] = t
	}
	return tensors, metadata, nil
}

// parseHeader reads the header token by token, because encoding/json accepts a repeated name.
func parseHeader(head []byte) (map[string]entry, map[string]string, error) {
	if len(head) == 0 || head[0] != '{' || !utf8.Valid(head) {
		return nil, nil, malformed("header is not a JSON object in UTF-8")
	}
	var metadata map[string]string
	entries := map[string]entry{}
	dec := json.NewDecoder(bytes.NewReader(head))
	dec.DisallowUnknownFields()
	err := members(dec, "header is not a JSON object", func(name string) error {
		if name == metadataKey {
			if metadata != nil {
				return malformed("metadata appears twice")
			}
			metadata = map[string]string{}
			return parseMetadata(dec, metadata)
		}
		if _, ok := entries[name]; ok {
			return malformed("tensor %q appears twice", name)
		}
		var e entry
		if err := dec.Decode(&e); err != nil {
			return malformed("tensor %q: %v", name, err)
		}
		entries[name] = e
		return nil
	})
	if err == nil && len(bytes.Trim(head[dec.InputOffset():], " \t\r\n")) > 0 {
		err = malformed("header has trailing bytes")
	}
	return entries, metadata, err
}

func parseMetadata(dec *json.Decoder, metadata map[string]string) error {
	return members(dec, "metadata is not an object", func(name string) error {
		if _, ok := metadata[name]; ok {
			return malformed("metadata %q appears twice", name)
		}
		value, err := dec.Token()
		text, ok := value.(string)
		if err != nil || !ok {
			return malformed("metadata %q is not a string", name)
		}
		metadata[name] = text
		return nil
	})
}

// members calls value for each name of the object that dec is at, or returns the problem if there is no object.
func members(dec *json.Decoder, problem string, value func(name string) error) error {
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return malformed("%s", problem)
	}
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return malformed("%s", problem)
		}
		if err := value(name); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return malformed("header is cut short")
	}
	return nil
}

// checkLayout checks that the tensors are float64 and cover exactly total bytes.
func checkLayout(entries map[string]entry, total uint64) error {
	names := slices.Sorted(maps.Keys(entries))
	for _, name := range names {
		e := entries[name]
		switch {
		case e.DType != float64Type:
			return malformed("tensor %q: unknown type %q", name, e.DType)
		case e.Shape == nil:
			return malformed("tensor %q: no shape", name)
		case len(e.Offsets) != 2 || e.Offsets[0] > e.Offsets[1] || e.Offsets[1] > total:
			return malformed("tensor %q: offsets %v in %d bytes", name, e.Offsets, total)
		}
		if n, ok := count(e.Shape, total); !ok || n*float64Size != e.Offsets[1]-e.Offsets[0] {
			return malformed("tensor %q: shape %v of %s in %d bytes", name, e.Shape, e.DType, e.Offsets[1]-e.Offsets[0])
		}
	}
	slices.SortStableFunc(names,
		func(a, b string) int { return slices.Compare(entries[a].Offsets, entries[b].Offsets) })
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
