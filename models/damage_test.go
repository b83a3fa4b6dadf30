package models

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// stored returns a store that serves one model, its path, and the folder of the version.
func stored(t *testing.T) (s *Store, dir, folder string) {
	t.Helper()
	dir = t.TempDir()
	s = OpenDir(dir)
	b := sample(0)
	version := save(t, s, b)
	serve(t, s, b)
	return s, dir, filepath.Join(dir, "chest-pain", version)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDamageIsNamed harms each file in each way. Loading refuses it, Verify
// names exactly that file.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	for how, harm := range map[string]func(t *testing.T, path string){
		"bit flipped": func(t *testing.T, path string) {
			data := read(t, path)
			data[len(data)*2/3] ^= 1
			write(t, path, data)
		},
		"last bit flipped": func(t *testing.T, path string) {
			data := read(t, path)
			data[len(data)-1] ^= 1
			write(t, path, data)
		},
		"cut short":  func(t *testing.T, path string) { data := read(t, path); write(t, path, data[:len(data)/2]) },
		"emptied":    func(t *testing.T, path string) { write(t, path, nil) },
		"byte added": func(t *testing.T, path string) { write(t, path, append(read(t, path), ' ')) },
		"gone":       func(t *testing.T, path string) { remove(t, path) },
		"a link": func(t *testing.T, path string) {
			moved := filepath.Join(t.TempDir(), "x")
			if err := os.Rename(path, moved); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(moved, path); err != nil {
				t.Fatal(err)
			}
		},
		"a folder": func(t *testing.T, path string) {
			remove(t, path)
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, file := range []string{
			bundle.ManifestFile, bundle.VocabularyFile, bundle.TensorsFile,
			bundle.EvaluationFile, bundle.CardFile, championFile, generationsFolder,
		} {
			if file == championFile && how == "gone" {
				continue // a store without a champion is sound
			}
			t.Run(file+" "+how, func(t *testing.T) {
				t.Parallel()
				s, dir, folder := stored(t)
				champion, err := s.Champion(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				file, named := file, file
				path := filepath.Join(folder, file)
				switch file {
				case championFile:
					path = filepath.Join(dir, file)
				case generationsFolder:
					named = champion.Name + ".json"
					path = filepath.Join(dir, file, named)
				}
				harm(t, path)
				found, err := s.Verify(t.Context(), nil)
				if err != nil || len(found) != 1 || !strings.Contains(found[0].Error(), named) {
					t.Errorf("verify found %v, %v", found, err)
				}
				_, err = s.Champion(t.Context())
				if file != championFile && file != generationsFolder {
					if err != nil {
						t.Error(err)
					}
					_, err = s.Load(t.Context(), "chest-pain", filepath.Base(folder))
					if s.Promote(t.Context(), Change{To: champion.Name}) == nil {
						t.Error("promoted")
					}
					if s.AddGeneration(t.Context(),
						&Generation{CreatedAt: champion.CreatedAt, By: "x", Models: champion.Models}) == nil {
						t.Error("a generation with a damaged version was added")
					}
				}
				if _, ok := errors.AsType[*FileError](err); !ok || !strings.Contains(err.Error(), named) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestExtraFilesAreNamed(t *testing.T) {
	t.Parallel()
	s, dir, folder := stored(t)
	write(t, filepath.Join(folder, "extra.bin"), nil)
	write(t, filepath.Join(folder, "..", "stray"), nil)
	write(t, filepath.Join(dir, "Readme"), nil)
	write(t, filepath.Join(dir, "generations", "notes.txt"), nil)
	found, err := s.Verify(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range found {
		names = append(names, e.File)
	}
	if d := cmp.Diff([]string{"Readme", "stray", "generations/notes.txt", "extra.bin"}, names); d != "" {
		t.Error(d)
	}
	if _, err := s.Load(t.Context(), "chest-pain", filepath.Base(folder)); err == nil ||
		!strings.Contains(err.Error(), "extra.bin") {
		t.Errorf("got %v", err)
	}
}

// TestForgedFiles changes a file and its hash in the manifest, so that only
// the name of the version shows.
func TestForgedFiles(t *testing.T) {
	t.Parallel()
	s, _, folder := stored(t)
	card := []byte("# forged\n")
	before := bundle.FileOf(read(t, filepath.Join(folder, bundle.CardFile)))
	write(t, filepath.Join(folder, bundle.CardFile), card)
	manifest := strings.Replace(string(read(t, filepath.Join(folder, bundle.ManifestFile))), before.SHA256,
		bundle.FileOf(card).SHA256, 1)
	write(t, filepath.Join(folder, bundle.ManifestFile), []byte(manifest))
	_, err := s.Load(t.Context(), "chest-pain", filepath.Base(folder))
	if err == nil || !strings.Contains(err.Error(), bundle.ManifestFile) {
		t.Errorf("got %v", err)
	}
}

// TestHostileManifests stand under names that agree with their hash.
func TestHostileManifests(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"other model":    {`"name": "chest-pain"`, `"name": "back-pain"`},
		"path":           {`"name": "chest-pain"`, `"name": "../chest-pain"`},
		"other time":     {`"created_at": "2026-11-20T02:00:00`, `"created_at": "2026-11-20T02:00:01`},
		"other format":   {`"format": "1"`, `"format": "2"`},
		"file elsewhere": {`"card.md"`, `"../../../card.md"`},
		"huge file":      {`"size": 13`, `"size": 9000000000000000000`},
		"negative size":  {`"size": 13`, `"size": -13`},
		"wrong size":     {`"size": 13`, `"size": 12`},
		"no JSON":        {`}`, `]`},
		"empty classes":  {`"format": "1"`, `"format": "1", "classes": []`},
		"one class":      {`"format": "1"`, `"format": "1", "classes": ["a"]`},
		"class twice":    {`"format": "1"`, `"format": "1", "classes": ["a", "a"], "admission_classes": ["a"]`},
		"class no name":  {`"format": "1"`, `"format": "1", "classes": ["a", ""], "admission_classes": ["a"]`},
		"admission none": {`"format": "1"`, `"format": "1", "classes": ["a", "b"]`},
		"admission all":  {`"format": "1"`, `"format": "1", "classes": ["a", "b"], "admission_classes": ["a", "b"]`},
		"admission else": {`"format": "1"`, `"format": "1", "classes": ["a", "b"], "admission_classes": ["c"]`},
		"admission more": {
			`"format": "1"`, `"format": "1", "classes": ["a", "b", "c"], "admission_classes": ["a", "a"]`,
		},
		"only admission": {`"format": "1"`, `"format": "1", "admission_classes": ["a"]`},
		"class a number": {`"format": "1"`, `"format": "1", "classes": [1, 2], "admission_classes": [1]`},
		"null":           {`{`, `null {`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, folder := stored(t)
			before := string(read(t, filepath.Join(folder, bundle.ManifestFile)))
			manifest := strings.Replace(before, change[0], change[1], 1)
			if manifest == before {
				t.Fatal("nothing changed")
			}
			write(t, filepath.Join(folder, bundle.ManifestFile), []byte(manifest))
			created := bundle.Created(filepath.Base(folder))
			version := bundle.VersionName(created, bundle.FileOf([]byte(manifest)).SHA256)
			if err := os.Rename(folder, filepath.Join(filepath.Dir(folder), version)); err != nil {
				t.Fatal(err)
			}
			var bad *FileError
			if _, err := s.Load(t.Context(), "chest-pain", version); !errors.As(err, &bad) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHostileNames(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, _, folder := stored(t)
	version := filepath.Base(folder)
	for _, model := range []string{
		"", ".", "..", "../chest-pain", "chest-pain/", "/", "CHEST-PAIN", "chest pain",
		".lock", "a\x00b", "generations", "champion",
	} {
		_, e1 := s.Load(ctx, model, version)
		_, e2 := s.Versions(ctx, model)
		for i, err := range []error{e1, e2} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%q, call %d: got %v", model, i, err)
			}
		}
		if err := s.AddGeneration(ctx,
			&Generation{CreatedAt: time.Unix(0, 0), Models: map[string]Member{model: {Version: version}}}); err == nil {
			t.Errorf("%q is a model of a generation", model)
		}
	}
	for _, v := range []string{"", ".", "..", "../" + version, version + "/", "champion"} {
		if _, err := s.Load(ctx, "chest-pain", v); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: got %v", v, err)
		}
		_, e1 := s.Generation(ctx, v)
		e2 := s.Promote(ctx, Change{To: v})
		e3 := s.Rollback(ctx, Change{To: v + "x"})
		for i, err := range []error{e1, e2, e3} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("generation %q, call %d: got %v", v, i, err)
			}
		}
	}
}

// TestCrashBeforeRename leaves what a killed writer leaves: readers ignore it, the next writer clears it away.
func TestCrashBeforeRename(t *testing.T) {
	t.Parallel()
	s, dir, folder := stored(t)
	left := filepath.Join(filepath.Dir(folder), tempPrefix+"123")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(left, bundle.CardFile), []byte("half"))
	pointer, history := filepath.Join(dir, "."+championFile+"4711"), filepath.Join(dir, "."+historyFile+"4711")
	write(t, pointer, []byte("2026"))
	write(t, history, []byte("{"))
	if found, err := s.Verify(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("verify found %v, %v", found, err)
	}
	if got, err := s.Versions(t.Context(), "chest-pain"); err != nil || len(got) != 1 {
		t.Errorf("versions %v, %v", got, err)
	}
	b := sample(1)
	save(t, s, b)
	serve(t, s, b)
	for _, path := range []string{left, pointer, history} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("still there: %v", err)
		}
	}
}

func TestNoStore(t *testing.T) {
	t.Parallel()
	s := OpenDir(filepath.Join(t.TempDir(), "none"))
	_, e1 := s.Models(t.Context())
	_, e2 := s.Champion(t.Context())
	_, e3 := s.Verify(t.Context(), nil)
	if !errors.Is(e1, ErrNotFound) || !errors.Is(e2, ErrNotFound) || e3 == nil {
		t.Errorf("got %v, %v, %v", e1, e2, e3)
	}
}

func TestEndedContext(t *testing.T) {
	t.Parallel()
	s, _, folder := stored(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	version, e1 := s.Save(ctx, sample(1))
	if version != "" {
		t.Errorf("Save returns version %q with an error", version)
	}
	_, e2 := s.Load(ctx, "chest-pain", filepath.Base(folder))
	_, e3 := s.Champion(ctx)
	_, e4 := s.Verify(ctx, nil)
	for i, err := range []error{e1, e2, e3, e4} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: got %v", i, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), tempPrefix+"*")); left != nil {
		t.Errorf("left %v", left)
	}
}
