package synth

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
)

// QuestionnaireSettings describe the answers of invented children to an invented questionnaire.
type QuestionnaireSettings struct {
	Participants int
	Seed         uint64
	// Missing is the probability that an answer is missing, in [0, 1).
	Missing float64
	// Visits is the number of rows of a participant, years apart, with the same presence of the constructs; 0 means 1.
	Visits int
}

// QuestionnairePart is one of the tables that belong together.
type QuestionnairePart string

// The tables: id, items, age, sex and diagnoses; what the items are; the true loadings; and the true scores.
const (
	QuestionnaireAnswers  QuestionnairePart = "answers"
	QuestionnaireCodebook QuestionnairePart = "codebook"
	QuestionnaireLoadings QuestionnairePart = "loadings"
	QuestionnaireScores   QuestionnairePart = "scores"
)

// QuestionnaireTop is the largest answer, "always"; the least is 0, "never".
const QuestionnaireTop = 4

// The make-up of the answers.
const (
	questionnaireStream = 0x6974_656d_73 // "items"

	absent    = 0.4  // probability that a construct is not there at all
	comorbid  = 0.35 // of the second construct that is the first's: worry and low mood come together
	answerSD  = 0.45 // of what an answer owes to nothing else
	youngest  = 6
	oldest    = 17
	steepness = 9.0 // of the probability of a diagnosis against its construct
	threshold = 0.6 // degree of presence where a diagnosis is as likely as not
	apart     = 3   // years from visit to visit
)

// construct is a factor: a subscale, the diagnosis that comes with it, and its items.
type construct struct {
	name, diagnosis string
	items           []surveyItem
}

// surveyItem is answered by own loading on its construct, cross loading on another, and what age and sex add.
type surveyItem struct {
	text     string
	own      float64
	other    int // construct of the cross loading
	cross    float64
	older    float64 // added at the oldest age, in proportion below it
	boys     float64 // added for boys
	reversed bool
}

// constructs are those of the questionnaire.
func constructs() []construct {
	return []construct{
		{"anxiety", "anxiety_disorder", []surveyItem{
			{text: "Worries about many things", own: 3.8},
			{text: "Has stomach aches before school", own: 2.6},
			{text: "Is calm in new places", own: 3, reversed: true},
			{text: "Fears that something bad will happen", own: 3.6},
			{text: "Clings to adults", own: 2.8},
			{text: "Lies awake at night", own: 2.2, other: 1, cross: 1.2, older: 0.4},
		}},
		{"mood", "depression", []surveyItem{
			{text: "Is unhappy or tearful", own: 3.6},
			{text: "Enjoys what others enjoy", own: 2.8, reversed: true},
			{text: "Says that nobody likes them", own: 3},
			{text: "Has little energy", own: 3.2, older: 0.6},
			{text: "Blames themselves for everything", own: 3.1, other: 0, cross: 0.9},
			{text: "Has lost interest in hobbies", own: 3.4, older: 0.5},
		}},
		{"attention", "adhd", []surveyItem{
			{text: "Cannot sit still", own: 3.6, boys: 0.4},
			{text: "Is easily distracted", own: 3.9},
			{text: "Finishes what was begun", own: 3, reversed: true},
			{text: "Talks without waiting for a turn", own: 2.9, other: 3, cross: 0.8},
			{text: "Loses things", own: 2.6},
			{text: "Acts before thinking", own: 3.2, other: 3, cross: 1},
		}},
		{"conduct", "conduct_disorder", []surveyItem{
			{text: "Argues with adults", own: 3, older: 0.8},
			{text: "Fights with other children", own: 3.4, boys: 0.3},
			{text: "Lies to get out of trouble", own: 3.1},
			{text: "Takes what belongs to others", own: 2.5},
			{text: "Loses their temper", own: 3.5, other: 1, cross: 0.8},
			{text: "Breaks rules at school", own: 3, older: 0.4},
		}},
		{"social", "social_difficulties", []surveyItem{
			{text: "Prefers to be alone", own: 3.2, older: 0.5},
			{text: "Has at least one good friend", own: 3.3, reversed: true},
			{text: "Is teased by others", own: 2.7},
			{text: "Does not look at people", own: 3},
			{text: "Joins in games", own: 3.2, reversed: true},
			{text: "Misses what others mean", own: 2.8, other: 2, cross: 0.7},
		}},
	}
}

