package reproduce

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	endian "encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// ErrIDX is wrapped by the errors of files that are no IDX files of digits.
var ErrIDX = errors.New("malformed IDX file")

// Digits are images of handwritten digits.
type Digits struct {
	Rows, Columns int
	Pixels        []byte // image after image, row after row; 0 is background
	Labels        []byte // the digit of each image
}

// The first four bytes of the files at the MNIST site: two zeros, the code of unsigned bytes, the number of dimensions.
const (
	magicImages = "\x00\x00\x08\x03"
	magicLabels = "\x00\x00\x08\x01"
)

// maxBytes bounds the content of an IDX file: those of the MNIST site have 47 million.
const maxBytes = 1 << 30

// ReadDigits reads the images and labels of a pair of IDX files, as they are at the MNIST site, gzipped where a name ends
// in .gz. Errors name the file; those of its content wrap ErrIDX. Memory follows the content, not what a header claims.
func ReadDigits(images, labels string) (*Digits, error) {
	dims, pixels, err := readIDX(images, magicImages)
	if err != nil {
		return nil, err
	}
	d := &Digits{Rows: dims[1], Columns: dims[2], Pixels: pixels}
	count := dims[0]
	if dims, d.Labels, err = readIDX(labels, magicLabels); err != nil {
		return nil, err
	}
	if dims[0] != count {
		return nil, fmt.Errorf("reading %q: %w: %d labels of the %d images in %q", labels, ErrIDX, dims[0], count, images)
	}
	if i := slices.IndexFunc(d.Labels, func(label byte) bool { return label > 9 }); i >= 0 {
		return nil, fmt.Errorf("reading %q: %w: label %d of image %d is no digit", labels, ErrIDX, d.Labels[i], i+1)
	}
	return d, nil
}

func readIDX(path, magic string) (dims []int, data []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading %q: %w", path, err)
		}
	}()
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	in := io.Reader(bufio.NewReader(file))
	if strings.HasSuffix(strings.ToLower(path), ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			return nil, nil, err
		}
	}
	return decodeIDX(in, magic)
}

// decodeIDX returns the sizes and the content of an IDX file of unsigned bytes that begins with magic and ends with its
// content.
func decodeIDX(in io.Reader, magic string) (dims []int, data []byte, err error) {
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(in, begin); err != nil {
		return nil, nil, ends(err, "in its magic number")
	}
	if string(begin) != magic {
		return nil, nil, fmt.Errorf("%w: magic number %x, want %x", ErrIDX, begin, magic)
	}
	sizes := make([]uint32, magic[3])
	if err := endian.Read(in, endian.BigEndian, sizes); err != nil {
		return nil, nil, ends(err, "in its sizes")
	}
	total := int64(1)
	for _, size := range sizes {
		if size == 0 || int64(size) > maxBytes/total {
			return nil, nil, fmt.Errorf("%w: sizes %d, want from 1 to %d bytes", ErrIDX, sizes, maxBytes)
		}
		total *= int64(size)
		dims = append(dims, int(size))
	}
	data, err = io.ReadAll(io.LimitReader(in, total+1))
	switch {
	case err != nil:
		return nil, nil, ends(err, "in its content")
	case int64(len(data)) < total:
		return nil, nil, fmt.Errorf("%w: it ends after %d of %d bytes", ErrIDX, len(data), total)
	case int64(len(data)) > total:
		return nil, nil, fmt.Errorf("%w: more follows its %d bytes", ErrIDX, total)
	}
	return dims, data, nil
}

// ends returns an error of reading, which for an early end is one of the format.
func ends(err error, where string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends %s", ErrIDX, where)
	}
	return err
}

// fingerprint returns the SHA-256 of the images with their labels, "" of none.
func (d *Digits) fingerprint() string {
	if d == nil {
		return ""
	}
	h := sha256.New() // which accepts every write
	_, _ = fmt.Fprintf(h, "%d %d\n", d.Rows, d.Columns)
	_, _ = h.Write(d.Pixels)
	_, _ = h.Write(d.Labels)
	return hex.EncodeToString(h.Sum(nil))
}
