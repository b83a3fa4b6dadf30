package main

import (
	"context"
	"errors"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/lab/synth"
)

type synthMatrixCmd struct {
	Documents int    `help:"Rows." default:"13084"`
	Terms     int    `help:"Columns." default:"5876"`
	Topics    int    `help:"Topics that terms are drawn from." default:"200"`
	Seed      uint64 `help:"Seed: equal seeds give equal matrices." default:"1"`
}

func (c *synthMatrixCmd) Run(ctx context.Context, d *cli.Deps) error {
	if c.Documents < 1 || c.Terms < 1 || c.Topics < 1 {
		return cli.Usage(errors.New("--documents, --terms and --topics must be at least 1"))
	}
	return synth.WriteMatrix(ctx, d.Out, synth.MatrixSettings{Documents: c.Documents, Terms: c.Terms, Topics: c.Topics, Seed: c.Seed})
}
