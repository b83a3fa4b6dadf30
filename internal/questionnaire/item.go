package questionnaire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wording"
)

// Item is a question.
type Item struct {
	Name     string `json:"item"`
	Text     string `json:"text,omitempty"`
	Subscale string `json:"subscale,omitempty"`
	// Others are further scales that the keys of psych put the item into. A model does not keep them.
	Others []string `json:"-"`
	// Range is the range of the answers; nil if a codebook does not give it.
	Range *Range `json:"range"`
	// Reversed items count an answer v as low+high−v.
	Reversed bool `json:"reversed,omitempty"`
	// Choices are those of a data dictionary: a file may hold their labels in place of their codes.
	Choices []Choice `json:"choices,omitempty"`
	// Status is the column of REDCap that says whether the form of a checkbox is complete.
	Status string `json:"status,omitempty"`
}

// Choice is an answer that a data dictionary allows.
type Choice struct {
	Code  string `json:"code"`
	Label string `json:"label"`
}

// Labelled returns the only choice with this label, in capitals or not.
func (i *Item) Labelled(label string) (c Choice, ok bool) {
	same := func(at int) bool { return label != "" && strings.EqualFold(i.Choices[at].Label, label) }
	if at := lists.Where(len(i.Choices), same); len(at) == 1 {
		return i.Choices[at[0]], true
	}
	return c, false
}

// Orient returns an answer as it is scored: turned if the item is reversed, and counted from the low end of the range
// if requested.
func (i *Item) Orient(v float64, fromLow bool) float64 {
	if i.Reversed {
		v = i.Range.Low + i.Range.High - v
	}
	if fromLow {
		v -= i.Range.Low
	}
	return v
}

// Scales returns the names of the item's scales; alone for an item without a scale.
func (i *Item) Scales(alone string) []string {
	return append([]string{cmp.Or(i.Subscale, alone)}, i.Others...)
}

// Scale is a scale with the indices of its items.
type Scale struct {
	Name  string
	Items []int
}

// ScalesOf groups the items at these indices by their scales, in the order in which the scales appear. Items without a
// scale form one without a name or, if alone, each its own.
func ScalesOf(all []Item, at []int, alone bool) (scales []Scale) {
	place := map[string]int{}
	for _, j := range at {
		own := ""
		if alone {
			own = all[j].Name
		}
		for _, name := range all[j].Scales(own) {
			if _, ok := place[name]; !ok {
				place[name], scales = len(scales), append(scales, Scale{Name: name})
			}
			scales[place[name]].Items = append(scales[place[name]].Items, j)
		}
	}
	return scales
}

// Names returns the names of the items.
func Names(items []Item) []string {
	return lists.Map(items, func(item Item) string { return item.Name })
}

// Figure is a number that JSON holds as null if it is not finite, and reads back as NaN.
type Figure float64

// Defined reports whether the number is finite.
func (f Figure) Defined() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// MarshalJSON implements json.Marshaler.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Defined() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Figure) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*f = Figure(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(f))
}

// Interval is a confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Range is a range of numbers, both ends included.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Holds reports whether v lies in the range. NaN does not.
func (r Range) Holds(v float64) bool { return v >= r.Low && v <= r.High }

// String returns, for instance, "0 to 4".
func (r Range) String() string { return fmt.Sprintf("%v to %v", r.Low, r.High) }

// ParseRange reads "0:4".
func ParseRange(s string) (*Range, error) {
	low, high, _ := strings.Cut(s, ":")
	r, err := NewRange(low, high)
	if err != nil {
		return nil, Optionf("range %q: %w", s, err)
	}
	return r, nil
}

// NewRange returns the range with these ends. The error is ErrRange unless both are numbers, the first below the
// second.
func NewRange(low, high string) (*Range, error) {
	a, errLow := Number(low)
	b, errHigh := Number(high)
	if errLow != nil || errHigh != nil || !(a < b) {
		return nil, ErrRange
	}
	return &Range{a, b}, nil
}

// Number is wording.Number.
func Number(s string) (float64, error) { return wording.Number(s) }

// Missing recognizes missing entries: an empty cell, NA, NaN, a dot, and the codes of the file.
type Missing struct {
	codes   []string
	numbers []float64 // the codes that are numbers
}

// NewMissing returns the missing entries of a file with these codes.
func NewMissing(codes []string) *Missing {
	m := &Missing{codes: codes}
	for _, code := range codes {
		if v, err := Number(code); err == nil {
			m.numbers = append(m.numbers, v)
		}
	}
	return m
}

