package smf

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
)

// ErrIDX is wrapped by the errors of files that are not IDX files of digits.
var ErrIDX = errors.New("malformed IDX file")

// Digits are images of handwritten digits.
type Digits struct {
	Rows, Columns int
	Pixels        []byte // image after image, row after row; 0 is background
	Labels        []byte // the digit of each image
}

// maxBytes bounds the content of an IDX file: those of the MNIST site have 47 million.
const maxBytes = 1 << 30

// ReadDigits reads the images and labels of a pair of IDX files, as they are at the MNIST site, gzipped if a name ends in
// .gz. Errors name the file; those of its content wrap ErrIDX. Memory follows the content, not what a header claims.
func ReadDigits(images, labels string) (*Digits, error) {
	sizes, pixels, err := readIDX(images, 3)
	if err != nil {
		return nil, err
	}
	count, digits, err := readIDX(labels, 1)
	if err != nil {
		return nil, err
	}
	if count[0] != sizes[0] {
		return nil, fmt.Errorf("reading %q: %w: %d labels of the %d images in %q", labels, ErrIDX, count[0], sizes[0], images)
	}
	if i := slices.IndexFunc(digits, func(label byte) bool { return label > 9 }); i >= 0 {
		return nil, fmt.Errorf("reading %q: %w: label %d of image %d is not a digit", labels, ErrIDX, digits[i], i+1)
	}
	return &Digits{sizes[1], sizes[2], pixels, digits}, nil
}

func readIDX(path string, dims int) (sizes []int, data []byte, err error) {
	err = withContent(path, func(in io.Reader) (err error) {
		sizes, data, err = decodeIDX(in, dims)
		return err
	})
	if err != nil {
		err = fmt.Errorf("reading %q: %w", path, err)
	}
	return sizes, data, err
}

// decodeIDX returns the sizes and the content of an IDX file of unsigned bytes: two zeros, their code 8, the number of
// dimensions, the sizes, and then the bytes.
func decodeIDX(in io.Reader, dims int) (sizes []int, data []byte, err error) {
	file, err := io.ReadAll(io.LimitReader(in, maxBytes))
	if err != nil {
		return nil, nil, err
	}
	begin := 4 + 4*dims
	if magic := []byte{0, 0, 8, byte(dims)}; len(file) < begin || !bytes.HasPrefix(file, magic) {
		return nil, nil, fmt.Errorf("%w: it does not begin with the bytes %x and %d sizes", ErrIDX, magic, dims)
	}
	total := 1
	for at := 4; at < begin; at += 4 {
		size := binary.BigEndian.Uint32(file[at:])
		if size == 0 || int64(size) > int64(maxBytes/total) {
			return nil, nil, fmt.Errorf("%w: its size %d is %d", ErrIDX, at/4, size)
		}
		sizes, total = append(sizes, int(size)), total*int(size)
	}
	if data = file[begin:]; len(data) != total {
		return nil, nil, fmt.Errorf("%w: it has %d bytes, but its sizes %d make %d", ErrIDX, len(data), sizes, total)
	}
	return sizes, data, nil
}

// withContent hands the content of a file to read, unzipped if the name ends in .gz.
func withContent(path string, read func(io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	in := io.Reader(bufio.NewReader(file))
	if strings.HasSuffix(strings.ToLower(path), ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			return err
		}
	}
	return read(in)
}

// fingerprint returns the SHA-256 of the images with their labels, "" for none.
func (d *Digits) fingerprint() string {
	if d == nil {
		return ""
	}
	return report.Fingerprint(func(add func(string, ...any)) { add("%d %d\n%s%s", d.Rows, d.Columns, d.Pixels, d.Labels) })
}
