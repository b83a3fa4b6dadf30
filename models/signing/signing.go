// Package signing signs what a store of models holds, and says by whom something was signed: ed25519, with keys in
// files of one line.
package signing

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/files"
)

// The kinds of key files, which begin their line.
const (
	secretKind = "ed25519-secret"
	publicKind = "ed25519"

	publicSuffix = ".pub"
)

// ErrUntrusted is wrapped by each error of Trusted.Check.
var ErrUntrusted = errors.New("not signed by a trusted key")

var encoding = base64.StdEncoding.Strict()

// NewKeyFile writes a new key to a file that only its owner may read, and its public half to that name with ".pub".
// Neither may exist.
func NewKeyFile(name string) error {
	public, secret, err := ed25519.GenerateKey(nil)
	if err == nil {
		_, err = os.Lstat(name + publicSuffix)
	}
	switch {
	case err == nil:
		err = fmt.Errorf("%s%s: %w", name, publicSuffix, os.ErrExist)
	case errors.Is(err, os.ErrNotExist):
		err = write(name, secretKind, secret.Seed(), 0o600)
	}
	if err == nil {
		err = write(name+publicSuffix, publicKind, public, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	return nil
}

func write(name, kind string, key []byte, permissions os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, permissions) //nolint:gosec // the command line names it
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, kind, encoding.EncodeToString(key))
	return errors.Join(err, f.Sync(), f.Close())
}

const maxFile = 1 << 12 // bytes of a file with a key

// read returns the key in a file of a kind.
func read(name, kind string, size int) ([]byte, error) {
	data, err := files.Read(name, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading a key: %w", err)
	}
	var key []byte
	fields := strings.Fields(string(data))
	if len(fields) == 2 && fields[0] == kind {
		key, err = encoding.DecodeString(fields[1])
	}
	if err != nil || len(key) != size {
		return nil, fmt.Errorf("reading a key: %s does not hold %q and a key; \"wardcast models keygen --out F\" makes F "+
			"to sign with and F%s to trust", name, kind, publicSuffix)
	}
	return key, nil
}

// Keys are what a store signs with and whom it trusts.
type Keys struct {
	Sign  *Key // nil signs nothing
	Trust Trusted
}

// Read reads the files of keys; "" signs nothing. Whoever signs by a key trusts it.
func Read(signing string, trusted []string) (k Keys, err error) {
	if signing != "" {
		if k.Sign, err = ReadKey(signing); err != nil {
			return k, err
		}
	}
	for _, name := range trusted {
		key, err := read(name, publicKind, ed25519.PublicKeySize)
		if err != nil {
			return k, err
		}
		k.Trust = append(k.Trust, public{filepath.Base(name), key})
	}
	if k.Sign != nil {
		k.Trust = append(k.Trust, public{filepath.Base(signing), k.Sign.public()})
	}
	return k, nil
}

// Key signs.
type Key struct{ secret ed25519.PrivateKey }

// ReadKey reads a key file.
func ReadKey(name string) (*Key, error) {
	seed, err := read(name, secretKind, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return &Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// ID names the key as signatures do.
func (k *Key) ID() string { return id(k.public()) }

func (k *Key) public() ed25519.PublicKey { return k.secret.Public().(ed25519.PublicKey) }

// Sign returns the signature of a statement: the key's ID and the signature in base64.
func (k *Key) Sign(statement []byte) string {
	return k.ID() + " " + encoding.EncodeToString(ed25519.Sign(k.secret, statement))
}

// Add returns the signatures of a statement with that of the key. The error wraps ErrUntrusted if there is one of the
// key that is not of this statement.
func (k *Key) Add(statement []byte, signatures []string) ([]string, error) {
	own := k.Sign(statement)
	for _, signature := range signatures {
		if Signer(signature) == k.ID() && signature != own {
			return nil, fmt.Errorf("%w: it, or its signature by %s, was changed after that key signed it", ErrUntrusted,
				k.ID())
		}
	}
	if slices.Contains(signatures, own) {
		return signatures, nil
	}
	return append(slices.Clone(signatures), own), nil
}

// id names a public key: the first 16 hexadecimal digits of its SHA-256.
func id(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// Signer returns the ID of the key of a signature.
func Signer(signature string) string {
	id, _, _ := strings.Cut(signature, " ")
	return id
}

// Trusted are the keys whose signatures count.
type Trusted []public

type public struct {
	name string // of the file
	key  ed25519.PublicKey
}

// Check returns which trusted key signed the statement: its file and its ID. The error wraps ErrUntrusted.
func (t Trusted) Check(statement []byte, signatures []string) (by string, err error) {
	if len(signatures) == 0 {
		return "", fmt.Errorf("%w: there is no signature", ErrUntrusted)
	}
	for _, signature := range signatures {
		signer, text, _ := strings.Cut(signature, " ")
		err = fmt.Errorf("%w: the signature is of key %.16q, which is not trusted", ErrUntrusted, signer)
		for _, p := range t {
			if id(p.key) != signer {
				continue
			}
			if sum, bad := encoding.DecodeString(text); bad == nil && ed25519.Verify(p.key, statement, sum) {
				return p.name + " (" + signer + ")", nil
			}
			return "", fmt.Errorf("%w: what it says, or its signature by %s (%s), was changed after it was signed",
				ErrUntrusted, p.name, signer)
		}
	}
	return "", err
}
