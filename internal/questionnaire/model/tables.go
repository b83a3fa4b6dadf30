package model

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Scores are the factors' degrees of presence, in [0,1].
type Scores struct {
	IDs    []string
	Values *mat.Dense // n×k
	// Errors are the standard errors of the scores, n×k, or nil. With them Answered counts each participant's answers.
	Errors   *mat.Dense
	Answered []int
	// Sums are further columns, n×len(SumNames), with NaN for an empty cell; nil without sums.
	Sums     *mat.Dense
	SumNames []string
	// Norms are further columns at the end, n×len(NormNames), with NaN for an empty cell; nil without norms.
	Norms     *mat.Dense
	NormNames []string
}

// CSV returns the scores as a table, in full precision. Ids stay as they are: programs compare them with those of the
// answers.
func (s *Scores) CSV() []byte {
	rows := [][]string{s.Header()}
	for i, id := range s.IDs {
		rows = append(rows, Cells([]string{id}, s.Row(i)...))
	}
	return plainCSV(rows)
}

// Header names the columns: id, factor1 …; with standard errors answered, se_factor1 …; then those of the sums and of
// the norms.
func (s *Scores) Header() []string {
	factors := FactorNames(s.Values)
	header := append([]string{"id"}, factors...)
	if s.Errors != nil {
		header = slices.Concat(header, []string{"answered"}, lists.Map(factors, ErrorName))
	}
	return slices.Concat(header, s.SumNames, s.NormNames)
}

// ErrorName names the column of the standard errors of a factor.
func ErrorName(factor string) string { return "se_" + factor }

// Row returns the numbers of a row of the table.
func (s *Scores) Row(i int) []float64 {
	row := slices.Clone(s.Values.RawRowView(i))
	if s.Errors != nil {
		row = slices.Concat(row, []float64{float64(s.Answered[i])}, s.Errors.RawRowView(i))
	}
	for _, more := range []*mat.Dense{s.Sums, s.Norms} {
		if more != nil {
			row = append(row, more.RawRowView(i)...)
		}
	}
	return row
}

// FactorNames names the columns of a matrix with a column for each factor.
func FactorNames(a *mat.Dense) []string {
	_, k := a.Dims()
	return lists.Make(k, func(t int) string { return "factor" + strconv.Itoa(t+1) })
}

// AllLoadings returns the loadings of the factors and then of the confounds, with their names.
func (m *Model) AllLoadings() (*mat.Dense, []string) {
	names := append(FactorNames(m.Loadings()), questionnaire.Columns(m.Confounds)...)
	if m.ConfoundLoadings() == nil {
		return m.Loadings(), names
	}
	all := &mat.Dense{}
	all.Augment(m.Loadings(), m.ConfoundLoadings())
	return all, names
}

// AllStretched returns AllLoadings as (*icqf.Model).Stretch, by which items of different ranges can be compared.
func (m *Model) AllStretched() *mat.Dense {
	all, _ := m.AllLoadings()
	return m.ICQF.Stretch(all) // which has no weights if FA scores
}

// Strongest returns, for each item, the first column with the largest absolute loading, and that loading's size.
func Strongest(loadings mat.Matrix) (columns []int, sizes []float64) {
	p, k := loadings.Dims()
	columns, sizes = make([]int, p), make([]float64, p)
	for j := range p {
		for c := range k {
			if size := math.Abs(loadings.At(j, c)); size > sizes[j] {
				columns[j], sizes[j] = c, size
			}
		}
	}
	return columns, sizes
}

// LoadingsCSV returns the loadings as a table: item, the factors, the confounds, the intercept. With MethodGRM the
// discrimination and the Thresholds of the item follow.
func (m *Model) LoadingsCSV() []byte {
	all, names := m.AllLoadings()
	rows, most := [][]string{append([]string{"item"}, names...)}, 0
	graded := m.FA != nil && m.FA.Graded != nil
	if graded {
		for j := range m.Items {
			most = max(most, len(m.Thresholds(j)))
		}
		rows[0] = append(rows[0], "discrimination")
		rows[0] = append(rows[0], lists.Make(most, func(k int) string { return "threshold_" + strconv.Itoa(k+1) })...)
	}
	for j, item := range m.Items {
		numbers := all.RawRowView(j)
		if graded {
			numbers = slices.Concat(numbers, m.FA.Graded.Slopes[j:j+1], m.Thresholds(j))
		}
		row := Cells([]string{item.Name}, numbers...)
		rows = append(rows, append(row, make([]string, len(rows[0])-len(row))...))
	}
	return CSV(rows)
}

func (m *Model) compactCSV() []byte {
	rows := [][]string{append(
		[]string{"rank", "questionnaire", "item", "text", "explained", "explained_low", "explained_high"},
		FactorNames(m.Loadings())...)}
	for i, item := range m.Summary.Compact {
		rows = append(rows, Cells([]string{strconv.Itoa(i + 1), item.Questionnaire, item.Name, item.Text},
			append([]float64{item.Explained, item.Low, item.High}, item.Correlations...)...))
	}
	return CSV(rows)
}

