package doctor

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/blobstore"
	"github.com/wardcast/wardcast/models/signing"
)

// Status is how bad a finding is.
type Status string

// The statuses: with a failure the product does not do what the configuration says, with a warning it will not always.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is what was found of one thing. Its JSON is stable.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"` // of all but OK
}

// Failed reports whether a check failed.
func Failed(checks []Check) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.Status == Fail })
}

// Run looks at an installation. now is the time by the clock of this machine.
func Run(ctx context.Context, c *config.Config, now time.Time) []Check {
	d := &doctor{Config: c, now: now}
	d.streams(ctx)
	if c.Models.Store != "" {
		d.store(ctx)
	}
	d.check("configuration", "what it names can be read", func(bad found) {
		if err := app.Check(ctx, c, slog.New(slog.DiscardHandler)); err != nil {
			bad(Fail, "see docs/commands/check-config.md", "%v", err)
		}
	})
	d.certificates()
	d.secrets()
	d.machine()
	return d.checks
}

type doctor struct {
	*config.Config
	now    time.Time
	checks []Check
}

// found records something bad.
type found func(s Status, remedy, detail string, args ...any)

// check adds what look finds, or that all is fine.
func (d *doctor) check(name, fine string, look func(bad found)) {
	before := len(d.checks)
	look(func(s Status, remedy, detail string, args ...any) {
		d.checks = append(d.checks, Check{Name: name, Status: s, Detail: fmt.Sprintf(detail, args...), Remedy: remedy})
	})
	if len(d.checks) == before {
		d.checks = append(d.checks, Check{Name: name, Status: OK, Detail: fine})
	}
}

// oldModel is the age of models that a nightly retraining should not let them reach.
const oldModel = 45 * 24 * time.Hour

func (d *doctor) store(ctx context.Context) {
	place := d.Models.Store
	const train = "train a first model with `wardcast train` or `wardcast retrain` into models.store, or name another"
	var store *models.Store
	d.check("store", place+" can be read", func(bad found) {
		var err error
		if store, err = blobstore.Open(ctx, place); err == nil {
			var keys signing.Keys
			if keys, err = signing.Read(d.Models.SigningKey, d.Models.TrustedKeys); err == nil {
				store = store.With(keys) // which takes for its champion what is signed
				err = store.Recognize(ctx)
			}
		}
		if errors.Is(err, models.ErrEmpty) || errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Stat(place); !blobstore.IsURL(place) && errors.Is(err, fs.ErrNotExist) {
				bad(Warn, train+", which makes it", "there is no folder %s yet", place)
			}
			return // champion says so
		}
		if err != nil {
			bad(Fail, "set models.store to a store of models that this user may read", "%s: %v", place, err)
			store = nil
			return
		}
		if mode, others, _ := config.OpenToOthers(place); others && !blobstore.IsURL(place) {
			bad(Warn, "chmod o-rwx "+place, "%s has the permissions %04o: others can read it", place, mode)
		}
	})
	if store == nil {
		return
	}
	var g *models.Generation
	d.check("champion", "all files of the served generation are whole, and the history agrees", func(bad found) {
		var err error
		g, err = store.Champion(ctx)
		_, damaged := errors.AsType[*models.FileError](err)
		if errors.Is(err, models.ErrNotFound) && !damaged {
			bad(Fail, train, "the store %s has no champion: serve waits for a first model", place)
			return
		}
		if err == nil {
			for name, m := range g.Models {
				_, damage := store.Load(ctx, name, m.Version)
				err = errors.Join(err, damage)
			}
			fit, damage := store.BedsOf(ctx, g)
			if fit != "" && damage == nil {
				_, damage = store.LoadBeds(ctx, fit)
			}
			err = errors.Join(store.Agree(ctx), err, damage)
		}
		if err != nil {
			bad(Fail, "see what `wardcast models verify` says, and the runbooks of WardcastModelsRefused and "+
				"WardcastHistoryDisagrees in docs/operations.md", "%v", err)
		}
	})
	if g == nil || g.CreatedAt.IsZero() {
		return
	}
	age := d.now.Sub(g.CreatedAt)
	d.check("model age", fmt.Sprintf("%.0f days", age.Hours()/24), func(bad found) {
		if age > oldModel {
			bad(Warn, "see that `wardcast retrain` runs, and what its gate refuses: `wardcast models history`",
				"the champion is %.0f days old", age.Hours()/24)
		}
	})
	d.check("signature", "the served generation is signed by a trusted key, or champion says otherwise",
		func(bad found) {
			if len(d.Models.TrustedKeys) == 0 && d.Models.SigningKey == "" {
				bad(Warn, "sign models (`wardcast models keygen`) and name the key in models.trusted_keys: whoever "+
					"can write to the store can change what is predicted",
					"no trusted keys: signatures are not asked for")
			}
		})
	d.check("clock", "later than the champion's time", func(bad found) {
		if age < 0 {
			bad(Fail, "set the clock of this machine, or of the one that trains",
				"the champion is from %v, which is later than now", g.CreatedAt.UTC().Format(time.RFC3339))
		}
	})
}

