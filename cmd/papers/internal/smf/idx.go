package smf

import (
	"bufio"
	"compress/gzip"
	endian "encoding/binary"
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

// The first four bytes of the files at the MNIST site: two zeros, the code of unsigned bytes, the number of dimensions.
const (
	magicImages = "\x00\x00\x08\x03"
	magicLabels = "\x00\x00\x08\x01"
)

// maxBytes bounds the content of an IDX file: those of the MNIST site have 47 million.
const maxBytes = 1 << 30

// ReadDigits reads the images and labels of a pair of IDX files, as they are at the MNIST site. Names that end in .gz are
// those of gzipped files. Errors name the file; those of its content wrap ErrIDX. Memory follows the content, not what a
// header claims.
func ReadDigits(images, labels string) (*Digits, error) {
	dims, pixels, err := readIDX(images, magicImages)
	if err != nil {
		return nil, err
	}
	count, digits, err := readIDX(labels, magicLabels)
	if err != nil {
		return nil, err
	}
	if count[0] != dims[0] {
		return nil, fmt.Errorf("reading %q: %w: %d labels of the %d images in %q", labels, ErrIDX, count[0], dims[0], images)
	}
	if i := slices.IndexFunc(digits, func(label byte) bool { return label > 9 }); i >= 0 {
		return nil, fmt.Errorf("reading %q: %w: label %d of image %d is not a digit", labels, ErrIDX, digits[i], i+1)
	}
	return &Digits{dims[1], dims[2], pixels, digits}, nil
}

func readIDX(path, magic string) (dims []int, data []byte, err error) {
	err = withContent(path, func(in io.Reader) (err error) {
		dims, data, err = decodeIDX(in, magic)
		return err
	})
	if err != nil {
		err = fmt.Errorf("reading %q: %w", path, err)
	}
	return dims, data, err
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

// decodeIDX returns the sizes and the content of an IDX file of unsigned bytes that begins with magic and ends with its
// content.
func decodeIDX(in io.Reader, magic string) (dims []int, data []byte, err error) {
	begin, sizes := make([]byte, len(magic)), make([]uint32, magic[3])
	if _, err := io.ReadFull(in, begin); err != nil {
		return nil, nil, ends(err, "in its magic number")
	}
	if string(begin) != magic {
		return nil, nil, fmt.Errorf("%w: magic number %x, want %x", ErrIDX, begin, magic)
	}
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
	if err != nil {
		return nil, nil, ends(err, "in its content")
	}
	if size := int64(len(data)); size < total {
		return nil, nil, fmt.Errorf("%w: it ends after %d of %d bytes", ErrIDX, size, total)
	} else if size > total {
		return nil, nil, fmt.Errorf("%w: more follows its %d bytes", ErrIDX, total)
	}
	return dims, data, nil
}

// ends makes an early end an error of the format.
func ends(err error, where string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends %s", ErrIDX, where)
	}
	return err
}

// fingerprint returns the SHA-256 of the images with their labels, "" for none.
func (d *Digits) fingerprint() string {
	if d == nil {
		return ""
	}
	return report.Fingerprint(func(add func(string, ...any)) { add("%d %d\n%s%s", d.Rows, d.Columns, d.Pixels, d.Labels) })
}
