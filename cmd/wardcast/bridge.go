package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/bridge/bulk"
	"github.com/wardcast/wardcast/internal/bridge/process"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/service/config"
)

type bridgeCmd struct {
	Run    bridgeRunCmd    `cmd:"" default:"withargs" help:"Take messages of the hospital's systems until stopped: HL7 v2 and FHIR in, notes and outcomes out, predictions back." example:"wardcast bridge run --config wardcast.yaml"`
	Check  bridgeCheckCmd  `cmd:"" help:"Show what the bridge makes of one message, without Kafka." example:"wardcast bridge check --message adt.hl7 --config wardcast.yaml"`
	Keygen bridgeKeygenCmd `cmd:"" help:"Make the key that identifiers of patients are hashed with." example:"wardcast bridge keygen --out bridge.key"`
}

type bridgeRunCmd struct {
	Config         string `help:"Configuration file. --log-level overrides its log.level." required:"" type:"existingfile" placeholder:"FILE"`
	EmbeddedBroker string `help:"Run a Kafka broker in this process, on the first address of kafka.brokers, with its data in this folder." placeholder:"DIR"`
	CreateTopics   bool   `help:"Create missing topics, ${partitions} partitions each. Those of the bridge's own state are always created."`
	Insecure       bool   `help:"Allow non-loopback addresses without TLS."`
}

func (c *bridgeRunCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	cfg, log, err := configAndLog(c.Config, d, command)
	if err != nil {
		return err
	}
	return process.Run(ctx, process.Options{
		Config: cfg, Logger: log, Version: version, EmbeddedBroker: c.EmbeddedBroker, CreateTopics: c.CreateTopics,
		Insecure: c.Insecure,
	})
}

type bridgeCheckCmd struct {
	cli.Output
	Message string `help:"File with one message (-: standard input): HL7 v2, in a frame of MLLP or not, or a Bundle of FHIR." required:"" type:"existingfile" placeholder:"FILE"`
	Config  string `help:"Configuration file (default: the defaults, and a key that anybody knows)." type:"existingfile" placeholder:"FILE"`
}

func (c *bridgeCheckCmd) Run(d *cli.Deps) error {
	cfg, key := config.Default(), bridge.PublicKey()
	cfg.Bridge.Site = "example"
	if c.Config != "" {
		loaded, own, err := loadBridge(c.Config)
		if err != nil {
			return err
		}
		cfg, key = *loaded, own
	}
	data, err := bridge.ReadMessage(c.Message, d.In)
	if err != nil {
		return err
	}
	b, err := bridge.New(cfg.Bridge, key)
	if err != nil {
		return err
	}
	checked := b.Check(data, process.Topics(&cfg), time.Now())
	grid := cli.NewGrid("TOPIC", "KEY", "VALUE")
	grid.Title = checked.String() + "\n"
	for _, e := range checked.Events {
		grid.Add(e.Topic, e.Key, string(e.Value))
	}
	return c.Print(d, checked, grid)
}

// loadBridge reads a configuration with a bridge, and its key.
func loadBridge(file string) (*config.Config, bridge.Key, error) {
	cfg, err := config.Load(file)
	if err == nil {
		err = cfg.Bridge.Require()
	}
	if err != nil {
		return nil, bridge.Key{}, err
	}
	key, err := bridge.ReadKey(cfg.Bridge.KeyFile)
	return cfg, key, err
}

type bridgeKeygenCmd struct {
	Out string `help:"File for the key, which must not exist. Only its owner can read it." required:"" placeholder:"FILE"`
}

func (c *bridgeKeygenCmd) Run() error { return bridge.NewKeyFile(c.Out) }

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