// Cell reports whether a trimmed cell is a missing entry as it is spelled.
func (m *Missing) Cell(cell string) bool {
	return cell == "" || cell == "." || strings.EqualFold(cell, "NA") || strings.EqualFold(cell, "NaN") ||
		slices.Contains(m.codes, cell)
}

// Number reports whether a number is a code.
func (m *Missing) Number(v float64) bool { return slices.Contains(m.numbers, v) }

// Value returns the number in a cell, NaN for a missing entry.
func (m *Missing) Value(cell string) (float64, error) {
	if len(cell) == 1 && '0' <= cell[0] && cell[0] <= '9' && m.codes == nil { // as most answers
		return float64(cell[0] - '0'), nil
	}
	cell = strings.TrimSpace(cell)
	if m.Cell(cell) {
		return math.NaN(), nil
	}
	v, err := Number(cell)
	if err == nil && m.Number(v) {
		return math.NaN(), nil
	}
	return v, err
}

// Spelled returns a cell in a canonical spelling, so that 1 and 1.0 are the same; "" for a missing entry.
func (m *Missing) Spelled(cell string) string {
	switch v, err := m.Value(cell); {
	case err != nil:
		return strings.Clone(strings.TrimSpace(cell))
	case math.IsNaN(v):
		return ""
	default:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
}

// Quantile returns the value of rank share·(B+1) of B sorted values, interpolated linearly between ranks.
func Quantile(sorted []float64, share float64) float64 {
	at := min(max(share*float64(len(sorted)+1)-1, 0), float64(len(sorted)-1))
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Percentiles sorts values of a bootstrap, and returns the ends of their 95 % percentile interval.
func Percentiles(values []float64) Interval {
	slices.Sort(values)
	return Interval{Quantile(values, 0.025), Quantile(values, 0.975)}
}

// MostScale is the largest number whose square, and products of it with other such numbers, can be summed.
const MostScale = 1e100

// MaxItems bounds the items of a file: methods hold several matrices of all pairs of them.
const MaxItems = 4096

// The reasons of a *table.Error about the files of a questionnaire, in addition to those of package table.
var (
	ErrNoItem         = errors.New("no column matches the items")
	ErrManyItems      = fmt.Errorf("more than %d items", MaxItems)
	ErrNoAnswers      = errors.New("no participant with answers")
	ErrOneParticipant = errors.New("only one participant with answers; at least two are needed")
	ErrNotNumber      = wording.ErrNotNumber
	ErrNotFinite      = wording.ErrNotFinite
	ErrOutOfRange     = errors.New("answer out of range")
	ErrRange          = errors.New("not a range: must be low:high, two numbers with low below high")
	ErrScale          = errors.New("numbers too large or too small to calculate with")
	ErrNegative       = errors.New("the range begins below 0: --from-low counts answers from its low end")
	ErrBelow          = errors.New("the lowest answer is below 0. If it means missing, name it with --missing-code; " +
		"otherwise use --from-low")
	ErrNeverAnswered = errors.New("no participant answered this item")
	ErrConstant      = errors.New("a constant item: all answers are the same")
	ErrFewItems      = errors.New("fewer than two items vary; reliability needs two")
	ErrNoID          = errors.New("no id")
	ErrSameID        = errors.New("the same id as on an earlier line")
	ErrNoConfound    = errors.New("a confound without a value (--omit-incomplete leaves such participants out)")
	ErrOneLevel      = errors.New("a confound with only one value")
	ErrConfoundRange = errors.New("a confound outside its given range")
	ErrNewLevel      = errors.New("a level that was not in training")
	ErrNoBin         = errors.New("a time outside all bins")
	ErrVaries        = errors.New("the confounds differ from those")
	ErrTwoRoles      = errors.New("a column with two roles")
	ErrNoValue       = errors.New("no participant with answers has this value")
	ErrCase          = errors.New("another value of the column differs from this one only in capitals")
	ErrOneClass      = errors.New("the label has only one class")
	ErrNumbered      = errors.New("its participants have no ids to match with other files")
	ErrNotShared     = errors.New("no participant in common with the other questionnaires")
	ErrNoOwnAnswers  = errors.New("a second stage has no answers to choose a compact set from: name the fits that it " +
		"was made from")
	ErrOtherScores  = errors.New("not the scores that the fit wrote")
	ErrOtherAnswers = errors.New("not the answers that the model was fitted to: the SHA-256 differs")
)

// ErrOptions is returned for invalid options.
var ErrOptions = errors.New("option out of range")

// Optionf returns an error that wraps ErrOptions.
func Optionf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrOptions, fmt.Errorf(format, args...))
}
