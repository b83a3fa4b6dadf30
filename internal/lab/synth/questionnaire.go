package synth

import (
	"cmp"
	"context"
	_ "embed" // for the questionnaire
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// QuestionnaireSettings describe the answers of invented children to an invented questionnaire.
type QuestionnaireSettings struct {
	Participants int     `name:"count" short:"n" help:"Number of participants." default:"500"`
	Seed         uint64  `help:"Seed: equal seeds give equal answers." default:"1"`
	Missing      float64 `help:"Probability that an answer is missing." default:"0.05"` // in [0, 1)
	Visits       int     `help:"Rows per participant, three years apart." default:"1"`  // with the same scores; 0 means 1
}

// QuestionnairePart is one of the tables of a questionnaire.
type QuestionnairePart string

// The tables: answers with age, sex and diagnoses; descriptions of the items; true loadings; true scores.
const (
	QuestionnaireAnswers  QuestionnairePart = "answers"
	QuestionnaireCodebook QuestionnairePart = "codebook"
	QuestionnaireLoadings QuestionnairePart = "loadings"
	QuestionnaireScores   QuestionnairePart = "scores"
)

// QuestionnaireTop is the largest answer, "always"; the smallest is 0, "never".
const QuestionnaireTop = 4

// Parameters of the model of WriteQuestionnaire.
const (
	questionnaireStream = 0x6974_656d_73 // "items"

	absent    = 0.4  // probability that a construct is absent
	comorbid  = 0.35 // share of mood that comes from anxiety
	answerSD  = 0.45 // of the noise in an answer
	youngest  = 6
	oldest    = 17
	steepness = 9.0 // of the probability of a diagnosis as a function of its construct
	threshold = 0.6 // presence of the construct at which a diagnosis has probability 1/2
	apart     = 3   // years between visits
)

//go:embed questionnaire.yaml
var questionnaireYAML []byte

// construct is a factor of questionnaire.yaml, which explains the fields.
type construct struct {
	Name, Diagnosis string
	Items           []surveyItem
}

type surveyItem struct {
	Text     string
	Own      float64
	Other    string // construct of the cross loading
	Cross    float64
	Older    float64
	Boys     float64
	Reversed bool

	other int // index of Other
}

// readConstructs returns the questionnaire. Do not modify it.
var readConstructs = sync.OnceValues(func() (all []construct, err error) {
	if err := readYAML(questionnaireYAML, &all); err != nil {
		return nil, err
	}
	eachItem(all, func(_ string, _ int, item *surveyItem) {
		item.other = max(0, slices.IndexFunc(all, func(c construct) bool { return c.Name == item.Other }))
	})
	return all, nil
})

// WriteQuestionnaire writes a part of a questionnaire as CSV. An answer is
//
//	round(own·w + cross·w′ + older·(age − 6)/11 + boys + noise), cut at 0 and 4
//
// where w and w′ in [0, 1] are the scores of the constructs; for a reversed item it is 4 minus that. Participant i is a
// function of the seed and i. Equal settings give equal bytes. It returns an error for invalid settings, when ctx ends,
// and when w fails.
func WriteQuestionnaire(ctx context.Context, w io.Writer, part QuestionnairePart, s QuestionnaireSettings) error {
	if s.Participants < 1 || !(s.Missing >= 0 && s.Missing < 1) || s.Visits < 0 {
		return errors.New("participants must be at least 1, the probability of missing answers from 0 to below 1, " +
			"and visits not negative")
	}
	all, err := readConstructs()
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	row := func(first string, others ...string) { _ = out.Write(append([]string{first}, others...)) } // see out.Error
	var names, diagnoses, items []string
	for _, c := range all {
		names, diagnoses = append(names, c.Name), append(diagnoses, c.Diagnosis)
	}
	eachItem(all, func(name string, _ int, _ *surveyItem) { items = append(items, name) })
	switch part {
	case QuestionnaireCodebook:
		row("item", "text", "subscale", "min", "max", "reverse")
		eachItem(all, func(name string, c int, item *surveyItem) {
			reverse := ""
			if item.Reversed {
				reverse = "1"
			}
			row(name, item.Text, all[c].Name, "0", strconv.Itoa(QuestionnaireTop), reverse)
		})
	case QuestionnaireLoadings:
		row("item", append(names, "age_high", "sex_M")...)
		eachItem(all, func(name string, c int, item *surveyItem) {
			loadings := make([]float64, len(all), len(all)+2)
			loadings[item.other] = item.Cross
			loadings[c] = item.Own
			row(name, decimals(append(loadings, item.Older, item.Boys))...)
		})
	case QuestionnaireAnswers, QuestionnaireScores:
		if part == QuestionnaireScores {
			row("id", names...)
		} else {
			row("id", slices.Concat(items, []string{"age", "sex"}, diagnoses)...)
		}
		for i := range s.Participants {
			scores, visits := s.participant(i, all)
			if part == QuestionnaireScores {
				visits = [][]string{decimals(scores)}
			}
			for _, cells := range visits {
				row("p"+strconv.Itoa(i+1), cells...)
			}
			if err := cmp.Or(ctx.Err(), out.Error()); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown part of a questionnaire %q", part)
	}
	out.Flush()
	return out.Error()
}

// eachItem calls f with each item and its name, such as the construct's name and _1.
func eachItem(all []construct, f func(name string, c int, item *surveyItem)) {
	for c := range all {
		for j := range all[c].Items {
			f(all[c].Name+"_"+strconv.Itoa(j+1), c, &all[c].Items[j])
		}
	}
}

func decimals(values []float64) []string {
	return lists.Map(values, func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) })
}

// participant returns the true scores of participant i and the cells of each visit: answers, age, sex and diagnoses.
func (s *QuestionnaireSettings) participant(i int, all []construct) (scores []float64, visits [][]string) {
	random := rand.New(rand.NewPCG(s.Seed, questionnaireStream+uint64(i)))
	scores = make([]float64, len(all))
	for c := range scores {
		if w := random.Float64(); random.Float64() >= absent {
			scores[c] = w
		}
	}
	scores[1] = (1-comorbid)*scores[1] + comorbid*scores[0]
	age, boy := youngest+random.IntN(oldest-youngest+1), random.IntN(2)
	cells := s.answers(random, all, scores, age, boy)
	var diagnoses []string
	for _, w := range scores {
		ill := "0"
		if random.Float64() < linalg.Sigmoid(steepness*(w-threshold)) {
			ill = "1"
		}
		diagnoses = append(diagnoses, ill)
	}
	visits = [][]string{append(cells, diagnoses...)}
	for v := 1; v < s.Visits; v++ {
		visits = append(visits, append(s.answers(random, all, scores, age+v*apart, boy), diagnoses...))
	}
	return scores, visits
}

// answers returns the cells of the answers, age and sex.
func (s *QuestionnaireSettings) answers(random *rand.Rand, all []construct, scores []float64,
	age, boy int,
) (cells []string) {
	eachItem(all, func(_ string, c int, item *surveyItem) {
		v := item.Own*scores[c] + item.Cross*scores[item.other] + item.Older*float64(age-youngest)/(oldest-youngest) +
			item.Boys*float64(boy) + answerSD*random.NormFloat64()
		answer := int(math.Round(min(max(v, 0), QuestionnaireTop)))
		if item.Reversed {
			answer = QuestionnaireTop - answer
		}
		cell := strconv.Itoa(answer)
		if random.Float64() < s.Missing {
			cell = ""
		}
		cells = append(cells, cell)
	})
	return append(cells, strconv.Itoa(age), []string{"F", "M"}[boy])
}