// WriteQuestionnaire writes a part of a questionnaire as CSV. An answer is
//
//	round(own·w + cross·w′ + older·(age − 6)/11 + boys + noise), cut at 0 and 4
//
// with w, w′ in [0, 1] the presence of the constructs, and 4 less that for a reversed item. Participant i is a function of
// the seed and of i. Equal settings give equal bytes. It returns an error for settings without meaning, when ctx ends and
// when w fails.
func WriteQuestionnaire(ctx context.Context, w io.Writer, part QuestionnairePart, s QuestionnaireSettings) error {
	if s.Participants < 1 || !(s.Missing >= 0 && s.Missing < 1) || s.Visits < 0 {
		return errors.New("want at least 1 participant, a probability of missing answers from 0 to below 1, and no negative number of visits")
	}
	all, out := constructs(), csv.NewWriter(w)
	switch part {
	case QuestionnaireCodebook:
		_ = out.Write([]string{"item", "text", "subscale", "min", "max", "reverse"}) // Error tells
		eachItem(all, func(name string, c int, item *surveyItem) {
			reverse := ""
			if item.reversed {
				reverse = "1"
			}
			_ = out.Write([]string{name, item.text, all[c].name, "0", strconv.Itoa(QuestionnaireTop), reverse})
		})
	case QuestionnaireLoadings:
		head := []string{"item"}
		for _, c := range all {
			head = append(head, c.name)
		}
		_ = out.Write(append(head, "age_high", "sex_M"))
		eachItem(all, func(name string, c int, item *surveyItem) {
			row := make([]float64, len(all), len(all)+2)
			row[item.other] = item.cross
			row[c] = item.own
			_ = out.Write(append([]string{name}, decimals(append(row, item.older, item.boys))...))
		})
	case QuestionnaireAnswers, QuestionnaireScores:
		head := []string{"id"}
		if part == QuestionnaireScores {
			for _, c := range all {
				head = append(head, c.name)
			}
		} else {
			eachItem(all, func(name string, _ int, _ *surveyItem) { head = append(head, name) })
			head = append(head, "age", "sex")
			for _, c := range all {
				head = append(head, c.diagnosis)
			}
		}
		_ = out.Write(head)
		for i := range s.Participants {
			if err := ctx.Err(); err != nil {
				return err
			}
			scores, visits := s.participant(i, all)
			if part == QuestionnaireScores {
				visits = [][]string{decimals(scores)}
			}
			for _, cells := range visits {
				if err := out.Write(append([]string{"p" + strconv.Itoa(i+1)}, cells...)); err != nil {
					return err
				}
			}
		}
	default:
		return errors.New("no such part of a questionnaire: " + string(part))
	}
	out.Flush()
	return out.Error()
}

// eachItem calls f with the items, which are named after their construct.
func eachItem(all []construct, f func(name string, c int, item *surveyItem)) {
	for c := range all {
		for j := range all[c].items {
			f(all[c].name+"_"+strconv.Itoa(j+1), c, &all[c].items[j])
		}
	}
}

func decimals(values []float64) []string {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return cells
}

// participant returns the true scores of participant i, and of each visit the cells of answers, age, sex and diagnoses.
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
		if random.Float64() < 1/(1+math.Exp(-steepness*(w-threshold))) {
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

// answers returns the cells of answers, age and sex.
func (s *QuestionnaireSettings) answers(random *rand.Rand, all []construct, scores []float64, age, boy int) (cells []string) {
	eachItem(all, func(_ string, c int, item *surveyItem) {
		v := item.own*scores[c] + item.cross*scores[item.other] + item.older*float64(age-youngest)/(oldest-youngest) + item.boys*float64(boy) + answerSD*random.NormFloat64()
		answer := int(math.Round(min(max(v, 0), QuestionnaireTop)))
		if item.reversed {
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
