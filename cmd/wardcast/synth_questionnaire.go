package main

import (
	"context"
	"fmt"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lab/synth"
)

type synthQuestionnaireCmd struct {
	Count   int     `short:"n" help:"Number of participants." default:"500"`
	Seed    uint64  `help:"Seed: equal seeds give equal answers." default:"1"`
	Missing float64 `help:"Probability that an answer is missing." default:"0.05"`
	Visits  int     `help:"Rows of a participant, three years apart." default:"1"`
	Part    string  `help:"Print the answers, the codebook, or the loadings or scores that are true." enum:"answers,codebook,loadings,scores" default:"answers"`
}

func (c *synthQuestionnaireCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Count < 1 || c.Visits < 1 || !(c.Missing >= 0 && c.Missing < 1) {
		return cli.Usage(fmt.Errorf("--count is %d, --visits %d and --missing %v: want at least 1 of the former, and 0 to below 1", c.Count, c.Visits, c.Missing))
	}
	return synth.WriteQuestionnaire(ctx, d.Out, synth.QuestionnairePart(c.Part), synth.QuestionnaireSettings{Participants: c.Count, Seed: c.Seed, Missing: c.Missing, Visits: c.Visits})
}
