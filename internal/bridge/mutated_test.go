package bridge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
)

// TestMutated reads and joins Bundles in which values were replaced by others, of other types too: none makes the
// bridge panic, quote what it refuses, or write what the scorer refuses.
func TestMutated(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/fhir-*.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(file, "golden") {
			all = append(all, v)
		}
	}
	n := 3000
	if os.Getenv("WARDCAST_LONG") != "" {
		n = 300_000
	}
	r, read := rand.New(rand.NewPCG(1, 2)), 0
	b := newBridge(t, nil)
	for i := range n {
		if i%1000 == 0 {
			b = newBridge(t, nil) // which forgets, so that memory stays bounded
		}
		data, err := json.Marshal(mutate(r, all[r.IntN(len(all))], all))
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(20) == 0 {
			data = data[:r.IntN(len(data))]
		}
		bundle, err := b.ReadBundle(data)
		if refusal, ok := errors.AsType[*bridge.Refusal](err); err != nil && (!ok || !slices.Contains(bridge.Reasons(),
			refusal.Reason)) {
			t.Fatalf("%v of %s", err, data)
		}
		if err == nil {
			read++
		}
		for _, reading := range bundle.Readings {
			joins(t, b, reading, data)
		}
	}
	if read < n/4 {
		t.Errorf("%d of %d Bundles could be read", read, n)
	}
}

// TestExamples takes every example of FHIR R4 as an entry of a Bundle with a visit.
func TestExamples(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("WARDCAST_FHIR_EXAMPLES")
	if dir == "" {
		t.Skip("WARDCAST_FHIR_EXAMPLES does not name the folder of npm's hl7.fhir.r4.examples")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 5300 {
		t.Fatal(len(files), err)
	}
	b, read := newBridge(t, nil), 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bundle, err := b.ReadBundle(bundleOf("08:10", inProgress(anED), string(data)))
		if _, refused := errors.AsType[*bridge.Refusal](err); err != nil && !refused {
			t.Fatalf("%s: %v", file, err)
		}
		if err == nil {
			read++
		}
		for _, reading := range bundle.Readings {
			joins(t, b, reading, data)
		}
	}
	if t.Logf("%d of %d read", read, len(files)); read < len(files)*9/10 {
		t.Errorf("%d of %d read", read, len(files))
	}
}

// joins joins a reading: what follows from it can be read, and quotes no name.
func joins(t *testing.T, b *bridge.Bridge, reading bridge.Reading, data []byte) {
	t.Helper()
	for _, e := range b.Join(reading, now) {
		var note msg.Note
		var o msg.Outcome
		if e.To == bridge.Notes && msg.DecodeNote(e.Value, &note) != nil ||
			e.To == bridge.Outcomes && msg.DecodeOutcome(e.Value, &o) != nil || bytes.Contains(e.Value, []byte("Zzname")) {
			t.Fatalf("%s of %q", e.Value, data)
		}
	}
}

// TestMutatedHL7 does the same with messages of HL7 v2 of which parts were replaced, and in bounded memory.
func TestMutatedHL7(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.hl7")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all, parts [][]byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
		parts = append(parts, bytes.FieldsFunc(data, func(r rune) bool { return strings.ContainsRune("|^~&\r\n", r) })...)
	}
	for _, hostile := range []string{
		"", "|", "^", "~", "&", "\\", "\\X00\\", "\\.br\\", "\r", "\nOBX|", "\x00", "\xff", `""`, "-1", "1e400",
		"99999999999999", "20261340", "A40", "A11", "MDM", "W", "E", "I",
	} {
		parts = append(parts, []byte(hostile))
	}
	n := 10_000
	if os.Getenv("WARDCAST_LONG") != "" {
		n = 1_000_000
	}
	r, read := rand.New(rand.NewPCG(3, 4)), 0
	b := newBridge(t, nil)
	var memory runtime.MemStats
	for i := range n {
		data := bytes.Clone(all[r.IntN(len(all))])
		for range r.IntN(4) { // a piece becomes another one, is doubled, or goes
			from := r.IntN(len(data) + 1)
			to := from + r.IntN(min(len(data)-from, 1<<r.IntN(8))+1)
			piece := parts[r.IntN(len(parts))]
			if r.IntN(4) == 0 {
				piece = bytes.Repeat(data[from:to], r.IntN(3))
			}
			data = slices.Concat(data[:from], piece, data[to:])
		}
		_, reading, err := b.ReadHL7(data)
		if refusal, ok := errors.AsType[*bridge.Refusal](err); err != nil && (!ok || !slices.Contains(bridge.Reasons(),
			refusal.Reason)) {
			t.Fatalf("%v of %q", err, data)
		}
		if err == nil {
			read++
			joins(t, b, reading, data)
		}
		if i%100_000 == 0 {
			runtime.ReadMemStats(&memory)
			const bound = 512 << 20
			if t.Logf("%d messages, %d read: %d MiB", i, read, memory.HeapAlloc>>20); memory.HeapAlloc > bound {
				t.Fatalf("%d bytes after %d messages", memory.HeapAlloc, i)
			}
		}
	}
	if read < n/4 {
		t.Errorf("%d of %d messages could be read", read, n)
	}
}

// mutate returns a copy of JSON in which about every fiftieth value is another.
func mutate(r *rand.Rand, v any, from []any) any {
	if r.IntN(50) == 0 {
		switch r.IntN(8) {
		case 0:
			return nil
		case 1:
			return r.NormFloat64() * 1e9
		case 2:
			return strings.Repeat("x", r.IntN(1<<r.IntN(17)))
		case 3:
			return []any{v, v}
		case 4:
			return map[string]any{"reference": "Encounter/e1", "coding": []any{v}}
		case 5:
			return []any{}
		case 6:
			return []string{
				"", "2026", "-1", "\x00\u2028", "Encounter/", "EMER", "entered-in-error", "9999-12-31T23:59:59Z",
			}[r.IntN(8)]
		default:
			return from[r.IntN(len(from))]
		}
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) { // so that the same seed makes the same Bundles
			if r.IntN(100) > 0 {
				out[key] = mutate(r, v[key], from)
			}
		}
		return out
	case []any:
		var out []any
		for _, of := range v {
			out = append(out, mutate(r, of, from))
		}
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out
	}
	return v
}
