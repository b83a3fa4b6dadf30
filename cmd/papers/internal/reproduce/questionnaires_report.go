package reproduce

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// QuestionnairesResult is the outcome of Questionnaires.Run.
type QuestionnairesResult struct {
	Settings    QuestionnairesSettings `json:"settings"`
	Drawn       bool                   `json:"drawn"` // rather than read
	TrueFactors int                    `json:"true_factors"`
	// Summaries are the means of Cells over the questionnaires of one noise.
	Summaries []QuestionnaireSummary `json:"summaries"`
	Cells     []QuestionnaireCell    `json:"cells"`
}

// QuestionnaireSummary is the mean of |k − 10| over questionnaires, with its standard error, 0 for one questionnaire.
type QuestionnaireSummary struct {
	Method         string  `json:"method"`
	Criterion      string  `json:"criterion"`
	Noise          float64 `json:"noise"`
	Questionnaires int     `json:"questionnaires"`
	Error          float64 `json:"error"`
	StandardError  float64 `json:"standard_error"`
	// Seconds is the mean time of one questionnaire.
	Seconds float64 `json:"seconds"`
	// Paper is the printed error, and Reference that of other programs on 30 questionnaires drawn as here: the authors'
	// at its tolerance of 1e-3, without its bounds for l1-nmf by bic; masked coordinate descent for l1-nmf by bcv; psych in
	// R for fa-promax. nil where there is none.
	Paper     *Printed `json:"paper,omitempty"`
	Reference *Printed `json:"reference,omitempty"`
}

// Printed is a mean error and its standard error.
type Printed struct {
	Error         float64 `json:"error"`
	StandardError float64 `json:"standard_error"`
}

// printedDetections returns table 1 and the reference figures, for δ = 0.1, 0.2, 0.3.
func printedDetections() map[[2]string][2][3]Printed {
	return map[[2]string][2][3]Printed{
		{nameICQF, byBCV}:    {{{0.10, 0.06}, {0.11, 0.06}, {0.77, 0.15}}, {{0.50, 0.10}, {0.50, 0.13}, {0.23, 0.08}}},
		{nameL1, byBCV}:      {{{0.17, 0.07}, {2.37, 0.33}, {2.40, 0.31}}, {{0.07, 0.05}, {0.00, 0.00}, {0.07, 0.05}}},
		{nameICQF, byBIC}:    {{{0.10, 0.06}, {0.67, 0.23}, {2.40, 0.48}}, {{0.10, 0.06}, {0.30, 0.09}, {2.60, 0.30}}},
		{nameL1, byBIC}:      {{{0.90, 0.23}, {1.10, 0.30}, {2.47, 0.54}}, {{0.07, 0.05}, {0.07, 0.05}, {2.83, 0.24}}},
		{nameFA, byParallel}: {{{0.17, 0.07}, {0.53, 0.10}, {0.87, 0.14}}, {{0.00, 0.00}, {0.03, 0.03}, {0.23, 0.08}}},
		{nameFA, byMAP}:      {{{0.11, 0.06}, {0.13, 0.06}, {1.27, 0.20}}, {{0.00, 0.00}, {0.00, 0.00}, {0.00, 0.00}}},
	}
}

// summarize fills in the summaries.
func (r *QuestionnairesResult) summarize() {
	for _, d := range detectors() {
		for _, noise := range r.Settings.Noise {
			s := QuestionnaireSummary{Method: d.method, Criterion: d.criterion, Noise: noise}
			var off, seconds []float64
			for _, c := range r.Cells {
				if c.Method == d.method && c.Criterion == d.criterion && c.Noise == noise {
					off, seconds = append(off, math.Abs(float64(c.Factors-r.TrueFactors))), append(seconds, c.Seconds)
				}
			}
			if s.Questionnaires = len(off); s.Questionnaires == 0 {
				continue
			}
			s.Error, s.StandardError = meanError(off)
			s.Seconds, _ = meanError(seconds)
			printed := printedDetections()[[2]string{d.method, d.criterion}]
			for i, v := range PaperNoise() {
				if v == noise {
					s.Paper, s.Reference = &printed[0][i], &printed[1][i]
				}
			}
			r.Summaries = append(r.Summaries, s)
		}
	}
}

// String returns the error and, in brackets, its standard error, "-" for none.
func (p *Printed) String() string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f)", p.Error, p.StandardError)
}

// Table lays the results out.
func (r *QuestionnairesResult) Table() TextTable {
	t := TextTable{
		Title:  fmt.Sprintf("Table 1: mean |k − %d| and its standard error", r.TrueFactors),
		Header: []string{"method", "by", "noise", "questionnaires", "error", "paper", "reference", "seconds"},
	}
	for _, s := range r.Summaries {
		found := Printed{s.Error, s.StandardError}
		t.Lines = append(t.Lines, []string{
			s.Method, s.Criterion, exact(s.Noise), strconv.Itoa(s.Questionnaires), found.String(), s.Paper.String(), s.Reference.String(), fmt.Sprintf("%.3f", s.Seconds),
		})
	}
	return t
}

// Write puts everything into a folder, made where it is missing: results.json, table1.csv and factors.csv.
func (r *QuestionnairesResult) Write(dir string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	files := map[string][]byte{"results.json": append(data, '\n')}
	table := [][]string{{"method", "criterion", "noise", "questionnaires", "error", "standard_error", "seconds"}}
	for _, s := range r.Summaries {
		table = append(table, []string{s.Method, s.Criterion, exact(s.Noise), strconv.Itoa(s.Questionnaires), exact(s.Error), exact(s.StandardError), exact(s.Seconds)})
	}
	if files["table1.csv"], err = csvBytes(table); err != nil {
		return err
	}
	factors := [][]string{{"noise", "set", "method", "criterion", "factors", "seconds"}}
	for _, c := range r.Cells {
		factors = append(factors, []string{exact(c.Noise), strconv.Itoa(c.Set), c.Method, c.Criterion, strconv.Itoa(c.Factors), exact(c.Seconds)})
	}
	if files["factors.csv"], err = csvBytes(factors); err != nil {
		return err
	}
	return writeFiles(dir, files)
}
