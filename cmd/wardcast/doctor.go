package main

import (
	"context"
	"time"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/doctor"
)

type doctorCmd struct {
	cli.Output
	Config string `help:"Configuration file of serve." required:"" type:"existingfile" placeholder:"FILE"`
}

func (c *doctorCmd) Run(ctx context.Context, d *cli.Deps) error {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	checks := doctor.Run(ctx, cfg, time.Now())
	grid := cli.NewGrid("STATUS", "CHECK", "FOUND")
	for _, check := range checks {
		grid.Add(check.Status, check.Name, check.Detail)
		if check.Remedy != "" {
			grid.Add("", "", "remedy: "+check.Remedy)
		}
	}
	if err := c.Print(d, map[string]any{"checks": checks}, grid); err != nil {
		return err
	}
	if doctor.Failed(checks) {
		return cli.ErrReported
	}
	return nil
}
