package matrixio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

const (
	npyMagic = "\x93NUMPY"
	// maxNPYHeader is far above the 118 bytes that NumPy writes for a matrix.
	maxNPYHeader = 1 << 12
	// npyAlign is the multiple that the bytes before the data are padded to.
	npyAlign = 64
)

// readNPY reads a NumPy array (NEP 1, format versions 1 to 3) of booleans, integers of any width up to 64 bits,
// or floats of 32 or 64, of either byte order, in C or Fortran order. An array of one dimension is a single column.
// Integers beyond 2⁵³ are rounded.
//
// It returns an *Error that wraps ErrFormat for a header that does not parse, a shape without entries, or data
// shorter or longer than the shape says; ErrUnsupported for other types and dimensions; linalg.ErrNonFinite,
// with row and column, for NaN and infinities.
func readNPY(r io.Reader) (*mat.Dense, error) {
	in := bufio.NewReaderSize(r, bufferSize)
	header, err := readNPYHeader(in)
	if err != nil {
		return nil, err
	}
	h, err := parseNPYHeader(header)
	if err != nil {
		return nil, err
	}
	values, err := h.readValues(in)
	if err != nil {
		return nil, err
	}
	var x *mat.Dense
	if h.fortran {
		x = mat.DenseCopyOf(mat.NewDense(h.columns, h.rows, values).T())
	} else {
		x = mat.NewDense(h.rows, h.columns, values)
	}
	for i := range h.rows {
		for j, v := range x.RawRowView(i) {
			if v-v != 0 {
				return nil, &Error{Err: fmt.Errorf("row %d, column %d: %w: %g", i+1, j+1, linalg.ErrNonFinite, v)}
			}
		}
	}
	return x, nil
}

// npyHeader describes the matrix.
type npyHeader struct {
	order         binary.ByteOrder
	kind          byte // b, i, u or f
	size          int  // bytes of an entry
	fortran       bool
	rows, columns int
}

// readNPYHeader returns the text between the preamble and the data.
func readNPYHeader(in io.Reader) (string, error) {
	var preamble [8]byte
	if _, err := io.ReadFull(in, preamble[:]); err != nil {
		return "", npyEnd(err)
	}
	if string(preamble[:6]) != npyMagic {
		return "", malformed(0, 0, "not a NumPy array")
	}
	var length uint32
	switch preamble[6] {
	case 1:
		var short uint16
		if err := binary.Read(in, binary.LittleEndian, &short); err != nil {
			return "", npyEnd(err)
		}
		length = uint32(short)
	case 2, 3:
		if err := binary.Read(in, binary.LittleEndian, &length); err != nil {
			return "", npyEnd(err)
		}
	default:
		return "", unsupported(0, "NumPy format version %d", preamble[6])
	}
	if length > maxNPYHeader {
		return "", malformed(0, 0, "a header of %d bytes", length)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(in, header); err != nil {
		return "", npyEnd(err)
	}
	return string(header), nil
}

// npyEnd turns the end of the input into an ErrFormat.
func npyEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed(0, 0, "the file ends before its data does")
	}
	return err
}

// parseNPYHeader parses a Python dictionary such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
func parseNPYHeader(header string) (*npyHeader, error) {
	h := &npyHeader{}
	seen := map[string]bool{}
	rest, ok := strings.CutPrefix(strings.TrimSpace(header), "{")
	for ok {
		if rest = strings.TrimSpace(rest); rest == "}" {
			break
		}
		var key, value string
		if key, rest, ok = cutQuoted(rest); !ok || seen[key] {
			return nil, malformed(0, 0, "a header that is no dictionary of three keys")
		}
		seen[key] = true
		rest, ok = strings.CutPrefix(strings.TrimSpace(rest), ":")
		rest = strings.TrimSpace(rest)
		var err error
		switch {
		case !ok:
		case key == "descr":
			if value, rest, ok = cutQuoted(rest); !ok {
				return nil, unsupported(0, "a structured type")
			}
			err = h.setType(value)
		case key == "fortran_order":
			if rest, h.fortran = strings.CutPrefix(rest, "True"); !h.fortran {
				rest, ok = strings.CutPrefix(rest, "False")
			}
		case key == "shape":
			rest, ok = strings.CutPrefix(rest, "(")
			value, rest, _ = strings.Cut(rest, ")")
			err = h.setShape(value)
		default:
			ok = false
		}
		if err != nil {
			return nil, err
		}
		var comma bool
		rest, comma = strings.CutPrefix(strings.TrimSpace(rest), ",")
		ok = ok && (comma || rest == "}")
	}
	if !ok || len(seen) != 3 {
		return nil, malformed(0, 0, "a header that is no dictionary of three keys")
	}
	return h, nil
}

