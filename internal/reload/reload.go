package reload

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/wardcast/wardcast/internal/files"
)

// Value is the contents of some files, as load reads them. It is safe for concurrent use.
type Value[T any] struct {
	files   []string
	load    func() (T, error)
	onError func(error)

	mu            sync.Mutex
	held          T
	read, refused string // states of the files: the last that was read, and one that load refused
}

// New returns the contents of files, which load reads now and after each change of the time or size of a file. onError,
// unless nil, is called once for each change whose contents load refuses.
func New[T any](load func() (T, error), onError func(error), files ...string) (*Value[T], error) {
	v := &Value[T]{files: files, load: load, onError: onError}
	_, err := v.Get()
	return v, err
}

// Get returns the current contents. If the files cannot be used, because one is missing, half-written or does not match
// the others yet, it returns their previous contents, and an error if there are none.
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

// Pair returns the certificate with its key from two PEM files.
func Pair(certificate, key string, onError func(error)) (*Value[*tls.Certificate], error) {
	return New(func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		return &pair, err
	}, onError, certificate, key)
}

// Authorities reads the certificates of a PEM file.
func Authorities(file string) (*x509.CertPool, error) {
	pem, err := files.Read(file, maxSecret)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %q", file)
	}
	return pool, nil
}

const maxSecret = 1 << 20 // bytes of a file of certificates, a password or a token

// ErrEmpty is the error of a file of a secret that is empty.
var ErrEmpty = errors.New("the file is empty")

// Secret reads a file that holds only a password or a token, without the end of the line.
func Secret(name string) (string, error) {
	data, err := files.Read(name, maxSecret)
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(data), "\r\n")
	if secret == "" {
		return "", &os.PathError{Op: "read", Path: name, Err: ErrEmpty}
	}
	return secret, nil
}
