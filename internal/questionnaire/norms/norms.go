// Package norms turns scores into percentiles and T scores by a reference sample, within bands of age and by sex.
//
// The scores of the people in a cell, one band and one sex, are the norms of that cell: no curve is fitted over age,
// and no distribution is assumed. Scores of ICQF pile up at 0, the absent factor, and may pile up at 1. Models of
// continuous norms are biased by such floors and ceilings (Crompvoets, Keuning and Emons, "Bias and precision of
// continuous norm-referenced test scores using quantile regression", Assessment 2021), and their terms must be chosen
// case by case. The price is a larger sample: a cell with fewer people than a given number has no norms.
package norms

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
)

// Format is the version of a file of norms.
const Format = "1"

// DefaultLeast is the least number of people in a cell if none is given. The standard error of a percentile p is
// √(p(100 − p)/n): with 50 people 7 points at the median, where that is 1.8 points of T.
const DefaultLeast = 50

// ErrNorms is wrapped by every error about norms that are damaged or do not belong to the model.
var ErrNorms = errors.New("not norms of this model")

// By holds the variables that define the cells. Without both there is one cell.
type By struct {
	Age *questionnaire.Visits `json:"age,omitempty"` // column and bands
	Sex string                `json:"sex,omitempty"` // column
}

// Read reads the age and sex of participants.
func (b By) Read(path, id string, missing []string) (*answers.Sheet, error) {
	c := answers.SheetColumns{ID: id, Missing: missing}
	if b.Age != nil {
		c.Numbers = []string{b.Age.Time}
	}
	if b.Sex != "" {
		c.Levels = []string{b.Sex}
	}
	return answers.ReadSheet(path, c)
}

// place returns the band and the sex of a participant.
func (b By) place(r *answers.SheetRow) (band int, sex string, why Reason) {
	if b.Age != nil {
		ok := false
		switch band, ok = b.Age.Bin(r.Numbers[0]); {
		case math.IsNaN(r.Numbers[0]):
			return 0, "", NoAge
		case !ok:
			return 0, "", OtherAge
		}
	}
	if b.Sex != "" {
		if sex = r.Levels[0]; sex == "" {
			return 0, "", NoSex
		}
	}
	return band, sex, ""
}

// Norms are the scores of a reference sample, as a file holds them.
type Norms struct {
	Format      string `json:"format"`
	Method      string `json:"method"` // the formulas, for readers of the file
	ModelSHA256 string `json:"model_sha256"`
	By
	Least int `json:"least"` // number of people in a cell with norms
	// Participants are those in a cell, Outside those in no cell.
	Participants int      `json:"participants"`
	Outside      int      `json:"outside"`
	Factors      []string `json:"factors"`
	Cells        []Cell   `json:"cells"` // by band, then sex
}

const method = "percentile = 100 (below + equal/2 + 1/2)/(participants + 1); t = 50 + 10 Φ⁻¹(percentile/100)"

// Cell is a band of age and a sex.
type Cell struct {
	Band         int    `json:"band"`
	Ages         string `json:"ages,omitempty"`
	Sex          string `json:"sex,omitempty"`
	Participants int    `json:"participants"`
	// Scores are in the order of the factors; there are none in a cell with too few people.
	Scores []Distribution `json:"scores,omitempty"`
}

// Distribution counts the people of a cell below and at each of some scores. The scores ascend. They are all that
// occur, or mostScores of them at equal distances in rank, including each score of at least 1 in mostScores people.
type Distribution struct {
	Scores []float64 `json:"scores"`
	Below  []int     `json:"below"`
	Equal  []int     `json:"equal"`
}

// mostScores bounds the file: interpolated between two scores, the people below are off by less than 1 in mostScores.
const mostScores = 200

// Reason says why a participant has no norms.
type Reason string

