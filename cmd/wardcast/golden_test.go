//go:build amd64 && !amd64.v3 && !purego

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/models"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// given makes the files of each group of commands that these read and do not write. The commands stand in
// testdata/golden/GROUP.txt: they run in a folder of their own, from top to bottom. "< FILE" and "> FILE" work as in a
// shell, and # begins a comment.
var given = map[string]func(t *testing.T) map[string][]byte{
	"train":     disposed,
	"evaluate":  disposed,
	"factorize": planted,
	"rank": func(t *testing.T) map[string][]byte {
		files := planted(t)
		files["items.csv"] = clitest.Read(t, itemsFile(t))
		files["ordinal.csv"] = ordinal()
		return files
	},
	"questionnaire": func(t *testing.T) map[string][]byte {
		return map[string][]byte{"coded.csv": clitest.Read(t, answersFile(t))}
	},
}

// disposed returns notes whose label is home, ward or other.
func disposed(t *testing.T) map[string][]byte {
	data := bytes.ReplaceAll(clitest.Read(t, dispositions(t, 400)), []byte(`"moved, elsewhere"`), []byte("other"))
	return map[string][]byte{"dispositions.csv": data}
}

// planted returns a matrix of four topics, the same matrix cut to 0 and 1 in two formats, labels and auxiliary features
// of its documents, and factors to begin from.
func planted(*testing.T) map[string][]byte {
	const n, p, k = 150, 80, 4
	random := rand.New(rand.NewPCG(1, 2))
	table := func(rows, columns int, at func(i, j int) float64) []byte {
		var out []byte
		for i := range rows {
			for j := range columns {
				out = fmt.Appendf(out, "%.4g%c", at(i, j), ",\n"[(j+1)/columns])
			}
		}
		return out
	}
	var entries []string
	one := make([]float64, n*p)
	dense := table(n, p, func(i, j int) float64 {
		v := random.Float64() / 2
		if i%k == j%k {
			v += 2 * random.Float64()
		}
		if v > .7 {
			one[i*p+j] = 1
			entries = append(entries, fmt.Sprintf("%d %d 1\n", i+1, j+1))
		}
		return v
	})
	uniform := func(int, int) float64 { return random.Float64() }
	return map[string][]byte{
		"dense.csv":  dense,
		"binary.csv": table(n, p, func(i, j int) float64 { return one[i*p+j] }),
		"binary.mtx": fmt.Appendf(nil, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n%s", n, p,
			len(entries), strings.Join(entries, "")),
		"labels.csv": table(n, 1, func(i, _ int) float64 { return float64(i % k / 2) }),
		"aux.csv":    table(n, 2, func(i, j int) float64 { return float64(i%k/2+j*i%3) + random.Float64() }),
		"topics.csv": table(p, k, uniform),
		"scores.csv": table(n, k, uniform),

		"coefficients.csv": table(k, 1, uniform),
		"intercepts.csv":   table(3, 1, uniform),
	}
}

// ordinal returns answers of 0 to 3 to six items of two factors.
func ordinal() []byte {
	random := rand.New(rand.NewPCG(3, 4))
	out := []byte("q1,q2,q3,q4,q5,q6\n")
	for range 200 {
		factors := [2]float64{random.Float64(), random.Float64()}
		for j := range 6 {
			out = fmt.Appendf(out, "%d%c", int(2*factors[j%2]+2*random.Float64()), ",\n"[j/5])
		}
	}
	return out
}

