package matrixio

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	npyMagic = "\x93NUMPY"
	// maxNPYHeader is far above the 118 bytes that NumPy writes for a matrix.
	maxNPYHeader = 1 << 12
	// chunkEntries is the number of entries that are read at once.
	chunkEntries = 1 << 13
)

// readNPY reads a NumPy array (NEP 1, format versions 1 to 3) of booleans, integers of any width up to 64 bits,
// or floats of 32 or 64, of either byte order, in C or Fortran order. An array of one dimension is a single column.
// Integers beyond 2⁵³ are rounded.
//
// It returns a *table.Error that wraps ErrFormat for a header that does not parse, a shape without entries, or data
// shorter or longer than the shape says; ErrUnsupported for other types and dimensions; linalg.ErrNonFinite,
// with row and column, for NaN and infinities.
func readNPY(r io.Reader) (mat.Matrix, error) {
	in := bufio.NewReaderSize(r, bufferSize)
	text, err := readNPYHeader(in)
	if err != nil {
		return nil, npyEnd(err)
	}
	h, err := parseNPYHeader(text)
	if err != nil {
		return nil, err
	}
	values, err := h.read(in, h.order, h.rows*h.columns)
	if err != nil {
		return nil, npyEnd(err)
	}
	switch _, err := in.ReadByte(); {
	case err == nil:
		return nil, malformed(0, 0, "data after the %d×%d entries", h.rows, h.columns)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	x := mat.NewDense(h.rows, h.columns, values)
	if h.fortran {
		x = mat.DenseCopyOf(mat.NewDense(h.columns, h.rows, values).T())
	}
	for i := range h.rows {
		for j, v := range x.RawRowView(i) {
			if v-v != 0 {
				return nil, at(0, 0, fmt.Errorf("row %d, column %d: %w: %g", i+1, j+1, linalg.ErrNonFinite, v))
			}
		}
	}
	return x, nil
}

type npyHeader struct {
	order         binary.ByteOrder
	read          func(in io.Reader, order binary.ByteOrder, count int) ([]float64, error)
	fortran       bool
	rows, columns int
}

// readNPYHeader returns the text between the preamble and the data.
func readNPYHeader(in io.Reader) (string, error) {
	var preamble [8]byte
	if _, err := io.ReadFull(in, preamble[:]); err != nil {
		return "", err
	}
	if string(preamble[:len(npyMagic)]) != npyMagic {
		return "", malformed(0, 0, "not a NumPy array")
	}
	var size [4]byte
	width, version := len(size), preamble[len(npyMagic)]
	switch version {
	case 1:
		width = 2
	case 2, 3:
	default:
		return "", unsupported(0, "NumPy format version %d", version)
	}
	if _, err := io.ReadFull(in, size[:width]); err != nil {
		return "", err
	}
	length := binary.LittleEndian.Uint32(size[:])
	if length > maxNPYHeader {
		return "", malformed(0, 0, "a header of %d bytes", length)
	}
	header := make([]byte, length)
	_, err := io.ReadFull(in, header)
	return string(header), err
}

// npyEnd turns the end of the input into an ErrFormat.
func npyEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed(0, 0, "the file ends before its data does")
	}
	return err
}

// npyJSON makes JSON of the texts, truths and tuples of a Python dictionary, but for the commas after the last entries.
var (
	npyJSON      = strings.NewReplacer("'", `"`, "True", "true", "False", "false", "(", "[", ")", "]")
	npyLastComma = regexp.MustCompile(`,(\s*[\]}])`)
)

// parseNPYHeader parses a Python dictionary such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
func parseNPYHeader(header string) (*npyHeader, error) {
	var entries struct {
		Type    any   `json:"descr"` // a list describes a structured type
		Fortran *bool `json:"fortran_order"`
		Shape   []int `json:"shape"`
	}
	dec := json.NewDecoder(strings.NewReader(npyLastComma.ReplaceAllString(npyJSON.Replace(header), "$1")))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&entries); err != nil || dec.More() || entries.Type == nil || entries.Fortran == nil ||
		entries.Shape == nil {
		return nil, malformed(0, 0, "a header that is not a dictionary of a type, an order and a shape of counts")
	}
	descr, ok := entries.Type.(string)
	if !ok {
		return nil, unsupported(0, "a structured type")
	}
	h := &npyHeader{fortran: *entries.Fortran}
	if err := h.setType(descr); err != nil {
		return nil, err
	}
	return h, h.setShape(entries.Shape)
}

// npyTypes reads entries by their type without the byte order.
var npyTypes = map[string]func(in io.Reader, order binary.ByteOrder, count int) ([]float64, error){
	"b1": readBooleans,
	"i1": readEntries[int8], "i2": readEntries[int16], "i4": readEntries[int32], "i8": readEntries[int64],
	"u1": readEntries[uint8], "u2": readEntries[uint16], "u4": readEntries[uint32], "u8": readEntries[uint64],
	"f4": readEntries[float32], "f8": readEntries[float64],
}

func (h *npyHeader) setType(descr string) error {
	if strings.HasSuffix(descr, "f2") {
		return unsupported(0, "an array of float16; save it as float32")
	}
	if len(descr) == 3 {
		h.read = npyTypes[descr[1:]]
	}
	switch {
	case h.read == nil:
		return unsupported(0, "an array of another type than booleans, integers, float32 and float64")
	case strings.ContainsRune("<|=", rune(descr[0])):
		h.order = binary.LittleEndian
	case descr[0] == '>':
		h.order = binary.BigEndian
	default:
		return malformed(0, 0, "an unknown byte order")
	}
	return nil
}

func (h *npyHeader) setShape(dims []int) error {
	switch {
	case len(dims) != 1 && len(dims) != 2:
		return unsupported(0, "an array that has neither one nor two dimensions")
	case slices.Min(dims) < 1:
		return malformed(0, 0, "a shape of %v, which must be above 0", dims)
	}
	h.rows, h.columns = dims[0], append(dims, 1)[1]
	if h.rows > math.MaxInt/8/h.columns {
		return malformed(0, 0, "a shape of %d×%d", h.rows, h.columns)
	}
	return nil
}

func readEntries[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 |
	float64](in io.Reader, order binary.ByteOrder, count int) ([]float64, error) {
	var values []float64
	chunk := make([]T, min(count, chunkEntries))
	for left := count; left > 0; left -= len(chunk) {
		chunk = chunk[:min(left, len(chunk))]
		if err := binary.Read(in, order, chunk); err != nil {
			return nil, err
		}
		for _, v := range chunk {
			values = append(values, float64(v))
		}
	}
	return values, nil
}

func readBooleans(in io.Reader, order binary.ByteOrder, count int) ([]float64, error) {
	values, err := readEntries[uint8](in, order, count)
	for i, v := range values {
		if v > 1 {
			return nil, malformed(0, 0, "entry %d is not a boolean", i+1)
		}
	}
	return values, err
}

// count parses an unsigned decimal that fits an int.
func count(field string) (v int, ok bool) {
	u, err := strconv.ParseUint(field, 10, strconv.IntSize-1)
	return int(u), err == nil
}
