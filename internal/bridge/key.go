package bridge

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/wardcast/wardcast/internal/files"
)

// keySize is the size of a key in bytes.
const keySize = 32

// Key hashes identifiers.
type Key struct{ secret []byte }

// NewKeyFile writes a new key to a file that only its owner may read, and which must not exist.
func NewKeyFile(name string) error {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret)                                              // never fails
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the command line names it
	if err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	if _, err = fmt.Fprintln(f, hex.EncodeToString(secret)); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	return nil
}

const maxKeyFile = 1 << 12 // bytes

// ReadKey reads a key file: one line of 64 hexadecimal digits.
func ReadKey(name string) (Key, error) {
	data, err := files.Read(name, maxKeyFile)
	if err != nil {
		return Key{}, fmt.Errorf("reading the key: %w", err)
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(secret) != keySize {
		return Key{}, fmt.Errorf("reading the key: %s does not hold one line of %d hexadecimal digits; make one with "+
			"`wardcast bridge keygen --out FILE`", name, 2*keySize)
	}
	return Key{secret}, nil
}

// PublicKey returns a key that anybody knows, to try messages without a key of one's own.
func PublicKey() Key { return Key{make([]byte, keySize)} }

// ID names the key without revealing it: the first 8 hexadecimal digits of its SHA-256.
func (k Key) ID() string {
	sum := sha256.Sum256(k.secret)
	return hex.EncodeToString(sum[:4])
}

// Prefixes of hashed identifiers.
const (
	visitPrefix     = "v-"
	patientPrefix   = "p-"
	referencePrefix = "r-" // of a resource by its reference
)

// Visit returns the name of a visit of this number in all that the bridge writes.
func (k Key) Visit(site, number string) string { return k.hash(visitPrefix, site, number) }

// visitID returns the name of a visit of this number.
func (b *Bridge) visitID(number string) string { return b.key.Visit(b.config.Site, number) }

// patientID returns the name of a patient of this number.
func (b *Bridge) patientID(number string) string {
	return b.key.hash(patientPrefix, b.config.Site, number)
}

// hash returns the prefix and the first 32 hexadecimal digits of the HMAC-SHA-256 of site, NUL and number, or "" for no
// number.
func (k Key) hash(prefix, site, number string) string {
	if number == "" {
		return ""
	}
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte(site + "\x00" + number))
	return prefix + hex.EncodeToString(h.Sum(nil)[:16])
}
