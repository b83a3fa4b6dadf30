package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// chunk is the number of bytes that Write encodes at a time.
const chunk = 1 << 16

// Write writes the tensors and the metadata, which may be nil. Like Python's safetensors it lays tensors out by falling
// width of their type and then by name, so that equal contents give equal bytes whatever their order. Names must be
// distinct and other than "__metadata__", and a shape must multiply to the length of its data. Tensors are not
// modified.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	order := make([]*Tensor, len(tensors))
	for i := range tensors {
		order[i] = &tensors[i]
	}
	slices.SortFunc(order, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(rank(a.DType()), rank(b.DType())), cmp.Compare(a.Name, b.Name))
	})
	head, err := header(order, metadata)
	if err != nil {
		return fmt.Errorf("writing safetensors: %w", err)
	}
	buf := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(head)), uint64(len(head)))
	if _, err := w.Write(append(buf, head...)); err != nil {
		return fmt.Errorf("writing safetensors header: %w", err)
	}
	for _, t := range order {
		if err := writeData(w, t.Data); err != nil {
			return fmt.Errorf("writing tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// rank orders types as Python's safetensors does: the last of its list of types, ordered by width, first.
func rank(d DType) int { return slices.Index([]DType{I64, F64, F32, I32, U8}, d) }

func header(order []*Tensor, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	member := func(name string, v any) error {
		if b.Len() == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		if err := enc.Encode(name); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // Encode ends lines
		b.WriteByte(':')
		if err := enc.Encode(v); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1)
		return nil
	}
	if len(metadata) > 0 {
		if err := member(metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	var end uint64
	taken := map[string]bool{metadataKey: true}
	for _, t := range order {
		n, dtype := t.measure()
		size, ok := dtype.size()
		if !ok {
			return nil, malformed("tensor %q: data of type %T", t.Name, t.Data)
		}
		if want, ok := count(t.Shape, math.MaxInt); !ok || want != uint64(n) {
			return nil, malformed("tensor %q: shape %v for %d values", t.Name, t.Shape, n)
		}
		if taken[t.Name] || !utf8.ValidString(t.Name) {
			return nil, malformed("tensor %q: name is taken or no UTF-8", t.Name)
		}
		taken[t.Name] = true
		begin := end
		end += uint64(n) * uint64(size)
		shape := t.Shape
		if shape == nil {
			shape = []int{}
		}
		if err := member(t.Name, entry{dtype, shape, []uint64{begin, end}}); err != nil {
			return nil, err
		}
	}
	if b.Len() == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len() > MaxHeader {
		return nil, malformed("header of %d bytes exceeds %d", b.Len(), MaxHeader)
	}
	return b.Bytes(), nil
}

func writeData(w io.Writer, data any) error {
	switch v := data.(type) {
	case []float64:
		return writeChunks(w, v)
	case []float32:
		return writeChunks(w, v)
	case []int64:
		return writeChunks(w, v)
	case []int32:
		return writeChunks(w, v)
	default:
		_, err := w.Write(v.([]uint8))
		return err
	}
}

func writeChunks[T any](w io.Writer, v []T) error {
	var buf []byte
	for c := range slices.Chunk(v, chunk/8) {
		var err error
		if buf, err = binary.Append(buf[:0], binary.LittleEndian, c); err != nil {
			return err
		}
		if _, err = w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}
