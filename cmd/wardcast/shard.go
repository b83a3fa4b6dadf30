package main

import (
	"context"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/models/rounds"
)

// shardCmd is one operation of one shard.
type shardCmd struct {
	Op string `arg:"" help:"Operation: count notes, make rows of them, answer a round over rows, or add answers." enum:"count,rows,round,add"`
}

func (c *shardCmd) Run(_ context.Context, d *cli.Deps) error {
	return rounds.Run(rounds.Op(c.Op), version, d.In, d.Out)
}