// intervalsCSV returns the loadings with their intervals as a long table: item, factor, loading, se, low, high.
func (m *Model) intervalsCSV() []byte {
	all, names := m.AllLoadings()
	of := m.Summary.Sure()
	rows := [][]string{{"item", "factor", "loading", "se", "low", "high"}}
	for j, item := range m.Items {
		for c, name := range names {
			rows = append(rows,
				Cells([]string{item.Name, name}, all.At(j, c), of.Errors[j][c], of.Low[j][c], of.High[j][c]))
		}
	}
	return CSV(rows)
}

// Cell writes a number in full precision, an empty cell for NaN.
func Cell(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Cells returns a row of words and then numbers.
func Cells(words []string, numbers ...float64) []string {
	return slices.Concat(words, lists.Map(numbers, Cell))
}

// CSV writes rows. An apostrophe before text that looks like a formula keeps spreadsheets from computing it.
func CSV(rows [][]string) []byte {
	return plainCSV(lists.Map(rows, func(row []string) []string { return lists.Map(row, wording.Cell) }))
}

func plainCSV(rows [][]string) []byte {
	var b bytes.Buffer
	_ = csv.NewWriter(&b).WriteAll(rows) // a buffer returns no errors
	return b.Bytes()
}

// Column is a factor or a column of the confounds.
type Column struct {
	Name string
	Fit  *FactorFit // nil for a confound
	// Accounted is that of a factor of factor analysis, otherwise nil.
	Accounted *Accounted
	Top       []Loading
}

// Loading is the loading of an item on a Column.
type Loading struct {
	questionnaire.Item
	Loading float64
	Width   float64                 // of its bar: a percentage of the largest loading of the model, as AllStretched
	Sure    *questionnaire.Interval // of the loading, nil if unknown
}

// IntervalOf returns the interval of a loading, nil if unknown.
func (m *Model) IntervalOf(item, column int) *questionnaire.Interval {
	s := m.Summary.Sure()
	if s == nil {
		return nil
	}
	return &questionnaire.Interval{Low: s.Low[item][column], High: s.High[item][column]}
}

// Columns list at most topItems items. The absolute AllStretched loading of each is at least TopShare of the column's
// largest, and leastLoading of the largest answer.
const (
	topItems     = 12
	TopShare     = 0.1
	leastLoading = 0.01
)

// Columns returns the factors and the confounds with their largest loadings.
func (m *Model) Columns() []Column {
	all, names := m.AllLoadings()
	sizes := m.AllStretched()
	_, k := m.Loadings().Dims()
	if m.FA == nil {
		_, k = all.Dims() // the confounds' loadings are on the scale of factors
	}
	within := sizes.Slice(0, len(m.Items), 0, k)
	longest := max(mat.Max(within), -mat.Min(within))
	columns := make([]Column, len(names))
	for c, name := range names {
		columns[c].Name = name
		if c < m.Summary.Factors {
			columns[c].Name = "Factor " + strconv.Itoa(c+1)
			columns[c].Fit = &m.Summary.FactorFits[c]
			if m.FA != nil {
				columns[c].Accounted = &m.Summary.Accounted[c]
			}
		}
		size := func(j int) float64 { return math.Abs(sizes.At(j, c)) }
		order := linalg.Order(len(m.Items), func(a, b int) int { return cmp.Compare(size(b), size(a)) })
		largest, least := size(order[0]), leastLoading*m.Summary.Settings.Range.High
		if m.FA != nil && c < m.Summary.Factors {
			least = 0 // such loadings do not depend on the scale of the answers
		}
		for _, j := range order[:min(len(order), topItems)] {
			if size(j) == 0 || size(j) < max(TopShare*largest, least) {
				continue
			}
			columns[c].Top = append(columns[c].Top, Loading{
				Item: m.Items[j], Loading: all.At(j, c), Width: min(100, 100*size(j)/longest), Sure: m.IntervalOf(j, c),
			})
		}
	}
	return columns
}

// Fitted is a model with the scores of the participants that it was learnt from.
type Fitted struct {
	Model
	Scores   Scores
	Careless [][]string // the rows of CarelessFile, nil without Summary.Careless
	TooFew   []int      // lines of the participants with too few answers for scores
	Unsure   []string   // the Warnings about the choice of a candidate
	Doubts   []string   // the Warnings about unreliable loadings and scores
	Input    string     // path of the answers
}

// Files returns the files of the model, ScoresFile and, if there are rows, CarelessFile.
func (f *Fitted) Files() (map[string][]byte, error) {
	files, err := f.Model.Files()
	if err == nil {
		files[ScoresFile] = f.Scores.CSV()
		if f.Careless != nil {
			files[CarelessFile] = CSV(f.Careless)
		}
	}
	return files, err
}
