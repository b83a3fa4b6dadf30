package bridge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
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
			for _, e := range b.Join(reading, now) {
				var note msg.Note
				var o msg.Outcome
				if e.To == bridge.Notes && msg.DecodeNote(e.Value, &note) != nil ||
					e.To == bridge.Outcomes && msg.DecodeOutcome(e.Value, &o) != nil ||
					bytes.Contains(e.Value, []byte("Zzname")) {
					t.Fatalf("%s of %s", e.Value, data)
				}
			}
		}
	}
	if read < n/4 {
		t.Errorf("%d of %d Bundles could be read", read, n)
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