// The reasons.
const (
	NoScore  Reason = "no score"
	NoPerson Reason = "not in the table of people"
	NoAge    Reason = "no age"
	OtherAge Reason = "an age outside the bands"
	NoSex    Reason = "no sex"
	OtherSex Reason = "a sex that the reference sample lacks"
	Few      Reason = "too few people of this age and sex in the reference sample"
	Vague    Reason = "answers with too little information about a factor, whose score is left out"
)

// Outside are participants without norms, by their lines in a file.
type Outside struct {
	Reason Reason
	Lines  []int
}

// tally collects the participants outside.
type tally []Outside

func (t *tally) add(why Reason, line int) {
	at := slices.IndexFunc(*t, func(o Outside) bool { return o.Reason == why })
	if at < 0 {
		at = len(*t)
		*t = append(*t, Outside{Reason: why})
	}
	(*t)[at].Lines = append((*t)[at].Lines, line)
}

// Options says how to make norms.
type Options struct {
	By
	Model *model.Model // that made the scores
	Least int          // people in a cell with norms; 0 means DefaultLeast
}

// Make makes norms of the scores of a reference sample, whose numbers are the factors of the model, and then their
// standard errors if the table has them. Scores that model.FactorFit.Measures refuses are excluded. The sample is the
// output of Read; nil without age and sex. Outside are the lines of participants who are in no cell or have an excluded
// score. It is an error if the sample has no ids, if no cell has enough people, or if a score is outside
// Model.ScoreRange, and so from another model.
func Make(scores, sample *answers.Sheet, o Options) (*Norms, []Outside, error) {
	o.Least = cmp.Or(o.Least, DefaultLeast)
	n := &Norms{
		Format: Format, Method: method, ModelSHA256: o.Model.SHA256, By: o.By, Least: o.Least,
		Factors: model.FactorNames(o.Model.Loadings()),
	}
	type key struct {
		band int
		sex  string
	}
	var byID map[string]*answers.SheetRow
	if sample != nil {
		if sample.Numbered {
			return nil, nil, &table.Error{File: sample.File, Err: questionnaire.ErrNumbered}
		}
		byID = sample.ByID()
	}
	possible := o.Model.ScoreRange()
	columns, people, sexes, outside := map[key][][]float64{}, map[key]int{}, []string{}, tally{}
	for i := range scores.Rows {
		s := &scores.Rows[i]
		for t, v := range s.Numbers[:len(n.Factors)] {
			if v < possible.Low || v > possible.High {
				return nil, nil, &table.Error{File: scores.File, Line: s.Line, Column: n.Factors[t], Err: fmt.Errorf(
					"scores of another model: the score is not in %v", possible)}
			}
		}
		person := byID[s.ID]
		var k key
		var why Reason
		switch {
		case slices.ContainsFunc(s.Numbers[:len(n.Factors)], math.IsNaN):
			why = NoScore
		case sample != nil && person == nil:
			why = NoPerson
		default:
			k.band, k.sex, why = o.place(person)
		}
		if why != "" {
			outside.add(why, s.Line)
			n.Outside++
			continue
		}
		if columns[k] == nil {
			columns[k] = make([][]float64, len(n.Factors))
		}
		vague := false
		for t, v := range s.Numbers[:len(n.Factors)] {
			if len(s.Numbers) > len(n.Factors) && !o.Model.Summary.FactorFits[t].Measures(s.Numbers[len(n.Factors)+t]) {
				vague = true
				continue
			}
			columns[k][t] = append(columns[k][t], v)
		}
		if vague {
			outside.add(Vague, s.Line)
		}
		people[k]++
		sexes = append(sexes, k.sex)
		n.Participants++
	}
	slices.Sort(sexes)
	sexes = slices.Compact(sexes)
	bands, largest := 1, 0
	if o.Age != nil {
		bands = o.Age.Bins()
	}
	for band := range bands {
		for _, sex := range sexes {
			c := Cell{Band: band, Sex: sex}
			if o.Age != nil {
				c.Ages = o.Age.Label(band)
			}
			if values := columns[key{band, sex}]; values != nil {
				c.Participants = people[key{band, sex}]
				fewest := len(slices.MinFunc(values, func(a, b []float64) int { return cmp.Compare(len(a), len(b)) }))
				largest = max(largest, fewest)
				if fewest >= o.Least {
					c.Scores = lists.Map(values, distribution)
				}
			}
			n.Cells = append(n.Cells, c)
		}
	}
	if largest < o.Least {
		return nil, outside, questionnaire.Optionf("no cell has %d people: the largest has %d", o.Least, largest)
	}
	return n, outside, nil
}

