package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
)

type serveCmd struct {
	Config         string `help:"Configuration file. --log-level overrides its log.level." required:"" type:"existingfile" placeholder:"FILE"`
	EmbeddedBroker string `help:"Run a Kafka broker in this process, on the first address of kafka.brokers, with its data in this folder." placeholder:"DIR"`
	CreateTopics   bool   `help:"Create missing topics, ${partitions} partitions each."`
	ShowNotes      bool   `help:"Show the text of notes on the pages to everybody who may see predictions (default: only words that the model knows)."`
	Insecure       bool   `help:"Allow non-loopback addresses without TLS and tokens. Callers without a token can then only read."`
}

func (c *serveCmd) Run(ctx context.Context, d *cli.Deps, command *kong.Context) error {
	cfg, log, err := configAndLog(c.Config, d, command)
	if err != nil {
		return err
	}
	a, err := app.New(ctx, app.Options{
		Config: cfg, Logger: log, Registry: app.NewRegistry(version), Version: version,
		EmbeddedBroker: c.EmbeddedBroker, CreateTopics: c.CreateTopics, ShowNotes: c.ShowNotes, Insecure: c.Insecure,
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// configAndLog returns a configuration and a log, whose level is that of the configuration unless --log-level is set.
func configAndLog(file string, d *cli.Deps, command *kong.Context) (*config.Config, *slog.Logger, error) {
	cfg, err := config.Load(file)
	if err != nil || logLevelGiven(command) {
		return cfg, d.Log, err
	}
	log, err := cli.NewLogger(d.Err, cfg.Log.Level)
	return cfg, log, err
}

// logLevelGiven reports whether --log-level is set on the command line or in the environment.
func logLevelGiven(command *kong.Context) bool {
	return slices.ContainsFunc(command.Flags(), func(f *kong.Flag) bool {
		set := func(name string) bool { _, ok := os.LookupEnv(name); return ok }
		given := func(p *kong.Path) bool { return p.Flag == f }
		return f.Name == "log-level" && (slices.ContainsFunc(command.Path, given) || slices.ContainsFunc(f.Envs, set))
	})
}

type brokerCmd struct {
	Dir      string `help:"Folder for the data, created if missing." required:"" placeholder:"DIR"`
	Listen   string `help:"Address to listen on, also advertised to clients." default:"127.0.0.1:9092" placeholder:"HOST:PORT"`
	Sync     bool   `help:"Sync every write to disk, so that acknowledged records survive a power failure."`
	Insecure bool   `help:"Allow a non-loopback address, although it has no TLS or login."`
}

func (c *brokerCmd) Run(ctx context.Context, d *cli.Deps) error {
	if err := app.CheckListen(c.Insecure, c.Listen); err != nil {
		return err
	}
	if d.Own {
		syscall.Umask(0o077) // the library opens its files to everybody, and they hold what patients said
	}
	b, err := embedded.Start(embedded.Config{Dir: c.Dir, Listen: c.Listen, Sync: c.Sync, Logger: d.Log})
	if err != nil {
		return err
	}
	defer b.Close()
	d.Log.Info("ready", "listen", b.Addr())
	<-ctx.Done()
	return nil
}

type checkConfigCmd struct {
	Config string `arg:"" help:"Configuration file." type:"existingfile" placeholder:"FILE"`
}

func (c *checkConfigCmd) Run(ctx context.Context, d *cli.Deps) error {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	if err := app.Check(ctx, cfg, d.Log); err != nil {
		return err
	}
	for _, path := range cfg.Secrets() {
		if mode, others, _ := config.OpenToOthers(path); others {
			d.Log.Warn("others can read a secret: chmod 600", "file", path, "permissions", fmt.Sprintf("%04o", mode))
		}
	}
	_, err = fmt.Fprintf(d.Out, "%s is valid\n", c.Config)
	return err
}
