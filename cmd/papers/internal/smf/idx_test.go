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
	for _, path := range []string{written(t, "images-idx3-ubyte", images), written(t, "images-idx3-ubyte.gz", zipped.Bytes())} {
		got, err := ReadDigits(path, written(t, "labels", labels))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	if whole := want.fingerprint(); (&Digits{Rows: 3, Columns: 2, Pixels: want.Pixels, Labels: want.Labels}).fingerprint() == whole || (*Digits)(nil).fingerprint() != "" {
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
		"empty":               {nil, labels, "images", "ends in its magic number"},
		"half a number":       {images[:3], labels, "images", "ends in its magic number"},
		"labels for images":   {labels, labels, "images", "magic number 00000801, want 00000803"},
		"images for labels":   {images, images, "labels", "magic number 00000803, want 00000801"},
		"floats":              {idx("\x00\x00\x0d\x03", make([]byte, 32), 2, 2, 2), labels, "images", "magic number 00000d03"},
		"zipped":              {[]byte("\x1f\x8b\x08\x00"), labels, "images", "magic number 1f8b0800"},
		"no sizes":            {images[:4], labels, "images", "ends in its sizes"},
		"half the sizes":      {images[:14], labels, "images", "ends in its sizes"},
		"no images":           {idx(magicImages, nil, 0, 2, 2), labels, "images", "sizes [0 2 2]"},
		"truncated":           {images[:len(images)-1], labels, "images", "ends after 7 of 8 bytes"},
		"truncated labels":    {images, labels[:len(labels)-1], "labels", "ends after 1 of 2 bytes"},
		"too long":            {append(bytes.Clone(images), 0), labels, "images", "more follows its 8 bytes"},
		"endless":             {append([]byte(magicImages), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"...), labels, "images", "sizes [4294967295"},
		"huge but one":        {append([]byte(magicImages), "\x40\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01"...), labels, "images", "ends after 0 of 1073741824"},
		"more labels":         {images, idx(magicLabels, make([]byte, 3), 3), "labels", "3 labels of the 2 images"},
		"a label is no digit": {images, idx(magicLabels, []byte{0, 10}, 2), "labels", "label 10 of image 2"},
	} {
		files := map[string]string{"images": written(t, "images", c.images), "labels": written(t, "labels", c.labels)}
		got, err := ReadDigits(files["images"], files["labels"])
		if got != nil || !errors.Is(err, ErrIDX) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"`+files[c.file]+`"`) {
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
		dims, data, err := decodeIDX(bytes.NewReader(file), magicImages)
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
