package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

// TestServeMixesNoGenerations changes what is served again and again while notes of three models are scored. In each
// partition the answers change from one generation to the other at most as often as the store did: a scorer that took
// up the models of a generation one by one would go back and forth between them.
func TestServeMixesNoGenerations(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	store := models.OpenDir(dir)
	first, err := store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names, hours []string
	for i := range 2 {
		g := &models.Generation{Parent: first.Name, By: "test", Models: map[string]models.Member{}}
		for _, complaint := range []string{"", "Chest Pain", "Altered Level of Consciousness"} {
			b, err := store.Load(t.Context(), bundle.Other, first.Models[bundle.Other].Version)
			if err != nil {
				t.Fatal(err)
			}
			b.Manifest.Name, b.Manifest.Complaint = bundle.Slug(complaint), complaint
			b.Manifest.CreatedAt = b.Manifest.CreatedAt.Add(time.Duration(i+1) * time.Hour)
			if _, err := store.Save(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			g.Models[b.Manifest.Name], g.CreatedAt = models.Member{Complaint: complaint, Version: b.Version},
				b.Manifest.CreatedAt
		}
		if err := store.AddGeneration(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		names, hours = append(names, g.Name), append(hours, g.CreatedAt.Format("2006-01-02T15"))
	}
	change := func(to string) {
		t.Helper()
		g, err := store.Champion(t.Context())
		if err == nil {
			err = store.Promote(t.Context(), models.Change{To: to, From: g.Name, By: "test"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(names[0])
	s := newStream(t, startBroker(t), dir)
	config, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	fast := strings.Replace(string(config), "models: {", "models: {poll: 50ms, ", 1)
	if err := os.WriteFile(s.config, []byte(fast), 0o600); err != nil {
		t.Fatal(err)
	}
	s.scorer(launch).ready()
	const changes = 4
	seen := 0
	for i := range changes {
		s.send(50)
		change(names[(i+1)%2])
		// Until an answer is that of the new generation.
		want := fmt.Sprintf(`"version":"%s`, hours[(i+1)%2])
		for found := false; !found; {
			s.send(50)
			s.answers(1)
			for ; seen < len(s.predictions); seen++ {
				found = found || strings.Contains(string(s.predictions[seen].Value), want)
			}
		}
	}
	s.settle()
	flips, last, used := map[int32]int{}, map[int32]string{}, map[string]bool{}
	for _, p := range s.predictions {
		for _, hour := range hours {
			if !strings.Contains(string(p.Value), `"version":"`+hour) {
				continue
			}
			if last[p.Partition] != hour && last[p.Partition] != "" {
				flips[p.Partition]++
			}
			last[p.Partition] = hour
		}
		for _, name := range []string{bundle.Other, "chest-pain", "altered-level-of-consciousness"} {
			if strings.Contains(string(p.Value), `"name":"`+name+`"`) {
				used[name] = true
			}
		}
	}
	if len(used) < 3 {
		t.Errorf("answers by %v, want three models", used)
	}
	for partition, n := range flips {
		if n > changes {
			t.Errorf("partition %d changes %d times between generations, the store %d times", partition, n, changes)
		}
	}
	t.Logf("%d answers, %d changes, %v seen by partition", len(s.predictions), changes, flips)
}