// distribution counts scores, and sorts them.
func distribution(scores []float64) Distribution {
	slices.Sort(scores)
	d, n := Distribution{}, len(scores)
	steps := min(n-1, mostScores)
	for s := range steps + 1 {
		v := scores[s*(n-1)/max(steps, 1)]
		if k := len(d.Scores); k > 0 && d.Scores[k-1] == v {
			continue
		}
		below := sort.SearchFloat64s(scores, v)
		equal := sort.Search(n-below, func(i int) bool { return scores[below+i] > v })
		d.Scores, d.Below, d.Equal = append(d.Scores, v), append(d.Below, below), append(d.Equal, equal)
	}
	return d
}

// Percentile returns the percentile of a score, in (0, 100): with b of the n people below it and e at it,
//
//	100·(b + e/2 + 1/2)/(n + 1)
//
// This is the mean rank r of the score among those of the n people and itself, as the rankit 100·(r − 1/2)/(n + 1)
// (Bliss, "Statistics in Biology", 1967). It differs from the percentile rank 100·(b + e/2)/n (Crawford, Garthwaite and
// Slick, The Clinical Neuropsychologist 23, 2009, page 1176) by at most 50/(n + 1), and is never 0 or 100.
func (d *Distribution) Percentile(score float64) float64 {
	last := len(d.Scores) - 1
	n := float64(d.Below[last] + d.Equal[last])
	at := sort.SearchFloat64s(d.Scores, score)
	var below, equal float64
	switch {
	case at > last:
		below = n
	case d.Scores[at] == score:
		below, equal = float64(d.Below[at]), float64(d.Equal[at])
	case at > 0:
		low, high := float64(d.Below[at-1]+d.Equal[at-1]), float64(d.Below[at])
		below = low + (high-low)*(score-d.Scores[at-1])/(d.Scores[at]-d.Scores[at-1])
	}
	return 100 * (below + equal/2 + .5) / (n + 1)
}

// T returns the T score of a percentile in (0, 100): 50 + 10·Φ⁻¹(percentile/100), Φ the normal distribution function.
func T(percentile float64) float64 { return 50 + 10*math.Sqrt2*math.Erfinv(2*percentile/100-1) }

// z is the 97.5th percentile of the normal distribution.
const z = 1.959963984540054

// Apply adds the norms to scores of the model: for each factor its percentile and T score, and, if the scores have
// standard errors s, the T scores of score ± 1.96·s within the range of the method's scores, which hold the T score
// with 95 % in view of the error of measurement. The error of the norms themselves is not included. People, read by
// Read, must have the ids of the scores. Participants in no cell with norms have NaN, and are returned by line. Scores
// that are not measurements by their standard errors have NaN too.
func (n *Norms) Apply(m *model.Model, s *model.Scores, people *answers.Sheet) []Outside {
	var names []string
	for _, factor := range n.Factors {
		names = append(names, "percentile_"+factor, "t_"+factor)
		if s.Errors != nil {
			names = append(names, "t_low_"+factor, "t_high_"+factor)
		}
	}
	added, byID, outside, ends := mat.NewDense(len(s.IDs), len(names), nil), people.ByID(), tally{}, m.ScoreRange()
	for i, id := range s.IDs {
		cell, why := n.cell(byID[id])
		if why != "" {
			outside.add(why, byID[id].Line)
		}
		values := added.RawRowView(i)[:0]
		for t := range n.Factors {
			vague := s.Errors != nil && !m.Summary.FactorFits[t].Measures(s.Errors.At(i, t))
			percentile := func(score float64) float64 {
				if cell == nil || math.IsNaN(score) || vague {
					return math.NaN()
				}
				return cell.Scores[t].Percentile(score)
			}
			score := s.Values.At(i, t)
			values = append(values, percentile(score), T(percentile(score)))
			if s.Errors != nil {
				e := z * s.Errors.At(i, t)
				values = append(values, T(percentile(max(ends.Low, score-e))), T(percentile(min(ends.High, score+e))))
			}
		}
	}
	s.Norms, s.NormNames = added, names
	return outside
}

