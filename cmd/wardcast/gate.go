package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/blobstore"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/models/signing"
	"github.com/wardcast/wardcast/models/train"
)

type gateFlags struct {
	signFlag
	trustFlag
	Force bool   `help:"Promote the new models even if the gate refuses them. Requires --why."`
	Why   reason `help:"Why you train or force this model. Recorded in the history." placeholder:"TEXT"`
	Site  string `help:"YAML file with the site's statements about its models: owner, contact, hazards, monitoring. Printed in their cards (default: retrain.site of --config)." type:"existingfile" placeholder:"FILE"`
}

// reason is a text for the history.
type reason string

// Validate is called by the command line's parser.
func (r reason) Validate() error { return wording.CheckLine(string(r)) }

// Validate is called by the command line's parser.
func (f *gateFlags) Validate() error {
	if f.Force && f.Why == "" {
		return errors.New("--force requires --why: the reason is recorded in the history")
	}
	return nil
}

// store opens the store of new models, with the keys of the flags, or else of the configuration.
func (f *gateFlags) store(ctx context.Context, place string, c *config.Models) (*models.Store, error) {
	trusted := f.TrustedKeys
	if trusted == nil {
		trusted = c.TrustedKeys
	}
	keys, err := signing.Read(cmp.Or(f.SigningKey, c.SigningKey), trusted)
	if err != nil {
		return nil, err
	}
	if len(keys.Trust) > 0 && keys.Sign == nil {
		return nil, fmt.Errorf("%w (--signing-key, or models.signing_key)", models.ErrNoKey)
	}
	s, err := blobstore.Open(ctx, place)
	if err != nil {
		return nil, err
	}
	return s.With(keys), s.Create(ctx)
}

// open returns the gatekeeper of a store for the command by.
func (f *gateFlags) open(d *cli.Deps, s *models.Store, rule gate.Settings, by string) *train.Gatekeeper {
	return &train.Gatekeeper{
		Store: s, Gate: rule, Force: f.Force, By: operator() + ", " + by, Why: string(f.Why), Command: commandLine(d.Args),
		Created: time.Now().UTC().Truncate(time.Second), Logger: d.Log,
	}
}

// interrupted adds which models are served now to the error of a training that a signal ended.
func interrupted(ctx context.Context, gatekeeper *train.Gatekeeper, err error) error {
	if !errors.Is(err, context.Canceled) || ctx.Err() == nil {
		return err
	}
	leaves := "see `wardcast models history` for whether the new models are served"
	if gatekeeper.Untouched(context.WithoutCancel(ctx)) {
		leaves = "what is served did not change"
	}
	return &cli.InterruptedError{Err: err, Leaves: leaves}
}

// logPromotion logs the decision on a candidate, and returns cli.ErrRefused if nothing changed.
func logPromotion(log *slog.Logger, e *train.Promotion) error {
	facts := []any{"generation", e.Candidate.Name, "decision", string(e.Verdict.Decision), "reason", e.Verdict.Reason}
	if report.TooGood(e.Verdict.Figures.Challenger) {
		const leaked = report.LooksLeaked + "; `wardcast models card` names the words with the largest weights"
		log.Warn(leaked, "auroc", e.Verdict.Figures.Challenger.AUROC.Value, "generation", e.Candidate.Name)
	}
	switch {
	case e.Served == nil:
		log.Warn("the gate refused the new models; they stay in the store", facts...)
		return cli.ErrRefused
	case e.Served != e.Candidate:
		log.Warn("the champion was recalibrated; the new models stay in the store",
			append(facts, "served", e.Served.Name)...)
	case e.Verdict.Decision != gate.Promote:
		log.Warn("the new models are served by --force although the gate did not approve them", facts...)
	default:
		log.Info("the new models are served", facts...)
	}
	return nil
}

// operator returns the user's name for the history of a store.
func operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// commandLine returns the command line, quoted for a shell, for the history of a store.
func commandLine(args []string) string {
	words := []string{"wardcast"}
	for _, arg := range args {
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"$`\\*?;&|<>()") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
