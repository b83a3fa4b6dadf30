package icqf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver/linalg"
)

// The questionnaires of section 4.1, equations (18) to (20).
const (
	participants = 200
	items        = 100
	factors      = 10
	// top is the largest answer; the least is 0.
	top = 100
	// A factor is present in participants of its own and in the first of the next factor's.
	own    = participants / factors
	shared = 10
	// present is the probability that a factor's score is from U(0.5, 1) where the factor is present, and not 0.
	present = 0.9
	// loads is the probability that an item's loading on a factor is from U(0, 100), and not 0.
	loads = 0.3
)

// Questionnaire is the answers of participants to items, complete and from 0 to 100.
type Questionnaire struct {
	Noise   float64 // δ
	Set     int     // from 0
	Answers *mat.Dense
}

// drawQuestionnaire returns M = clip(clip(W·Qᵀ) + noise), clip to 0 … 100. The text gives every factor 20 participants
// in isolation and 10 that it shares with another, which would need more than 200 participants: here a factor is
// present in 30 and shares the last 10 of them with the next one.
func drawQuestionnaire(noise float64, set int, seed uint64) Questionnaire {
	random := report.Random(seed, "questionnaire/%v/%d", noise, set)
	w, q := mat.NewDense(participants, factors, nil), mat.NewDense(factors, items, nil)
	for t := range factors {
		for i := t * own; i < min((t+1)*own+shared, participants); i++ {
			if a := 0.5 + 0.5*random.Float64(); random.Float64() < present {
				w.Set(i, t, a)
			}
		}
		for j := range items {
			if c := top * random.Float64(); random.Float64() < loads {
				q.Set(t, j, c)
			}
		}
	}
	m := mat.NewDense(participants, items, nil)
	linalg.Threads(0).MulTo(m, w, q)
	answers := m.RawMatrix().Data
	for i, v := range answers {
		v = min(v, top)
		if f := top * (2*random.Float64() - 1); random.Float64() < noise {
			v = min(max(v+f, 0), top)
		}
		answers[i] = v
	}
	return Questionnaire{noise, set, m}
}

// fileName is the file name of a questionnaire: the noise in tenths and a number from 0.
var fileName = regexp.MustCompile(`^d([0-9]+)_([0-9]+)_M\.csv(\.gz)?$`)

// readQuestionnaires reads the files dN_S_M.csv of a folder, gzipped or not: N is the noise in tenths and S a number
// from 0. They contain answers from 0 to 100, without a header, one row for each participant.
func readQuestionnaires(dir string) ([]Questionnaire, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("looking for questionnaires: %w", err)
	}
	var all []Questionnaire
	for _, entry := range entries {
		parts := fileName.FindStringSubmatch(entry.Name())
		if parts == nil {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		tenths, errNoise := strconv.Atoi(parts[1])
		set, errSet := strconv.Atoi(parts[2])
		x, err := matrixio.Read(path)
		if err := errors.Join(errNoise, errSet, err); err != nil {
			return nil, err
		}
		q := Questionnaire{Noise: float64(tenths) / 10, Set: set, Answers: x.(*mat.Dense)} // as every .csv
		if err := q.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if slices.ContainsFunc(all, func(o Questionnaire) bool { return o.Noise == q.Noise && o.Set == q.Set }) {
			return nil, report.Invalid("%s: another file contains the same questionnaire", path)
		}
		all = append(all, q)
	}
	if len(all) == 0 {
		return nil, report.Invalid("no files dN_S_M.csv in %s", dir)
	}
	return all, nil
}

func (q *Questionnaire) check() error {
	if n, p := q.Answers.Dims(); n != participants || p != items {
		return report.Invalid("%d×%d answers, want %d×%d", n, p, participants, items)
	}
	if mat.Min(q.Answers) < 0 || mat.Max(q.Answers) > top {
		return report.Invalid("answers outside 0 to %d", top)
	}
	return nil
}

// fingerprint returns the SHA-256 of questionnaires, "" for none.
func fingerprint(given []Questionnaire) string {
	if given == nil {
		return ""
	}
	return report.Fingerprint(func(add func(string, ...any)) {
		for _, g := range given {
			add("%v %d %v\n", g.Noise, g.Set, g.Answers.RawMatrix().Data)
		}
	})
}
