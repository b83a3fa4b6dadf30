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

// golden lists the commands whose output TestGolden pins. Each group runs in a folder of its own, from top to bottom.
// "< FILE" and "> FILE" work as in a shell, and # begins a comment.
var golden = map[string]string{
	"train": `
		synth notes -n 600 --format csv > notes.csv
		synth notes -n 300 --seed 2 > more.jsonl
		synth notes -n 40 --seed 3 > new.jsonl

		# Every method, on all complaints together.
		train --input notes.csv --model-dir sonmf --method sonmf --rank 5 --min-df 3 --per-complaint never --aux-columns age:numeric,sex:categorical
		train --input notes.csv --model-dir sonmf-binary --method sonmf-binary --rank 4 --min-df 3 --per-complaint never --n-grams 1
		train --input notes.csv --model-dir nmf --method nmf --rank 5 --min-df 3 --alpha 0.05 --per-complaint never --aux-columns age:numeric,acuity:categorical --n-grams 1
		train --input notes.csv --model-dir onmf --method onmf --rank 4 --min-df 3 --per-complaint never --n-grams 1
		train --input notes.csv --model-dir semi-nmf --method semi-nmf --rank 4 --min-df 3 --per-complaint never --n-grams 1
		train --input notes.csv --model-dir log-nmf --method log-nmf --rank 4 --min-df 3 --per-complaint never --n-grams 1
		train --input notes.csv --model-dir l1-nmf --method l1-nmf --rank 4 --min-df 3 --per-complaint never --l1-topics 0.01 --l1-scores 0.02 --n-grams 1
		train --input notes.csv --model-dir svd --method svd --rank 5 --min-df 3 --per-complaint never --n-grams 1
		train --input notes.csv --model-dir bow --method bow --min-df 3 --per-complaint never --n-grams 1
		train --input notes.csv --model-dir smf-w --method smf-w --rank 2,3 --min-df 3 --per-complaint never --aux-columns age:numeric,sex:categorical
		train --input notes.csv --model-dir smf-h --method smf-h --rank 3 --min-df 3 --per-complaint never --xi 1 --ridge 0.1 --class-weights balanced --standardize

		# A model for each complaint.
		train --input notes.csv --model-dir auto --rank 4 --min-df 3 --per-complaint auto --min-documents 40 --min-events 10 --output json > auto.json
		train --input notes.csv --n-grams 1 --model-dir always --method nmf --rank 3 --min-df 2 --alpha 0.05 --per-complaint always --min-documents 60 --min-events 10 --output json > always.json

		# Several outcomes.
		train --input dispositions.csv --model-dir classes-w --method smf-w --rank 3 --min-df 3 --per-complaint never --classes auto --xi 1 --ridge 0.05 --aux-columns age:numeric,sex:categorical --output json > classes-w.json
		train --input dispositions.csv --model-dir classes-h --method smf-h --rank 3 --min-df 3 --per-complaint never --classes home,ward,other --positive-label ward --xi 2 --ridge 0.1

		# Settings of the text, the elastic net and the calibration.
		train --input notes.csv --model-dir text --rank 4 --min-df 3 --max-df 0.5 --max-terms 200 --n-grams 2 --no-status --no-spelling --stop-words keep --concepts none --weighting binary --per-complaint never --words none
		train --input notes.csv --model-dir lasso --rank 6 --min-df 3 --alpha 1 --lambda 1se --standardize --calibration none --threshold youden --per-complaint never --n-grams 1
		train --input notes.csv --model-dir ridge --rank 6 --min-df 3 --alpha 0 --free-aux --calibration isotonic --seed 7 --per-complaint never --aux-columns age:numeric,vitals.hr:numeric --n-grams 1

		# Two files, and a second training that begins from the topics of the first.
		train --input more.jsonl --model-dir warm --rank 4 --min-df 3 --per-complaint never --n-grams 1 --force --why few
		train --input notes.csv more.jsonl --n-grams 1 --model-dir warm --rank 4 --min-df 3 --per-complaint never --warm-start --output json > warm.json

		predict --model-dir sonmf < new.jsonl > predictions/sonmf.jsonl
		predict --model-dir sonmf-binary < new.jsonl > predictions/sonmf-binary.jsonl
		predict --model-dir nmf < new.jsonl > predictions/nmf.jsonl
		predict --model-dir onmf < new.jsonl > predictions/onmf.jsonl
		predict --model-dir semi-nmf < new.jsonl > predictions/semi-nmf.jsonl
		predict --model-dir log-nmf < new.jsonl > predictions/log-nmf.jsonl
		predict --model-dir l1-nmf < new.jsonl > predictions/l1-nmf.jsonl
		predict --model-dir svd --topics 1 --terms 2 --words 3 < new.jsonl > predictions/svd.jsonl
		predict --model-dir bow --words 4 < new.jsonl > predictions/bow.jsonl
		predict --model-dir smf-w < new.jsonl > predictions/smf-w.jsonl
		predict --model-dir smf-h --topics 0 --terms 0 < new.jsonl > predictions/smf-h.jsonl
		predict --model-dir auto < new.jsonl > predictions/auto.jsonl
		predict --model-dir always < new.jsonl > predictions/always.jsonl
		predict --model-dir classes-w < new.jsonl > predictions/classes-w.jsonl
		predict --model-dir classes-h --class ward < new.jsonl > predictions/classes-h.jsonl
		predict --model-dir text < new.jsonl > predictions/text.jsonl
		predict --model-dir lasso < new.jsonl > predictions/lasso.jsonl
		predict --model-dir ridge < new.jsonl > predictions/ridge.jsonl
		predict --model-dir warm < new.jsonl > predictions/warm.jsonl
		predict --model-dir auto --complaint Cough --text cough > predictions/text-flag.jsonl
		predict --model-dir bow --text zzzz > predictions/unknown-words.jsonl

		topics show --model-dir sonmf _other --output json > topics/sonmf.json
		topics show --model-dir nmf _other --terms 5 --topic 2 --output json > topics/nmf.json
		topics show --model-dir classes-w _other --output json > topics/classes-w.json
		topics list --model-dir auto --output json > topics/auto.json
		topics list --model-dir classes-h --output json > topics/classes-h.json
	`,
	"evaluate": `
		synth notes -n 600 --seed 4 --format csv > notes.csv
		synth notes -n 150 --seed 5 > later.jsonl
		evaluate --input notes.csv --methods majority,bow,sonmf,sonmf+words,nmf,smf-w,smf-h --ranks 2,4 --folds 3 --min-df 3 --alpha 0.2 --xi 1 --ridge 0.1 --aux-columns age:numeric,sex:categorical --output json > folds.json
		evaluate --input notes.csv --methods sonmf-binary,log-nmf,l1-nmf+words,onmf,semi-nmf --ranks 3 --folds 2 --min-df 3 --alpha 0.1 --n-grams 1 --output json > other-methods.json
		evaluate --input notes.csv --methods sonmf --weightings tf-idf,binary --ranks 3 --folds 3 --repeats 2 --min-df 3 --alpha 0.1 --per-complaint auto --min-documents 60 --calibration isotonic --threshold youden --n-grams 1 --output json > complaints.json
		evaluate --input notes.csv --test later.jsonl --methods bow,sonmf --ranks 3 --min-df 3 --lambda 1se --n-grams 1 --output json > test.json
		evaluate --input notes.csv --split-time 75% --methods bow,nmf --ranks 3 --min-df 3 --n-grams 1 --output json > split.json
		evaluate --input dispositions.csv --classes auto --methods majority,smf-w,smf-h --ranks 3 --folds 2 --repeats 2 --min-df 3 --xi 1 --ridge 0.1 --output json > classes.json
	`,
	"factorize": `
		synth matrix --documents 150 --terms 80 --topics 6 > sparse.mtx
		synth matrix --documents 1500 --terms 600 --topics 20 --seed 2 > large.mtx

		# Every method on a sparse and on a dense matrix.
		factorize --method sonmf --input sparse.mtx --rank 4 --out sparse/sonmf --trace
		factorize --method sonmf --input dense.csv --rank 6 --out dense/sonmf --trace
		factorize --method sonmf-binary --input binary.mtx --rank 3 --out sparse/sonmf-binary --trace
		factorize --method sonmf-binary --input binary.csv --rank 3 --out dense/sonmf-binary --trace
		factorize --method nmf --input sparse.mtx --rank 4 --out sparse/nmf --trace
		factorize --method nmf --input dense.csv --rank 6 --out dense/nmf --trace
		factorize --method onmf --input sparse.mtx --rank 4 --out sparse/onmf --trace
		factorize --method onmf --input dense.csv --rank 6 --out dense/onmf --trace
		factorize --method semi-nmf --input sparse.mtx --rank 4 --out sparse/semi-nmf --trace
		factorize --method semi-nmf --input dense.csv --rank 6 --out dense/semi-nmf --trace
		factorize --method log-nmf --input binary.mtx --rank 3 --out sparse/log-nmf --trace
		factorize --method log-nmf --input binary.csv --rank 3 --out dense/log-nmf --trace
		factorize --method l1-nmf --input sparse.mtx --rank 4 --out sparse/l1-nmf --trace
		factorize --method l1-nmf --input dense.csv --rank 6 --out dense/l1-nmf --trace --l1-topics 0.5 --l1-scores 0.1
		factorize --method svd --input sparse.mtx --rank 4 --out sparse/svd --trace
		factorize --method svd --input dense.csv --rank 6 --out dense/svd --trace
		factorize --method smf-w --input sparse.mtx --labels labels.csv --rank 3 --out sparse/smf-w --trace
		factorize --method smf-w --input dense.csv --labels labels.csv --aux aux.csv --rank 3 --out dense/smf-w --trace --xi 1 --ridge 0.1 --test-input dense.csv --test-labels labels.csv --test-aux aux.csv
		factorize --method smf-h --input sparse.mtx --labels labels.csv --aux aux.csv --rank 3 --out sparse/smf-h --trace --xi 1 --ridge 0.1 --class-weights balanced
		factorize --method smf-h --input dense.csv --labels labels.csv --rank 3 --out dense/smf-h --trace --xi 2 --ridge auto --test-input dense.csv --test-labels labels.csv

		# Other starts.
		factorize --method sonmf --input sparse.mtx --rank 4 --init random --seed 5 --out init/sonmf-random
		factorize --method sonmf --input dense.csv --rank 4 --init kmeans --seed 5 --restarts 3 --out init/sonmf-kmeans
		factorize --method nmf --input sparse.mtx --rank 4 --init kmeans --out init/nmf-kmeans
		factorize --method nmf --input dense.csv --rank 4 --init random --restarts 2 --out init/nmf-random
		factorize --method sonmf-binary --input binary.mtx --rank 3 --init random --out init/sonmf-binary-random
		factorize --method smf-w --input sparse.mtx --labels labels.csv --xi 1 --ridge 0.1 --rank 3 --init kmeans --out init/smf-w-kmeans
		factorize --method semi-nmf --input sparse.mtx --rank 4 --start-topics topics.csv --start-scores scores.csv --out init/semi-nmf-given
		factorize --method onmf --input sparse.mtx --rank 4 --init random --start-scores scores.csv --out init/onmf-given-scores
		factorize --method sonmf-binary --input binary.csv --rank 4 --start-topics topics.csv --out init/sonmf-binary-given-topics
		factorize --method smf-w --input sparse.mtx --labels labels.csv --aux aux.csv --xi 1 --ridge 0.1 --rank 4 --start-topics topics.csv --start-scores scores.csv --start-coefficients coefficients.csv --start-aux intercepts.csv --out init/smf-w-given

		# Other updates and ends, and an input the other way round.
		factorize --method sonmf --input sparse.mtx --rank 4 --step exact --out settings/sonmf-exact --rel-tol 1e-4
		factorize --method sonmf --input dense.csv --rank 4 --step cayley --out settings/sonmf-cayley --max-iter 30
		factorize --method sonmf-binary --input binary.csv --rank 3 --step newton-fixed --out settings/newton-fixed --max-iter 30
		factorize --method smf-w --input sparse.mtx --labels labels.csv --xi 1 --ridge 0.1 --rank 3 --step 0.01 --out settings/smf-w-step --max-iter 30
		factorize --method smf-h --input dense.csv --labels labels.csv --xi 1 --ridge 0.1 --rank 3 --step 0.01 --out settings/smf-h-step --max-iter 30
		factorize --method nmf --input dense.csv --input-orientation terms-by-documents --rank 3 --abs-tol 1e-5 --rel-tol 0 --out settings/transposed --output json > settings/transposed.json

		# Large enough for several goroutines.
		factorize --method sonmf --input large.mtx --rank 20 --out large/sonmf --max-iter 15
		factorize --method nmf --input large.mtx --rank 20 --out large/nmf --max-iter 15
	`,
	"rank": `
		synth matrix --documents 120 --terms 60 --topics 5 > sparse.mtx
		rank --method sonmf --criterion bcv --input sparse.mtx --ranks 2:6 --folds 3 --output json > sonmf-bcv.json
		rank --method nmf --criterion bcv --input dense.csv --ranks 2:6 --init random --seed 2 --output json > nmf-bcv.json
		rank --method svd --criterion bcv --input dense.csv --ranks 1:6 --output json > svd-bcv.json
		rank --method nmf --criterion bic --input dense.csv --ranks 2:6 --output json > nmf-bic.json
		rank --method sonmf --criterion bic --input sparse.mtx --ranks 2,4,6 --init kmeans --output json > sonmf-bic.json
		rank --method nmf --criterion ccc --input sparse.mtx --ranks 2:5 --runs 5 --output json > nmf-ccc.json
		rank --method sonmf --criterion dispersion --input dense.csv --ranks 2:5 --runs 5 --output json > sonmf-dispersion.json
		rank --method sonmf-binary --input binary.csv --ranks 2:3 --runs 3 --max-iter 50 --output json > sonmf-binary-auto.json
		rank --method fa --criterion parallel --input items.csv --draws 20 --output json > fa-parallel.json
		rank --method fa --criterion parallel --input ordinal.csv --correlation polychoric --draws 3 --output json > fa-polychoric.json
		rank --method fa --criterion map --input items.csv --output json > fa-map.json
	`,
	"questionnaire": `
		synth questionnaire -n 150 > answers.csv
		synth questionnaire -n 150 --part codebook > codebook.csv
		synth questionnaire -n 150 --part loadings > true-loadings.csv
		synth questionnaire -n 150 --part scores > true-scores.csv
		synth questionnaire -n 60 --seed 2 > new.csv
		synth questionnaire -n 50 --seed 3 --visits 3 > visits.csv

		questionnaire fit answers.csv --codebook codebook.csv --confounds age:numeric,sex:categorical --factors 4 --beta 0.1 --out fit --trace --output json > fit.json
		questionnaire fit answers.csv --codebook codebook.csv --factors 2:4 --beta 0.1,0.5 --rule one-standard-error --out chosen --output json > chosen.json
		questionnaire fit answers.csv --items anxiety_*,mood_* --reverse mood_2 --range 0:4 --factors 2 --beta 0.05 --ridge 0.1 --bound-loadings --inner fista --seed 3 --out fista --output json > fista.json
		questionnaire fit coded.csv --items q* --missing-code -9999 --range 0:4 --confounds age:numeric:5:18,sex:categorical --factors 2 --beta 0.1 --out coded
		questionnaire score new.csv --model fit > score/fit.csv
		questionnaire score new.csv --model chosen --out score/chosen.csv
		questionnaire score answers.csv --model fista > score/fista.csv
		questionnaire rank answers.csv --codebook codebook.csv --confounds age:numeric,sex:categorical --factors 2:6 --beta 0.1 --output json > rank/one.json
		questionnaire rank coded.csv --items q* --missing-code -9999 --range 0:4 --factors 1,3 --beta 0.01,0.5 --seed 2 --output json > rank/two.json
		questionnaire evaluate answers.csv --codebook codebook.csv --confounds age:numeric --factors 3 --beta 0.1 --labels depression,adhd,sex=F --methods icqf,fa,l1-nmf,items,pca,sums,missing --repeats 2 --output json > evaluate.json
		questionnaire longitudinal visits.csv --codebook codebook.csv --confounds sex:categorical --time age --bins 5,10,15,30 --factors 3 --beta 0.1 --out ages --output json > ages.json
		questionnaire fit answers.csv --codebook codebook.csv --confounds age:numeric --method fa --rotation oblimin --factors 4 --bootstrap 40 --out fa --output json > fa.json
		questionnaire fit answers.csv --codebook codebook.csv --method l1-nmf --factors 3 --out l1 --output json > l1.json
		questionnaire items answers.csv --codebook codebook.csv --group sex --output json > items.json
		questionnaire invariance answers.csv --codebook codebook.csv --method fa --factors 3 --group sex=F:M --bootstrap 40 --output json > invariance.json

		questionnaire fit answers.csv --items anxiety_*,mood_* --range 0:4 --factors 2 --beta 0.1 --out first
		questionnaire fit answers.csv --items attention_*,conduct_* --range 0:4 --factors 2 --beta 0.1 --out second
		questionnaire meta first second --factors 2 --beta 0.01 --compact 5 --out both --output json > both.json
	`,
}

// given makes the files of a group that its commands read and do not write.
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

// TestGolden pins every number that the commands of golden write: see renewal. With -artifacts, go test keeps the
// files.
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
	for group, script := range golden {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, data := range given[group](t) {
				write(t, filepath.Join(dir, name), data)
			}
			for line := range strings.Lines(script) {
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
		if data == nil || entry.Name() == "history.jsonl" { // a history holds times
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
