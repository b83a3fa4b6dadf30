package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sample is the contents of testdata/python.safetensors, see testdata/README.md.
func sample() (Tensors, map[string]string) {
	return Tensors{
		"topics":           {[]int{2, 3}, []float64{1, 2.5, -3, 1e300, 5e-324, math.Inf(1)}},
		"Idf":              {[]int{3}, []float64{1, 1.5, -2}},
		"small":            {[]int{2, 1}, []float64{-7, 8}},
		"quotes \"é\" <&>": {[]int{3}, []float64{0, 127, 255}},
		"scalar":           {[]int{}, []float64{-0.5}},
		"none":             {[]int{0, 3}, []float64{}},
	}, map[string]string{"seed": "7"}
}

func write(t *testing.T, tensors Tensors, metadata map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBytesAreThoseOfPython(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/python.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	tensors, metadata := sample()
	if got := write(t, tensors, metadata); !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	read, m, err := Read(want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(tensors, read); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(metadata, m); d != "" {
		t.Error(d)
	}
}

func TestEmptyFile(t *testing.T) {
	t.Parallel()
	for _, want := range []map[string]string{nil, {"seed": "7"}} {
		tensors, metadata, err := Read(write(t, nil, want))
		if err != nil || len(tensors) != 0 || !cmp.Equal(metadata, want) {
			t.Errorf("got %v, %v, %v", tensors, metadata, err)
		}
	}
}

func TestRoundTripOfLargeTensors(t *testing.T) {
	t.Parallel()
	v := make([]float64, 3*chunk/8+5)
	for i := range v {
		v[i] = float64(i) / 3
	}
	got, _, err := Read(write(t, Tensors{"v": {[]int{len(v)}, v}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(v, got["v"].Data); d != "" {
		t.Error(d)
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	for name, tensors := range map[string]Tensors{
		"length":         {"a": {[]int{2, 2}, []float64{1, 2, 3}}},
		"overflow":       {"a": {[]int{math.MaxInt, math.MaxInt}, []float64{}}},
		"negative shape": {"a": {[]int{-1, -1}, []float64{1}}},
		"no data":        {"a": {[]int{1}, nil}},
		"metadata":       {"__metadata__": {[]int{1}, []float64{1}}},
		"name":           {"\xff": {[]int{1}, []float64{1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := Write(&bytes.Buffer{}, tensors, nil); !errors.Is(err, ErrFormat) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// file joins a header and a body of n bytes.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const a = `"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}`
	for name, c := range map[string]struct {
		data []byte
		want string // part of the error
	}{
		"empty":             {nil, "0 bytes"},
		"short":             {[]byte("1234567"), "7 bytes"},
		"header too long":   {file(`{`+a+`}`, 16)[:20], "header of"},
		"header over limit": {binary.LittleEndian.AppendUint64(nil, MaxHeader+1), "header of"},
		"huge header":       {bytes.Repeat([]byte{0xff}, 100), "header of"},
		"no JSON":           {file(`x`, 0), "not a JSON object"},
		"space first":       {file(` {}`, 0), "not a JSON object"},
		"no object":         {file(`[]`, 0), "not a JSON object"},
		"no UTF-8":          {file("{\"\xff\":1}", 0), "not a JSON object"},
		"unclosed":          {file(`{`+a, 16), "cut short"},
		"second value":      {file(`{`+a+`}{}`, 16), "trailing"},
		"truncated":         {file(`{`+a+`}`, 15), `tensor "a": offsets`},
		"trailing bytes":    {file(`{`+a+`}`, 17), "1 bytes behind"},
		"twice":             {file(`{`+a+`,`+a+`}`, 16), `tensor "a" appears twice`},
		"unknown field":     {file(`{"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16],"x":1}}`, 16), `tensor "a"`},
		"unknown type": {
			file(`{"a":{"dtype":"F99","shape":[2],"data_offsets":[0,16]}}`, 16), `tensor "a": unknown type`,
		},
		"other type": {
			file(`{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}`, 16), `tensor "a": unknown type "F32"`,
		},
		"no type":    {file(`{"a":{"shape":[2],"data_offsets":[0,16]}}`, 16), `tensor "a": unknown type`},
		"no shape":   {file(`{"a":{"dtype":"F64","data_offsets":[0,8]}}`, 8), `tensor "a": no shape`},
		"no offsets": {file(`{"a":{"dtype":"F64","shape":[0]}}`, 0), `tensor "a": offsets`},
		"three offsets": {
			file(`{"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16,16]}}`, 16), `tensor "a": offsets`,
		},
		"offsets fall": {
			file(`{"a":{"dtype":"F64","shape":[2],"data_offsets":[16,0]}}`, 16), `tensor "a": offsets`,
		},
		"negative offset": {file(`{"a":{"dtype":"F64","shape":[2],"data_offsets":[-16,0]}}`, 16), `tensor "a"`},
		"fraction":        {file(`{"a":{"dtype":"F64","shape":[2.5],"data_offsets":[0,16]}}`, 16), `tensor "a"`},
		"negative shape": {
			file(`{"a":{"dtype":"F64","shape":[-1,-2],"data_offsets":[0,16]}}`, 16), `tensor "a": shape`,
		},
		"wrong length": {
			file(`{"a":{"dtype":"F64","shape":[3],"data_offsets":[0,16]}}`, 16), `tensor "a": shape`,
		},
		"overflow": {
			file(`{"a":{"dtype":"F64","shape":[65536,65536,65536,65536],"data_offsets":[0,0]}}`, 0),
			`tensor "a": shape`,
		},
		"hole": {
			file(`{`+a+`,"b":{"dtype":"F64","shape":[1],"data_offsets":[17,25]}}`, 25), `tensor "b": begins`,
		},
		"overlap": {
			file(`{`+a+`,"b":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}}`, 16), `tensor "b": begins`,
		},
		"metadata number":    {file(`{"__metadata__":{"k":1},`+a+`}`, 16), `metadata "k" is not a string`},
		"metadata nested":    {file(`{"__metadata__":{"k":{}},`+a+`}`, 16), `metadata "k" is not a string`},
		"metadata array":     {file(`{"__metadata__":[],`+a+`}`, 16), `metadata is not an object`},
		"metadata twice":     {file(`{"__metadata__":{},"__metadata__":{}}`, 0), `metadata appears twice`},
		"metadata key twice": {file(`{"__metadata__":{"k":"1","k":"2"}}`, 0), `metadata "k" appears twice`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Read(c.data)
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestEveryTruncationIsRefused(t *testing.T) {
	t.Parallel()
	tensors, metadata := sample()
	whole := write(t, tensors, metadata)
	for n := range whole {
		if _, _, err := Read(whole[:n]); !errors.Is(err, ErrFormat) {
			t.Fatalf("%d of %d bytes: got %v", n, len(whole), err)
		}
	}
}

func TestWriteReportsTheTensor(t *testing.T) {
	t.Parallel()
	tensors, metadata := sample()
	w := &fullWriter{room: 500}
	if err := Write(w, tensors, metadata); !errors.Is(err, errFull) || !strings.Contains(err.Error(), `tensor "`) {
		t.Errorf("got %v", err)
	}
}

var errFull = errors.New("full")

type fullWriter struct{ room int }

func (w *fullWriter) Write(b []byte) (int, error) {
	if w.room -= len(b); w.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func FuzzRead(f *testing.F) {
	tensors, metadata := sample()
	var b bytes.Buffer
	if err := Write(&b, tensors, metadata); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(file(`{"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},"b":{"dtype":"F64","shape":[],`+
		`"data_offsets":[16,24]}}`, 24))
	f.Add(file(`{"__metadata__":{"k":"v"}}  `, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, metadata, err := Read(data)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("got %v", err)
			}
			return
		}
		var b bytes.Buffer
		if err := Write(&b, tensors, metadata); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, m, err := Read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tensors, again, cmpopts.EquateNaNs()); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(metadata, m, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	})
}
