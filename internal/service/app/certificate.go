package app

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/wardcast/wardcast/internal/service/config"
)

// certificate is that of the HTTP address. It is read again when its files have changed, so that a renewed one needs no restart.
type certificate struct {
	files config.ServerTLS

	mu      sync.Mutex
	held    *tls.Certificate
	changed [2]time.Time // when the files of held were
}

// get returns the certificate. New files that cannot be read, or do not belong together yet, leave the one in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err := c.times()
	if err == nil && (c.held == nil || changed != c.changed) {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.files.CertFile, c.files.KeyFile); err == nil {
			c.held, c.changed = &pair, changed
		}
	}
	if c.held == nil {
		return nil, fmt.Errorf("reading http.tls: %w", err)
	}
	return c.held, nil
}

// times returns when the files were changed.
func (c *certificate) times() (changed [2]time.Time, err error) {
	for i, name := range []string{c.files.CertFile, c.files.KeyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return changed, err
		}
		changed[i] = info.ModTime()
	}
	return changed, nil
}
