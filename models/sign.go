package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/signing"
)

// With returns the store with keys: it signs what it adds and changes, and serves, promotes and rolls back to nothing
// that no trusted key signed. The key that signs should be among them.
func (s *Store) With(keys signing.Keys) *Store {
	with := New(s.bucket)
	with.keys = keys
	return with
}

const (
	signatureExt   = ".sig"
	signatureLimit = 1 << 16 // bytes
)

func signatureFile(name string) string { return path.Join(generationsFolder, name+signatureExt) }

// statement returns what the signatures of a generation sign: the SHA-256 of its file and of the manifests of all that
// belongs to it, as sha256sum writes them. The manifests hold those of all other files.
func (s *Store) statement(ctx context.Context, g *Generation) ([]byte, error) {
	sums := map[string]string{generationFile(g.Name): g.sum}
	for model, m := range g.Models {
		b := &bundle.Bundle{Version: m.Version}
		if err := s.readManifest(ctx, b, model); err != nil {
			return nil, fileError(FileError{Model: model, Version: m.Version, File: bundle.ManifestFile, Err: err})
		}
		sums[path.Join(model, m.Version, bundle.ManifestFile)] = b.SHA256
	}
	if g.Beds != "" {
		_, sum, err := s.bedsManifest(ctx, g.Beds)
		if err != nil {
			return nil, err
		}
		sums[path.Join(bedsFolder, g.Beds, bundle.ManifestFile)] = sum
	}
	return signing.Sums(sums), nil
}

// signatures returns those of a generation, and the file that holds them, nil if there is none.
func (s *Store) signatures(ctx context.Context, name string) (all []string, file []byte, err error) {
	file, err = s.bucket.Read(ctx, signatureFile(name), signatureLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fileError(FileError{File: signatureFile(name), Err: err})
	}
	return strings.FieldsFunc(string(file), func(r rune) bool { return r == '\n' }), file, nil
}

// trust returns who signed a generation. The error is a *FileError unless that is a trusted key. What it signed is held
// against the manifests that are read from now on.
func (s *Store) trust(ctx context.Context, g *Generation) (by string, err error) {
	signatures, _, err := s.signatures(ctx, g.Name)
	if err != nil {
		return "", err
	}
	said, known := s.vouched.Load(g.sum)
	if !known {
		if said, err = s.statement(ctx, g); err != nil {
			return "", err
		}
	}
	if by, err = s.keys.Trust.Check(said.([]byte), signatures); err != nil {
		return "", &FileError{File: generationFile(g.Name), Err: fmt.Errorf("the generation is %w", err)}
	}
	s.vouched.Store(g.sum, said)
	signing.EachSum(said.([]byte), func(file, sum string) { s.vouched.Store(file, sum) })
	return by, nil
}

// heldTo returns an error if a trusted key signed another manifest.
func (s *Store) heldTo(file, sum string) error {
	if want, ok := s.vouched.Load(file); ok && want != sum {
		return errManifestChanged
	}
	return nil
}

// ErrNoKey is returned for a change of what is served that would not be signed, in a store with trusted keys or with a
// signed history.
var ErrNoKey = errors.New("a change that is not signed would be refused by all who trust keys: a signing key is needed")

// Trusted returns an error in a store with trusted keys, a *FileError, unless one of them signed the generation.
func (s *Store) Trusted(ctx context.Context, g *Generation) error {
	if len(s.keys.Trust) == 0 {
		return nil
	}
	_, err := s.trust(ctx, g)
	return err
}

// sign adds the signature of the store's key, if it has one, to a generation that lacks it. If that key has signed
// something else by this name, somebody has changed that.
func (s *Store) sign(ctx context.Context, g *Generation) error {
	if s.keys.Sign == nil {
		return nil
	}
	for {
		said, err := s.statement(ctx, g)
		if err != nil {
			return err
		}
		there, before, err := s.signatures(ctx, g.Name)
		if err != nil {
			return err
		}
		all, err := s.keys.Sign.Add(said, there)
		if err != nil {
			return &FileError{File: generationFile(g.Name), Err: fmt.Errorf("the generation is %w", err)}
		}
		if len(all) == len(there) {
			return nil
		}
		after := []byte(strings.Join(all, "\n") + "\n")
		if err = s.swap(ctx, signatureFile(g.Name), before, after); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// Sign signs a generation, "" for the served one, and with that one the history. It returns the generation's name. In a
// store with trusted keys one of them must have signed both; in each, its key nothing else by their names.
func (s *Store) Sign(ctx context.Context, name string) (string, error) {
	l, err := s.agreed(ctx)
	if err == nil && l.head != nil {
		if _, err = s.keys.Sign.Add(l.head.Statement(), l.head.Signatures); err != nil {
			err = &FileError{File: headFile, Err: fmt.Errorf("the history is %w", err)}
		}
	}
	if err == nil && name == "" {
		if name = l.served; name == "" {
			err = absent("no generation is served")
		}
	}
	var g *Generation
	if err == nil {
		g, err = s.Generation(ctx, name)
	}
	for _, step := range []func(context.Context, *Generation) error{s.Trusted, s.checkVersions, s.sign} {
		if err == nil {
			err = step(ctx, g)
		}
	}
	if err == nil && name == l.served {
		_, err = s.writeHead(ctx, l.headData, signing.NewHead(l.history, l.served))
	}
	if err != nil {
		return name, fmt.Errorf("signing: %w", err)
	}
	return name, nil
}

// Signed says who signed a generation.
type Signed struct {
	Generation string   `json:"generation"`
	Keys       []string `json:"keys"` // IDs of all that did
	Trusted    string   `json:"trusted,omitempty"`
}

// Signers returns who signed each sound generation that somebody did, oldest first. The error joins a *FileError for
// each that no trusted key signed, if the store has any.
func (s *Store) Signers(ctx context.Context) ([]Signed, error) {
	names, err := s.Generations(ctx)
	if err != nil {
		return nil, err
	}
	all := []Signed{}
	var errs []error
	for _, name := range names {
		g, err := s.Generation(ctx, name)
		if err != nil {
			continue // Verify reports it
		}
		signatures, _, err := s.signatures(ctx, name)
		signed := Signed{Generation: name, Keys: lists.Map(signatures, signing.Signer)}
		if err == nil && len(s.keys.Trust) > 0 {
			signed.Trusted, err = s.trust(ctx, g)
		}
		if errs = append(errs, err); len(signatures) > 0 {
			all = append(all, signed)
		}
	}
	return all, errors.Join(errs...)
}