const (
	soon             = 30 * 24 * time.Hour // before it expires a certificate is a warning
	mostCertificates = 1 << 20             // bytes of a file of certificates
)

func (d *doctor) certificates() {
	for _, path := range d.Certificates() {
		d.check("certificate "+path, "valid for longer than 30 days", func(bad found) {
			const remedy = "renew it: the file is read again, without a restart"
			data, err := files.Read(path, mostCertificates)
			if err != nil {
				bad(Fail, "let the service read it", "%v", err)
				return
			}
			if !bytes.Contains(data, []byte("-----BEGIN CERTIFICATE-----")) {
				bad(Fail, remedy, "it holds no certificate")
			}
			for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
				if block.Type != "CERTIFICATE" {
					continue
				}
				c, err := x509.ParseCertificate(block.Bytes)
				if err != nil {
					bad(Fail, remedy, "it holds no certificate: %v", err)
					continue
				}
				until := c.NotAfter.UTC().Format(time.RFC3339)
				switch {
				case d.now.After(c.NotAfter):
					bad(Fail, remedy, "it expired on %s", until)
				case d.now.Before(c.NotBefore):
					bad(Fail, remedy, "it is valid from %s on only", c.NotBefore.UTC().Format(time.RFC3339))
				case c.NotAfter.Sub(d.now) < soon:
					bad(Warn, remedy, "it expires on %s", until)
				}
			}
		})
	}
}

func (d *doctor) secrets() {
	d.check("secret files", "only the service can read them", func(bad found) {
		for _, path := range d.Secrets() {
			mode, others, err := config.OpenToOthers(path)
			switch {
			case err != nil:
				bad(Fail, "make it, and let the service read it", "%v", err)
			case others:
				bad(Warn, "chmod 600 "+path, "%s has the permissions %04o: others can read it", path, mode)
			}
		}
	})
}

// The free space below which the disk is too full.
const (
	fullDisk  = 1 << 30
	emptyDisk = 64 << 20
)

func (d *doctor) machine() {
	d.check("synchronization of the clock", "the system says that it is synchronized", func(bad found) {
		if !synchronized() {
			bad(Warn, "run chrony or another client of NTP on this machine",
				"the system does not say that its clock is synchronized")
		}
	})
	folders := []string{os.TempDir()} // of the index of topics
	if store := d.Models.Store; store != "" && !blobstore.IsURL(store) {
		folders = append(folders, store)
	}
	for _, folder := range folders {
		free, err := free(folder)
		if err != nil {
			continue // a store that is not there yet
		}
		d.check("disk of "+folder, fmt.Sprintf("%d MiB are free", free>>20), func(bad found) {
			status := Warn
			if free < emptyDisk {
				status = Fail
			}
			if free < fullDisk {
				bad(status, "make room, or remove old generations", "%d MiB are free", free>>20)
			}
		})
	}
}
