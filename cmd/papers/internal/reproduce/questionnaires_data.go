package reproduce

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/internal/table/matrixio"
)

// The questionnaires of section 4.1, equations (18) to (20).
const (
	questionnaireParticipants = 200
	questionnaireItems        = 100
	questionnaireFactors      = 10
	// questionnaireTop is the largest answer; the least is 0.
	questionnaireTop = 100
	// A factor is present in participants of its own and in the first of the next factor's.
	questionnaireOwn    = questionnaireParticipants / questionnaireFactors
	questionnaireShared = 10
	// Present factors have a score from U(0.5, 1) with this probability, else 0.
	questionnairePresent = 0.9
	// Items load on a factor by U(0, 100) with this probability, else not at all.
	questionnaireLoads = 0.3
)

// Questionnaire is the answers of participants to items, complete and from 0 to 100.
type Questionnaire struct {
	Noise   float64 // δ
	Set     int     // from 0
	Answers *mat.Dense
}

// drawQuestionnaire returns M = clip(clip(W·Qᵀ) + noise), clip to 0 … 100. The text gives every factor 20 participants in
// isolation and 10 shared with another, which 200 participants have no room for: here a factor is present in 30, and shares
// the last 10 of them with the next one.
func drawQuestionnaire(noise float64, set int, seed uint64) Questionnaire {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "questionnaire/%v/%d", noise, set) // a hash accepts every write
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	w, q := mat.NewDense(questionnaireParticipants, questionnaireFactors, nil), mat.NewDense(questionnaireFactors, questionnaireItems, nil)
	for t := range questionnaireFactors {
		for i := t * questionnaireOwn; i < min((t+1)*questionnaireOwn+questionnaireShared, questionnaireParticipants); i++ {
			if a := 0.5 + 0.5*random.Float64(); random.Float64() < questionnairePresent {
				w.Set(i, t, a)
			}
		}
		for j := range questionnaireItems {
			if c := questionnaireTop * random.Float64(); random.Float64() < questionnaireLoads {
				q.Set(t, j, c)
			}
		}
	}
	m := mat.NewDense(questionnaireParticipants, questionnaireItems, nil)
	linalg.Threads(0).MulTo(m, w, q)
	answers := m.RawMatrix().Data
	for i, v := range answers {
		v = min(v, questionnaireTop)
		if f := questionnaireTop * (2*random.Float64() - 1); random.Float64() < noise {
			v = min(max(v+f, 0), questionnaireTop)
		}
		answers[i] = v
	}
	return Questionnaire{noise, set, m}
}

// ReadQuestionnaires reads the files dN_S_M.csv of a folder, gzipped or not, where N is the noise in tenths and S a number
// from 0: answers from 0 to 100 without a header, a row for each participant.
func ReadQuestionnaires(dir string) ([]Questionnaire, error) {
	paths, err := filepath.Glob(filepath.Join(escape(dir), "d[0-9]*_[0-9]*_M.csv*"))
	if err != nil {
		return nil, fmt.Errorf("looking for questionnaires: %w", err)
	}
	var all []Questionnaire
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".csv")
		parts := strings.Split(name, "_")
		tenths, errNoise := strconv.Atoi(parts[0][1:])
		set, errSet := strconv.Atoi(parts[1])
		if errNoise != nil || errSet != nil || len(parts) != 3 {
			continue
		}
		x, err := matrixio.Read(path)
		if err != nil {
			return nil, err
		}
		g := Questionnaire{Noise: float64(tenths) / 10, Set: set, Answers: x.(*mat.Dense)} // as every .csv
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if slices.ContainsFunc(all, func(o Questionnaire) bool { return o.Noise == g.Noise && o.Set == g.Set }) {
			return nil, fmt.Errorf("%w: %s: its questionnaire stands in another file too", ErrSettings, path)
		}
		all = append(all, g)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no files dN_S_M.csv in %s", ErrSettings, dir)
	}
	return all, nil
}

// escape returns a pattern that matches the path alone.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (q *Questionnaire) check() error {
	if n, p := q.Answers.Dims(); n != questionnaireParticipants || p != questionnaireItems {
		return fmt.Errorf("%w: %d×%d answers, want %d×%d", ErrSettings, n, p, questionnaireParticipants, questionnaireItems)
	}
	if mat.Min(q.Answers) < 0 || mat.Max(q.Answers) > questionnaireTop {
		return fmt.Errorf("%w: answers outside 0 to %d", ErrSettings, questionnaireTop)
	}
	return nil
}

// fingerprintQuestionnaires returns the SHA-256 of questionnaires, "" for none.
func fingerprintQuestionnaires(given []Questionnaire) string {
	if given == nil {
		return ""
	}
	h := sha256.New() // which accepts every write
	for _, g := range given {
		_, _ = fmt.Fprintf(h, "%v %d %v\n", g.Noise, g.Set, g.Answers.RawMatrix().Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
