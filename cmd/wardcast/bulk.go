package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/wardcast/wardcast/internal/bridge/bulk"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/reload"
	"github.com/wardcast/wardcast/internal/service/config"
)

type bulkCmd struct {
	Manifest  string `help:"Answer of a finished $$export of FHIR Bulk Data: its output names files or URLs." type:"existingfile" placeholder:"FILE" xor:"from" required:""`
	Server    string `help:"Base URL of a FHIR server, with Group/ID for one group: request an export, wait for it and download it. The next run into the same folder asks for what has changed since." placeholder:"URL" xor:"from" required:""`
	Folder    string `help:"Folder of files: .hl7 with one or more messages of HL7 v2, .ndjson with resources of FHIR; also .gz." type:"existingdir" placeholder:"DIR" xor:"from" required:""`
	TokenFile string `help:"File with a bearer token for the server." type:"existingfile" placeholder:"FILE"`
	Config    string `help:"Configuration file: site, key and codes of its section bridge." required:"" type:"existingfile" placeholder:"FILE"`
	Out       string `help:"Folder for notes.jsonl and outcomes.jsonl. It keeps what a later run goes on with." required:"" placeholder:"DIR"`
	Gzip      bool   `help:"Compress the files: notes.jsonl.gz and outcomes.jsonl.gz."`
	cli.Output
}

func (c *bulkCmd) Run(ctx context.Context, d *cli.Deps) error {
	cfg, key, err := loadBridge(c.Config)
	if err != nil {
		return err
	}
	token := ""
	if c.TokenFile != "" {
		if token, err = reload.Secret(c.TokenFile); err != nil {
			return fmt.Errorf("reading the token: %w", err)
		}
		if u, err := url.Parse(c.Server); err == nil && u.Scheme == "http" && !config.Loopback(u.Host) {
			return cli.Usagef("--token-file requires https: the token would be readable on the network")
		}
	}
	bar := cli.NewProgress(d, "export")
	counts, err := bulk.Run(ctx, bulk.Options{
		Config: cfg.Bridge, Key: key, Manifest: c.Manifest, Server: c.Server, Folder: c.Folder, Token: token, Out: c.Out,
		Gzip: c.Gzip, Logger: d.Log, Progress: func(what string, done, total int) { bar.Describe(what); bar.Set(done, total) },
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