// TestGolden pins every number that the commands in testdata/golden write: see renewal. With -artifacts, go test keeps
// the files.
//
// The bits depend on the instructions. GOAMD64=v3 and arm64 round sums of products in another way, and so do the
// kernels in Go, which run without AVX2 or with the tag purego. AVX2 and AVX-512 give the same bits, on any number of
// threads.
func TestGolden(t *testing.T) {
	long(t)
	t.Parallel()
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		t.Skip("the golden files hold the bits of the kernels for AVX2 and AVX-512")
	}
	for group, files := range given {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, data := range files(t) {
				write(t, filepath.Join(dir, name), data)
			}
			for line := range strings.Lines(string(clitest.Read(t, filepath.Join("testdata", "golden", group+".txt")))) {
				if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
					runIn(t, dir, words)
				}
			}
			got, path := summaries(t, dir), filepath.Join("testdata", "golden", group+".json")
			if *update {
				data, err := json.MarshalIndent(got, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				write(t, path, append(data, '\n'))
			}
			var want map[string]summary
			if err := json.Unmarshal(clitest.Read(t, path), &want); err != nil {
				t.Fatal(err)
			}
			names := maps.Clone(got)
			maps.Copy(names, want)
			for _, name := range slices.Sorted(maps.Keys(names)) {
				if said := differences(got[name], want[name]); said != "" {
					t.Errorf("%s %s", name, said)
				}
			}
			if t.Failed() {
				t.Log(renewal)
			}
		})
	}
}

// runIn runs a command in a folder. Its words may end in "< FILE" and "> FILE".
func runIn(t *testing.T, dir string, words []string) {
	t.Helper()
	said := strings.Join(words, " ")
	redirected := func(sign string) (path string) {
		if i := slices.Index(words, sign); i >= 0 {
			path = filepath.Join(dir, words[i+1])
			words = slices.Delete(words, i, i+2)
		}
		return path
	}
	in, out := redirected("<"), redirected(">")
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	c := command(ctx, t, words...)
	c.Dir = dir
	if in != "" {
		c.Stdin = bytes.NewReader(clitest.Read(t, in))
	}
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("wardcast %s: %v: %s", said, err, &stderr)
	}
	if out != "" {
		write(t, out, stdout.Bytes())
	}
}

// write writes a file and makes its folder.
func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// versionName matches the name of a model's version.
var versionName = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-[0-9a-f]{6}\b`)

// summaries describes each data file below dir by its name. Of a model's versions it takes the champion alone, under
// the name "champion".
func summaries(t *testing.T, dir string) map[string]summary {
	t.Helper()
	kept, found := t.ArtifactDir(), map[string]summary{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == "generations" { // which hold times and names of versions
			return fs.SkipDir
		}
		if entry.IsDir() && versionName.MatchString(entry.Name()) {
			model := filepath.Dir(path)
			champion, err := models.OpenDir(filepath.Dir(model)).Champion(t.Context())
			if err != nil {
				return err
			}
			if champion.Models[filepath.Base(model)].Version != entry.Name() {
				return fs.SkipDir
			}
		}
		var data []byte
		switch filepath.Ext(path) {
		case ".csv", ".mtx", ".safetensors":
			data = clitest.Read(t, path)
		case ".json", ".jsonl":
			data = blank(clitest.Read(t, path), dir)
		}
		// A history holds times, and the head of a store their hash.
		if data == nil || slices.Contains([]string{"history.jsonl", "head.json"}, entry.Name()) {
			return nil
		}
		name := versionName.ReplaceAllString(strings.TrimPrefix(path, dir+"/"), "champion")
		write(t, filepath.Join(kept, name), data)
		found[name] = summarize(t, name, data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// changing matches the JSON fields that differ from run to run or from machine to machine, and those that hold prose.
// The manifest's hash and size of a file are among them: card.md is prose, and every other file has a hash of its own.
var changing = regexp.MustCompile(
	`("(?:created_at|scored_at|trained|version|wardcast_version|parent|sha256|size|seconds|threads|why|warnings)": ` +
		`*)("(?:[^"\\]|\\.)*"|[-+.0-9eE]+|\{[^}]*\}|\[(?:[^]"]|"(?:[^"\\]|\\.)*")*\])`)

// blank takes out of JSON what the golden files do not pin, and leaves every other byte as it is.
func blank(data []byte, dir string) []byte {
	return changing.ReplaceAll(bytes.ReplaceAll(data, []byte(dir), nil), []byte("${1}null"))
}