// cutQuoted cuts a quoted string off the start of s.
func cutQuoted(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return "", s, false
	}
	return strings.Cut(s[1:], s[:1])
}

func (h *npyHeader) setType(descr string) error {
	if strings.HasSuffix(descr, "f2") {
		return unsupported(0, "an array of float16; save it as float32")
	}
	if len(descr) != 3 {
		return unsupported(0, "an array of another type than booleans, integers, float32 and float64")
	}
	switch descr[0] {
	case '<', '|', '=':
		h.order = binary.LittleEndian
	case '>':
		h.order = binary.BigEndian
	default:
		return malformed(0, 0, "an unknown byte order")
	}
	h.kind, h.size = descr[1], int(descr[2]-'0')
	switch descr[1:] {
	case "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8":
		return nil
	}
	return unsupported(0, "an array of another type than booleans, integers, float32 and float64")
}

func (h *npyHeader) setShape(shape string) error {
	dims := strings.Split(strings.TrimSuffix(strings.TrimSpace(shape), ","), ",")
	if len(dims) > 2 || strings.TrimSpace(shape) == "" {
		return unsupported(0, "an array that has neither one nor two dimensions")
	}
	size := []int{1, 1}
	for d, text := range dims {
		v, ok := atoi([]byte(strings.TrimSpace(text)))
		switch {
		case !ok:
			return malformed(0, 0, "a shape that is no tuple of counts")
		case v == 0:
			return malformed(0, 0, "an array without entries")
		}
		size[d] = v
	}
	h.rows, h.columns = size[0], size[1]
	if h.rows > math.MaxInt/8/h.columns {
		return malformed(0, 0, "a shape of %d×%d", h.rows, h.columns)
	}
	return nil
}

// readValues reads all entries in file order, and returns an error if anything follows.
func (h *npyHeader) readValues(in io.Reader) ([]float64, error) {
	var values []float64
	buffer := make([]byte, bufferSize) // a multiple of every size
	for left := h.rows * h.columns; left > 0; {
		chunk := buffer[:min(left, bufferSize/h.size)*h.size]
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, npyEnd(err)
		}
		for ; len(chunk) > 0; chunk = chunk[h.size:] {
			v, ok := h.value(chunk[:h.size])
			if !ok {
				return nil, malformed(0, 0, "entry %d is no boolean", len(values)+1)
			}
			values = append(values, v)
			left--
		}
	}
	switch _, err := io.ReadFull(in, buffer[:1]); {
	case err == nil:
		return nil, malformed(0, 0, "data after the %d×%d entries", h.rows, h.columns)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return values, nil
}

// value decodes one entry; it is not ok when a boolean is neither 0 nor 1.
func (h *npyHeader) value(b []byte) (v float64, ok bool) {
	var bits uint64
	switch h.size {
	case 1:
		bits = uint64(b[0])
	case 2:
		bits = uint64(h.order.Uint16(b))
	case 4:
		bits = uint64(h.order.Uint32(b))
	default:
		bits = h.order.Uint64(b)
	}
	switch h.kind {
	case 'b':
		return float64(bits), bits <= 1
	case 'u':
		return float64(bits), true
	case 'i':
		unused := 64 - 8*h.size
		return float64(int64(bits<<unused) >> unused), true
	default:
		if h.size == 4 {
			return float64(math.Float32frombits(uint32(bits))), true
		}
		return math.Float64frombits(bits), true
	}
}

// WriteNPY writes a as a NumPy array of version 1: <f8, C order. The same matrix gives the same bytes.
func WriteNPY(w io.Writer, a *mat.Dense) error {
	n, p := a.Dims()
	out := bufio.NewWriterSize(w, bufferSize)
	header := "{'descr': '<f8', 'fortran_order': False, 'shape': (" + strconv.Itoa(n) + ", " + strconv.Itoa(p) + "), }"
	const preamble = len(npyMagic) + 2 + 2 // magic, version, length
	padding := npyAlign - (preamble+len(header)+1)%npyAlign
	header += strings.Repeat(" ", padding%npyAlign) + "\n"

	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	b = append(b, header...)
	for i := range n {
		if _, err := out.Write(b); err != nil {
			return fmt.Errorf("writing array: %w", err)
		}
		b = b[:0]
		for _, v := range a.RawRowView(i) {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	if _, err := out.Write(b); err != nil {
		return fmt.Errorf("writing array: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing array: %w", err)
	}
	return nil
}
