package reload

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Value is what some files hold. It is safe for concurrent use.
type Value[T any] struct {
	files   []string
	load    func() (T, error)
	onError func(error)

	mu            sync.Mutex
	held          T
	read, refused string // states of the files: that were read last, and that could not be
}

// New returns what files hold, which load reads now and whenever a time or a size of them is another than before.
// onError is called, once for each change, with why they cannot be used; it may be nil.
func New[T any](load func() (T, error), onError func(error), files ...string) (*Value[T], error) {
	v := &Value[T]{files: files, load: load, onError: onError}
	_, err := v.Get()
	return v, err
}

// Get returns what the files hold now. If they cannot be used now, because one is gone, half-written or does not belong
// to the others yet, Get returns what they held before. It returns an error if they never held anything.
func (v *Value[T]) Get() (T, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.state()
	if now == v.read {
		return v.held, nil
	}
	value, err := v.load()
	switch {
	case err == nil:
		v.held, v.read, v.refused = value, now, ""
	case v.read == "":
		return value, err
	case v.refused != now:
		if v.refused = now; v.onError != nil {
			v.onError(err)
		}
	}
	return v.held, nil
}

func (v *Value[T]) state() string {
	var b strings.Builder
	fmt.Fprintln(&b, len(v.files)) // no state is empty
	for _, name := range v.files {
		if info, err := os.Stat(name); err != nil {
			fmt.Fprintln(&b, err)
		} else {
			fmt.Fprintln(&b, info.ModTime().UnixNano(), info.Size())
		}
	}
	return b.String()
}

// Pair returns what PEM files of a certificate and its key hold.
func Pair(certificate, key string, onError func(error)) (*Value[*tls.Certificate], error) {
	return New(func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		return &pair, err
	}, onError, certificate, key)
}

// Secret reads a file that holds only a password or a token. It leaves out the end of the line. An empty file is an
// error.
func Secret(name string) (string, error) {
	data, err := os.ReadFile(name) //nolint:gosec // the configuration names it
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(data), "\r\n")
	if secret == "" {
		return "", &os.PathError{Op: "read", Path: name, Err: errors.New("the file is empty")}
	}
	return secret, nil
}
