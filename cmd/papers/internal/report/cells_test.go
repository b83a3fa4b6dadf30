package report

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type testCell struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
}

func (c testCell) Key() any { return c.Name }

type testHeader struct {
	Seed  int   `json:"seed"`
	Ranks []int `json:"ranks"`
}

// errStop ends a job.
var errStop = errors.New("stop")

// resume computes the cells a, b, c and returns them with the names of the computed ones; the job of stop fails.
func resume(t *testing.T, s *Session, h testHeader, stop string) (cells []testCell, computed string, err error) {
	t.Helper()
	var jobs []Job[testCell]
	for i, name := range []string{"a", "b", "c"} {
		jobs = append(jobs, Job[testCell]{Cell: testCell{Name: name}, Fill: func(_ context.Context, c *testCell) error {
			if name == stop {
				return errStop
			}
			value := 0.1 * float64(i)
			c.Value = &value
			computed += name
			return nil
		}})
	}
	cells, err = Resume(t.Context(), s, h, jobs)
	return cells, computed, err
}

func header() testHeader { return testHeader{Seed: 1, Ranks: []int{2, 4}} }

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, text...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestResume: a run goes on where another ended, even in the middle of a line.
func TestResume(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cells.jsonl")
	some, computed, err := resume(t, &Session{Cells: path}, header(), "c")
	if !errors.Is(err, errStop) || !strings.Contains(err.Error(), "c") || len(some) != 2 || computed != "ab" {
		t.Fatalf("%v, computed %q, %v", some, computed, err)
	}
	appendTo(t, path, `{"name":"c","va`) // like after a killed process
	var reported [][2]int
	all, computed, err := resume(t,
		&Session{Cells: path, Progress: func(done, total int) { reported = append(reported, [2]int{done, total}) }},
		header(), "")
	if err != nil || computed != "c" || cmp.Diff(some, all[:2]) != "" {
		t.Errorf("%v, computed %q, %v", all, computed, err)
	}
	if d := cmp.Diff([][2]int{{1, 3}, {2, 3}, {3, 3}}, reported); d != "" {
		t.Errorf("steps: %s", d)
	}
	again, computed, err := resume(t, &Session{Cells: path}, header(), "")
	if err != nil || computed != "" || cmp.Diff(all, again) != "" {
		t.Errorf("a third run computed %q, %v", computed, err)
	}
	data, err := os.ReadFile(path)
	if want := `{"seed":1,"ranks":[2,4]}` + "\n" + `{"name":"a","value":0}` + "\n" + `{"name":"b","value":0.1}` + "\n" +
		`{"name":"c","value":0.2}` + "\n"; err != nil || string(data) != want {
		t.Errorf("the file holds %q, %v", data, err)
	}

	for _, line := range []string{"no cell", "{}", `{"name":"d"}`, `{"name":"d","value":1,"more":2}`} {
		if err := os.WriteFile(path, append(data, line+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		if cells, _, err := resume(t, &Session{Cells: path}, header(), ""); cells != nil || err == nil ||
			!strings.Contains(err.Error(), "line 5") || !strings.Contains(err.Error(), path) {
			t.Errorf("the line %s: %v", line, err)
		}
	}
}

// TestResumeWithoutFile computes all.
func TestResumeWithoutFile(t *testing.T) {
	t.Parallel()
	if cells, computed, err := resume(t, &Session{}, header(), ""); err != nil || len(cells) != 3 || computed != "abc" {
		t.Errorf("%v, computed %q, %v", cells, computed, err)
	}
	missing := filepath.Join(t.TempDir(), "missing", "cells.jsonl")
	if cells, computed, err := resume(t, &Session{Cells: missing}, header(), ""); cells != nil || computed != "" ||
		!errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, computed %q, %v", cells, computed, err)
	}
}

// TestResumeOther: a file of something else is not changed. Its first line is reported if it is a header, but not if it
// may be a patient's text.
func TestResumeOther(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"lines":         "the secret first line\nthe last, without its end",
		"one line":      "a secret without its end",
		"notes":         `{"text":"secret","label":1}` + "\n",
		"half a header": `{"seed":2,"ranks":[2,4],"secret`,
		"more fields":   `{"seed":1,"ranks":[2,4],"secret":1}` + "\n",
		"other ranks":   `{"seed":1,"ranks":[7]}` + "\n" + `{"name":"secret","value":0}` + "\n",
	} {
		path := filepath.Join(t.TempDir(), "cells.jsonl")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		cells, computed, err := resume(t, &Session{Cells: path}, header(), "")
		if cells != nil || computed != "" || !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), path) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: computed %q, %v", name, computed, err)
		}
		if reported := strings.Contains(err.Error(), "[7]"); reported != (name == "other ranks") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != content {
			t.Errorf("%s: the file now holds %q, %v", name, left, err)
		}
	}
}

// TestResumeFromTheStart: a run that was killed in its first line starts again.
func TestResumeFromTheStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cells.jsonl")
	if err := os.WriteFile(path, []byte(`{"seed":1,"ra`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, computed, err := resume(t, &Session{Cells: path}, header(), ""); err != nil || computed != "abc" {
		t.Errorf("computed %q, %v", computed, err)
	}
	if data, err := os.ReadFile(path); err != nil ||
		!strings.HasPrefix(string(data), `{"seed":1,"ranks":[2,4]}`+"\n"+`{"name":"a"`) {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

// TestResumeTwice: the second of two runs with one file is refused.
func TestResumeTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cells.jsonl")
	var second error
	first := &Session{Cells: path, Progress: func(done, _ int) {
		if done == 1 {
			_, _, second = resume(t, &Session{Cells: path}, header(), "")
		}
	}}
	if _, _, err := resume(t, first, header(), ""); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(second, ErrSettings) || !strings.Contains(second.Error(), path) {
		t.Errorf("a second run at once: %v", second)
	}
}

// TestParts: a job reports its parts itself; if its cell is known, they are all done.
func TestParts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cells.jsonl")
	for _, want := range []int{4, 1} {
		calls := 0
		s := &Session{Cells: path, Progress: func(done, total int) {
			if calls++; total != 4 || done > total {
				t.Errorf("reported %d of %d", done, total)
			}
		}}
		_, err := Resume(t.Context(), s, header(),
			[]Job[testCell]{{Cell: testCell{Name: "a"}, Parts: 4, Fill: func(context.Context, *testCell) error {
				for range 4 {
					s.Step(1)
				}
				return nil
			}}})
		if err != nil || calls != want {
			t.Errorf("%d reports, want %d; %v", calls, want, err)
		}
	}
}
