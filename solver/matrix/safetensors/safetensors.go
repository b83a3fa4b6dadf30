// Package safetensors reads and writes the tensor container of that name, like Python's safetensors:
//
//	u64 little-endian   length N of the header
//	N bytes             JSON object: name -> {"dtype","shape","data_offsets"}, "__metadata__" -> {string: string}
//	the rest            the tensors' values, row-major, little-endian float64: the only type of this package
//
// Offsets count from the end of the header and cover the rest without hole or overlap. Write pads the header with
// spaces to a multiple of 8 bytes, so that values are aligned in a mapped file. Files are not trusted: Read checks a
// file against the length of the input before it allocates, and an error names the tensor.
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/jsonscan"
)

// float64Type is the only type of the format that this package accepts; its values have float64Size bytes.
const (
	float64Type = "F64"
	float64Size = 8
)

// Tensors maps names to arrays.
type Tensors map[string]Tensor

// Tensor is an array in row-major order. One without dimensions is a scalar and holds one value.
type Tensor struct {
	Shape []int
	Data  []float64
}

// Float64 returns the values of the named tensor, which are not copied. It is an error if the tensor is missing, has
// another shape (-1 stands for any size), or holds a value that is not finite.
func (t Tensors) Float64(name string, shape ...int) ([]float64, error) {
	x, ok := t[name]
	if !ok {
		return nil, fmt.Errorf("tensor %q: not found", name)
	}
	if !slices.EqualFunc(x.Shape, shape, func(got, want int) bool { return got == want || want == -1 }) {
		return nil, fmt.Errorf("tensor %q: shape %v, want %v", name, x.Shape, shape)
	}
	for i, v := range x.Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("tensor %q: value %d is %v", name, i, v)
		}
	}
	return x.Data, nil
}

// Of returns a matrix as a tensor, which may share its data.
func Of(a *mat.Dense) Tensor {
	raw := a.RawMatrix()
	if raw.Stride != raw.Cols {
		raw = mat.DenseCopyOf(a).RawMatrix()
	}
	return Tensor{Shape: []int{raw.Rows, raw.Cols}, Data: raw.Data[:raw.Rows*raw.Cols]}
}

// OfList returns a list as a tensor, which shares it.
func OfList(values []float64) Tensor { return Tensor{Shape: []int{len(values)}, Data: values} }

// ErrFormat is wrapped by every error about the contents of a file.
var ErrFormat = errors.New("malformed safetensors")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// count returns the product of the dimensions, false if one is negative or the product exceeds limit.
func count(shape []int, limit uint64) (uint64, bool) {
	if slices.ContainsFunc(shape, func(d int) bool { return d < 0 }) {
		return 0, false
	}
	if slices.Contains(shape, 0) {
		return 0, true
	}
	n := uint64(1)
	for _, d := range shape {
		if n > limit/uint64(d) {
			return 0, false
		}
		n *= uint64(d)
	}
	return n, true
}

// MaxHeader is the largest header in bytes that is read or written, the limit of Python's safetensors.
const MaxHeader = 100_000_000

// Bounds of what a header may hold, beyond what any model has: they are counted before it is decoded.
const (
	maxTensors = 10_000
	maxCommas  = 1 << 20 // between tensors, fields and dimensions
)

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
// repeats a name, or has more than 10,000 tensors; metadata other than strings; a type other than F64, or an unknown
// field; a shape that is negative, too large or not the length of the data; offsets outside the file, overlapping or
// with holes; bytes behind the last tensor.
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

// ReadNext is Read of the next of several files that follow each other. It returns io.EOF if there is none.
func ReadNext(r io.Reader) (Tensors, map[string]string, error) {
	var data bytes.Buffer // grows with what is there, whatever a file says of its length
	next := func(n uint64) error {
		_, err := io.CopyN(&data, r, int64(min(n, math.MaxInt64)))
		if errors.Is(err, io.EOF) && data.Len() > 0 {
			err = malformed("ends after %d bytes", data.Len())
		}
		return err
	}
	err := next(8)
	if err == nil {
		err = next(min(binary.LittleEndian.Uint64(data.Bytes()), MaxHeader))
	}
	if err != nil {
		return nil, nil, err
	}
	entries, _, err := parseHeader(data.Bytes()[8:])
	if err != nil {
		return nil, nil, err
	}
	var end uint64
	for _, e := range entries {
		end = max(end, slices.Max(append(e.Offsets, 0)))
	}
	if err := next(end); err != nil {
		return nil, nil, err
	}
	return Read(data.Bytes())
}

// parseHeader reads the header member by member, because encoding/json accepts a repeated name.
func parseHeader(head []byte) (entries map[string]entry, metadata map[string]string, err error) {
	if len(head) == 0 || head[0] != '{' || !utf8.Valid(head) {
		return nil, nil, malformed("header is not a JSON object in UTF-8")
	}
	if bytes.Count(head, []byte(",")) > maxCommas {
		return nil, nil, malformed("a header of more than %d values", maxCommas)
	}
	text := string(head)
	scan := jsonscan.New(text)
	fail := func(format string, args ...any) bool {
		err = malformed(format, args...)
		return false
	}
	datum := func(name string) (ok bool) {
		if _, twice := metadata[name]; twice {
			return fail("metadata %q appears twice", name)
		}
		if scan.Peek() != '"' {
			return fail("metadata %q is not a string", name)
		}
		metadata[name], ok = scan.Quoted()
		return ok
	}
	entries = map[string]entry{}
	member := func(name string) bool {
		_, twice := entries[name]
		switch {
		case name == metadataKey && metadata != nil:
			return fail("metadata appears twice")
		case name == metadataKey && scan.Peek() != '{':
			return fail("metadata is not an object")
		case name == metadataKey:
			metadata = map[string]string{}
			return scan.Object(datum)
		case twice:
			return fail("tensor %q appears twice", name)
		case len(entries) == maxTensors:
			return fail("more than %d tensors", maxTensors)
		}
		var e entry
		dec := json.NewDecoder(strings.NewReader(text[scan.Offset():]))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil {
			return fail("tensor %q: %v", name, err)
		}
		entries[name] = e
		return scan.Skip(1)
	}
	switch ok := scan.Object(member); {
	case err != nil || ok && scan.End():
	case ok:
		fail("header has trailing bytes")
	case scan.End():
		fail("header is cut short")
	default:
		fail("header is not a JSON object")
	}
	return entries, metadata, err
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
