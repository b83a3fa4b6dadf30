package reload

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Value is what some files hold. Its exported fields are set before the first use and not changed. It is then safe for
// concurrent use.
type Value[T any] struct {
	// Files are what Read reads. They have changed if a time or a size is another than before.
	Files []string
	Read  func() (T, error)
	// Refused is told, once for each change, why the files cannot be used; nil tells nobody.
	Refused func(error)

	mu            sync.Mutex
	held          T
	read, refused string // states of the files: that were read last, and that could not be
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
	value, err := v.Read()
	switch {
	case err == nil:
		v.held, v.read, v.refused = value, now, ""
	case v.read == "":
		return value, err
	case v.refused != now:
		if v.refused = now; v.Refused != nil {
			v.Refused(err)
		}
	}
	return v.held, nil
}

// state tells the times and sizes of the files.
func (v *Value[T]) state() string {
	var b strings.Builder
	fmt.Fprintln(&b, len(v.Files)) // no state is empty
	for _, name := range v.Files {
		if info, err := os.Stat(name); err != nil {
			fmt.Fprintln(&b, err)
		} else {
			fmt.Fprintln(&b, info.ModTime().UnixNano(), info.Size())
		}
	}
	return b.String()
}

// Pair reads a certificate and its key from PEM files.
func Pair(certificate, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	return &pair, err
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
