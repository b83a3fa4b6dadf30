package synth

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"slices"
	"strconv"
	"testing"
)

func questionnaireTable(t *testing.T, part QuestionnairePart, s QuestionnaireSettings) [][]string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteQuestionnaire(t.Context(), &b, part, s); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestWriteQuestionnaire(t *testing.T) {
	t.Parallel()
	s := QuestionnaireSettings{Participants: 400, Seed: 3, Missing: 0.1}
	answers, scores := questionnaireTable(t, QuestionnaireAnswers, s), questionnaireTable(t, QuestionnaireScores, s)
	codebook, loadings := questionnaireTable(t, QuestionnaireCodebook, s),
		questionnaireTable(t, QuestionnaireLoadings, s)
	items, constructs := len(codebook)-1, len(scores[0])-1
	if len(answers) != 401 || len(scores) != 401 || len(loadings) != items+1 ||
		len(answers[0]) != 1+items+2+constructs || len(loadings[0]) != 1+constructs+2 {
		t.Fatalf("answers %d×%d, scores %d×%d, codebook %d, loadings %d×%d", len(answers), len(answers[0]), len(scores),
			len(scores[0]), len(codebook), len(loadings), len(loadings[0]))
	}
	missing := 0
	for i, row := range answers[1:] {
		if row[0] != scores[1+i][0] {
			t.Fatalf("row %d of answers and scores are of two participants", i)
		}
		for j, cell := range row[1 : 1+items] {
			if codebook[1+j][0] != answers[0][1+j] || loadings[1+j][0] != answers[0][1+j] {
				t.Fatalf("item %d has three names", j)
			}
			if cell == "" {
				missing++
				continue
			}
			if v, err := strconv.Atoi(cell); err != nil || v < 0 || v > QuestionnaireTop {
				t.Fatalf("answer %q", cell)
			}
		}
		for _, cell := range scores[1+i][1:] {
			if v, err := strconv.ParseFloat(cell, 64); err != nil || v < 0 || v > 1 {
				t.Fatalf("score %q", cell)
			}
		}
	}
	if share := float64(missing) / float64(400*items); share < 0.08 || share > 0.12 {
		t.Errorf("%v of the answers are missing, want a tenth", share)
	}
	// An item follows its construct, backwards where it is reversed.
	for j := range items {
		var with, without, n, m float64
		own := 1 + j/(items/constructs)
		for i, row := range answers[1:] {
			v, err := strconv.ParseFloat(row[1+j], 64)
			if err != nil {
				continue
			}
			if w, _ := strconv.ParseFloat(scores[1+i][own], 64); w > 0.5 {
				with, n = with+v, n+1
			} else if w == 0 {
				without, m = without+v, m+1
			}
		}
		if higher := with/n > without/m+1; higher == (codebook[1+j][5] == "1") {
			t.Errorf("item %s: mean answer %v with its construct, %v without", codebook[1+j][0], with/n, without/m)
		}
	}
	s.Participants = 7
	for i, row := range questionnaireTable(t, QuestionnaireAnswers, s) {
		if !slices.Equal(row, answers[i]) {
			t.Errorf("row %d of 7 participants is not that of 400", i)
		}
	}
	s.Visits = 2
	twice := questionnaireTable(t, QuestionnaireAnswers, s)
	for i := range s.Participants {
		one, two := twice[1+2*i], twice[2+2*i]
		if !slices.Equal(one, answers[1+i]) || two[0] != one[0] || two[1+items] == one[1+items] ||
			!slices.Equal(two[2+items:], one[2+items:]) {
			t.Errorf("visits %q and %q of one participant", one, two)
		}
	}
	s.Visits = 0
	s.Seed++
	if slices.Equal(questionnaireTable(t, QuestionnaireAnswers, s)[1], answers[1]) {
		t.Error("another seed gives the same answers")
	}
}

func TestWriteQuestionnaireRefuses(t *testing.T) {
	t.Parallel()
	good := QuestionnaireSettings{Participants: 2}
	for _, s := range []QuestionnaireSettings{
		{}, {Participants: 1, Missing: 1}, {Participants: 1, Missing: -0.1}, {Participants: 1, Visits: -1},
	} {
		if err := WriteQuestionnaire(t.Context(), &bytes.Buffer{}, QuestionnaireAnswers, s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
	if err := WriteQuestionnaire(t.Context(), &bytes.Buffer{}, "x", good); err == nil {
		t.Error("an unknown part: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WriteQuestionnaire(ctx, &bytes.Buffer{}, QuestionnaireAnswers, good); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if err := WriteQuestionnaire(t.Context(), full{}, QuestionnaireAnswers, good); !errors.Is(err, errFull) {
		t.Errorf("error %v, want the writer's", err)
	}
}
