package reproduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// QuestionnairesSettings say which questionnaires are drawn, and how many factors are tried.
type QuestionnairesSettings struct {
	Trials  int       `json:"trials"`  // questionnaires of each noise; the paper has 30
	Noise   []float64 `json:"noise"`   // δ, the share of answers with noise
	Factors []int     `json:"factors"` // candidates of the methods that are fitted for each
	Seed    uint64    `json:"seed"`
	// Threads is what was asked of the process, which the seconds depend on.
	Threads int `json:"threads"`
	// Version is that of the program, which the numbers depend on.
	Version string `json:"version"`
}

// PaperNoise returns δ as the paper has it.
func PaperNoise() []float64 { return []float64{0.1, 0.2, 0.3} }

// QuestionnaireMethods returns the methods of the paper's table, each of which has two criteria.
func QuestionnaireMethods() []string { return []string{nameICQF, nameL1, nameFA} }

// Questionnaires counts the factors of questionnaires that are made of 10: table 1 of Lam, Mahony, Raznahan and Pereira.
type Questionnaires struct {
	QuestionnairesSettings
	// Methods are those to run, of QuestionnaireMethods; nil is all of them.
	Methods []string
	// Given are questionnaires to take in place of drawn ones, those of Noise and of Set below Trials.
	Given []Questionnaire
	// Cells is the path of a file of JSON lines, to which each QuestionnaireCell is added as it comes; those that it holds
	// are not computed again. It goes on under the same settings and questionnaires only. "" is none.
	Cells string
	// Progress, when not nil, is told how many of the cells are done.
	Progress func(done, total int)
}

// QuestionnaireCell is the number of factors that one method finds in one questionnaire by one criterion.
type QuestionnaireCell struct {
	Noise     float64 `json:"noise"`
	Set       int     `json:"set"` // from 0
	Method    string  `json:"method"`
	Criterion string  `json:"criterion"`
	Factors   int     `json:"factors"`
	Seconds   float64 `json:"seconds"`
}

func (c *QuestionnaireCell) check() error {
	if c.Method == "" || c.Criterion == "" {
		return errors.New("a number of factors without its method")
	}
	return nil
}

// same reports whether two cells are of the same questionnaire, method and criterion.
func (c *QuestionnaireCell) same(o *QuestionnaireCell) bool {
	return c.Noise == o.Noise && c.Set == o.Set && c.Method == o.Method && c.Criterion == o.Criterion
}

// questionnairesHeader is the header of cells.
type questionnairesHeader struct {
	QuestionnairesSettings
	Given string `json:"given"` // fingerprint, "" for none
}

func (h questionnairesHeader) of() string { return "numbers of factors of questionnaires" }

func (h questionnairesHeader) whole() bool { return h.Trials > 0 }

func (q *Questionnaires) check() error {
	if q.Methods == nil {
		q.Methods = QuestionnaireMethods()
	}
	if q.Trials < 1 || len(q.Noise) == 0 || len(q.Factors) == 0 || len(q.Methods) == 0 {
		return fmt.Errorf("%w: %d questionnaires of each of %d noises, %d numbers of factors, %d methods", ErrSettings, q.Trials, len(q.Noise), len(q.Factors), len(q.Methods))
	}
	for _, m := range q.Methods {
		if !slices.Contains(QuestionnaireMethods(), m) {
			return fmt.Errorf("%w: method %q is none of %v", ErrSettings, m, QuestionnaireMethods())
		}
	}
	for i, v := range q.Noise {
		if !(v > 0 && v <= 1) || slices.Contains(q.Noise[:i], v) {
			return fmt.Errorf("%w: noise %v is not above 0 and at most 1, or stands twice", ErrSettings, v)
		}
	}
	for i, k := range q.Factors {
		if k < 1 || k > questionnaireItems || slices.Contains(q.Factors[:i], k) {
			return fmt.Errorf("%w: %d factors are not from 1 to %d, or stand twice", ErrSettings, k, questionnaireItems)
		}
	}
	return nil
}

// Run finds the numbers of factors, one cell after another so that their seconds can be compared, and each on up to
// GOMAXPROCS threads. When ctx ends or a fit fails, what is known comes with the error.
func (q *Questionnaires) Run(ctx context.Context) (_ *QuestionnairesResult, err error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	questionnaires, err := q.questionnaires()
	if err != nil {
		return nil, err
	}
	file, err := openCells(q.Cells, questionnairesHeader{q.QuestionnairesSettings, fingerprintQuestionnaires(q.Given)}, (*QuestionnaireCell).check)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, file.close()) }()
	out := &QuestionnairesResult{Settings: q.QuestionnairesSettings, Drawn: q.Given == nil, TrueFactors: questionnaireFactors}
	defer out.summarize()
	compared := slices.DeleteFunc(detectors(), func(d detector) bool { return !slices.Contains(q.Methods, d.method) })
	total := len(questionnaires) * len(compared)
	for _, of := range questionnaires {
		for _, d := range compared {
			wanted := QuestionnaireCell{Noise: of.Noise, Set: of.Set, Method: d.method, Criterion: d.criterion}
			cell := file.find(wanted.same)
			if cell == nil {
				cell = &wanted
				began := time.Now()
				if cell.Factors, err = d.find(ctx, of.Answers, &q.QuestionnairesSettings); err != nil {
					return out, fmt.Errorf("questionnaire %d of noise %v, %s by %s: %w", of.Set, of.Noise, d.method, d.criterion, err)
				}
				cell.Seconds = time.Since(began).Seconds()
				if err := file.add(cell); err != nil {
					return out, err
				}
			}
			out.Cells = append(out.Cells, *cell)
			if q.Progress != nil {
				q.Progress(len(out.Cells), total)
			}
		}
	}
	return out, nil
}

// questionnaires returns those of the settings. All noises of one trial come before the next, so that an early end leaves
// something of everything.
func (q *Questionnaires) questionnaires() ([]Questionnaire, error) {
	var all []Questionnaire
	for set := range q.Trials {
		for _, noise := range q.Noise {
			if q.Given == nil {
				all = append(all, drawQuestionnaire(noise, set, q.Seed))
				continue
			}
			for _, g := range q.Given {
				if g.Noise == noise && g.Set == set {
					all = append(all, g)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no questionnaire of noise %v that is numbered below %d", ErrSettings, q.Noise, q.Trials)
	}
	return all, nil
}