// cell returns the cell of a participant, or why it has no norms.
func (n *Norms) cell(person *answers.SheetRow) (*Cell, Reason) {
	band, sex, why := n.place(person)
	if why != "" {
		return nil, why
	}
	at := slices.IndexFunc(n.Cells, func(c Cell) bool { return c.Band == band && c.Sex == sex })
	switch {
	case at < 0:
		return nil, OtherSex
	case len(n.Cells[at].Scores) == 0:
		return nil, Few
	}
	return &n.Cells[at], ""
}

// maxNorms bounds the bytes of a file, and maxCommas its values, which are counted before they are decoded.
const maxNorms, maxCommas = 16 << 20, 1 << 21

// Load reads a file of norms. The error wraps ErrNorms if they are damaged or belong to another model.
func Load(path string, m *model.Model) (*Norms, error) {
	data, err := files.Read(path, maxNorms)
	if err != nil {
		return nil, fmt.Errorf("reading the norms: %w", err)
	}
	n := &Norms{}
	if bytes.Count(data, []byte(",")) > maxCommas {
		err = fmt.Errorf("more than %d values", maxCommas)
	} else if err = json.Unmarshal(data, n); err == nil {
		err = n.check(m)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w: %w", path, ErrNorms, err)
	}
	return n, nil
}

// check returns an error for norms that Make cannot have written.
func (n *Norms) check(m *model.Model) error {
	switch {
	case n.Format != Format:
		return fmt.Errorf("format %q, must be %q", n.Format, Format)
	case n.ModelSHA256 != m.SHA256:
		return errors.New("made with another fit")
	case n.Age != nil && n.Age.Check() != nil:
		return n.Age.Check()
	case !slices.Equal(n.Factors, model.FactorNames(m.Loadings())):
		return fmt.Errorf("%d factors, the model has %d", len(n.Factors), m.Summary.Factors)
	}
	for i, c := range n.Cells {
		if len(c.Scores) != 0 && len(c.Scores) != len(n.Factors) {
			return fmt.Errorf("cell %d has %d distributions for %d factors", i+1, len(c.Scores), len(n.Factors))
		}
		for _, d := range c.Scores {
			if err := d.check(n.Least, c.Participants); err != nil {
				return fmt.Errorf("cell %d: %w", i+1, err)
			}
		}
	}
	return nil
}

func (d *Distribution) check(least, most int) error {
	k := len(d.Scores)
	if k == 0 || len(d.Below) != k || len(d.Equal) != k {
		return errors.New("scores without counts")
	}
	reached := 0
	for i, v := range d.Scores {
		if i > 0 && !(v > d.Scores[i-1]) || d.Below[i] < reached || d.Equal[i] < 1 {
			return errors.New("scores or counts do not ascend")
		}
		reached = d.Below[i] + d.Equal[i]
	}
	if d.Below[0] != 0 || reached < least || reached > most {
		return fmt.Errorf("counts of %d people, must be %d to %d", reached, least, most)
	}
	return nil
}
