package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/wardcast/wardcast/internal/bridge/bulk"
	"github.com/wardcast/wardcast/internal/cli"
)

type bulkCmd struct {
	Manifest string `help:"Answer of a finished $$export of FHIR Bulk Data: its output names files or URLs." type:"existingfile" placeholder:"FILE" xor:"from" required:""`
	Server   string `help:"Base URL of a FHIR server, with Group/ID for one group: request an export, wait for it and download it. The next run into the same folder asks for what has changed since." placeholder:"URL" xor:"from" required:""`
	Folder   string `help:"Folder of files: .hl7 with one or more messages of HL7 v2, .ndjson with resources of FHIR; also .gz." type:"existingdir" placeholder:"DIR" xor:"from" required:""`
	Config   string `help:"Configuration file: site, key, codes, and the login at the server (bridge.fhir.smart)." required:"" type:"existingfile" placeholder:"FILE"`
	Out      string `help:"Folder for notes.jsonl and outcomes.jsonl. It keeps what a later run goes on with." required:"" placeholder:"DIR"`
	Gzip     bool   `help:"Compress the files: notes.jsonl.gz and outcomes.jsonl.gz."`
	cli.Output
}

func (c *bulkCmd) Run(ctx context.Context, d *cli.Deps) error {
	cfg, key, err := loadBridge(c.Config)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(d, "export")
	counts, err := bulk.Run(ctx, bulk.Options{
		Config: cfg.Bridge, Key: key, Manifest: c.Manifest, Server: c.Server, Folder: c.Folder, Out: c.Out,
		Gzip: c.Gzip, Logger: d.Log,
		Progress: func(what string, done, total int) { bar.Describe(what); bar.Set(done, total) },
	})
	bar.Finish()
	if err != nil {
		return err
	}
	grid := cli.NewGrid("LEFT OUT", "NUMBER")
	grid.Title = fmt.Sprintf("%d encounters: %d notes, %d outcomes\n", counts.Encounters, counts.Notes, counts.Outcomes)
	for _, cause := range slices.Sorted(maps.Keys(counts.LeftOut)) {
		grid.Add(cause, counts.LeftOut[cause])
	}
	return c.Print(d, counts, grid)
}
