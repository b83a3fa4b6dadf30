package smf

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// idx returns an IDX file: magic number, sizes, content.
func idx(magic string, content []byte, sizes ...byte) []byte {
	file := []byte(magic)
	for _, size := range sizes {
		file = append(file, 0, 0, 0, size)
	}
	return append(file, content...)
}

// The first four bytes of images and of labels at the MNIST site.
const (
	magicImages = "\x00\x00\x08\x03"
	magicLabels = "\x00\x00\x08\x01"
)

func written(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadDigits(t *testing.T) {
	t.Parallel()
	images, labels := idx(magicImages, []byte{0, 1, 2, 3, 4, 255}, 1, 2, 3), idx(magicLabels, []byte{7}, 1)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(images); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := &Digits{Rows: 2, Columns: 3, Pixels: []byte{0, 1, 2, 3, 4, 255}, Labels: []byte{7}}
	for _, path := range []string{written(t, "images-idx3-ubyte", images), written(t, "images-idx3-ubyte.gz",
		zipped.Bytes())} {
		got, err := ReadDigits(path, written(t, "labels", labels))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	if whole := want.fingerprint(); (&Digits{
		Rows: 3, Columns: 2, Pixels: want.Pixels, Labels: want.Labels,
	}).fingerprint() == whole || (*Digits)(nil).fingerprint() != "" {
		t.Error("images of other sizes have the same fingerprint, or none has one")
	}
}

func TestReadDigitsRefuses(t *testing.T) {
	t.Parallel()
	images, labels := idx(magicImages, make([]byte, 8), 2, 2, 2), idx(magicLabels, []byte{0, 9}, 2)
	for name, c := range map[string]struct {
		images, labels []byte
		file, want     string
	}{
		"empty":             {nil, labels, "images", "it does not begin with the bytes 00000803 and 3 sizes"},
		"half a number":     {images[:3], labels, "images", "does not begin with the bytes 00000803"},
		"labels for images": {labels, labels, "images", "does not begin with the bytes 00000803"},
		"images for labels": {images, images, "labels", "does not begin with the bytes 00000801"},
		"floats": {
			idx("\x00\x00\x0d\x03", make([]byte, 32), 2, 2, 2), labels, "images",
			"does not begin with the bytes 00000803",
		},
		"zipped":         {[]byte("\x1f\x8b\x08\x00"), labels, "images", "does not begin with the bytes 00000803"},
		"no sizes":       {images[:4], labels, "images", "and 3 sizes"},
		"half the sizes": {images[:14], labels, "images", "and 3 sizes"},
		"no images":      {idx(magicImages, nil, 0, 2, 2), labels, "images", "its size 1 is 0"},
		"truncated": {
			images[:len(images)-1], labels, "images", "it has 7 bytes, but its sizes [2 2 2] make 8",
		},
		"truncated labels": {images, labels[:len(labels)-1], "labels", "it has 1 bytes, but its sizes [2] make 2"},
		"too long":         {append(bytes.Clone(images), 0), labels, "images", "it has 9 bytes"},
		"endless": {
			append([]byte(magicImages), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"...),
			labels, "images", "its size 1 is 4294967295",
		},
		"huge but one": {
			append([]byte(magicImages), "\x40\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01"...),
			labels, "images", "it has 0 bytes, but its sizes [1073741824 1 1] make 1073741824",
		},
		"more labels":         {images, idx(magicLabels, make([]byte, 3), 3), "labels", "3 labels of the 2 images"},
		"a label is no digit": {images, idx(magicLabels, []byte{0, 10}, 2), "labels", "label 10 of image 2"},
	} {
		files := map[string]string{"images": written(t, "images", c.images), "labels": written(t, "labels", c.labels)}
		got, err := ReadDigits(files["images"], files["labels"])
		if got != nil || !errors.Is(err, ErrIDX) || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), `"`+files[c.file]+`"`) {
			t.Errorf("%s: %v, want %q of the %s", name, err, c.want, c.file)
		}
	}
	if _, err := ReadDigits("missing", "missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := ReadDigits(written(t, "images.gz", images), "missing"); !errors.Is(err, gzip.ErrHeader) {
		t.Errorf("a file that is not zipped: %v", err)
	}
}

func FuzzDecodeIDX(f *testing.F) {
	f.Add(idx(magicImages, []byte{1, 2, 3, 4}, 1, 2, 2))
	f.Add(idx(magicImages, nil, 255, 255, 255))
	f.Add([]byte(magicImages + "\x00\x00\x80\x00\x00\x00\x80\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, file []byte) {
		dims, data, err := decodeIDX(bytes.NewReader(file), 3)
		if err != nil {
			if !errors.Is(err, ErrIDX) || data != nil {
				t.Fatalf("%d bytes and %v", len(data), err)
			}
			return
		}
		again := []byte(magicImages)
		for _, size := range dims {
			again = append(again, byte(size>>24), byte(size>>16), byte(size>>8), byte(size))
		}
		if !bytes.Equal(append(again, data...), file) {
			t.Fatalf("%d dimensions and %d bytes make another file", len(dims), len(data))
		}
	})
}
