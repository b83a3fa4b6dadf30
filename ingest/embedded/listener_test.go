package embedded

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// lastRead is a connection on which a request arrives when it is closed.
type lastRead struct {
	net.Conn

	closed chan struct{}
	reads  int
}

func (c *lastRead) Read([]byte) (int, error) {
	<-c.closed
	if c.reads++; c.reads > 1 {
		return 0, net.ErrClosed
	}
	return 1, nil
}

func (c *lastRead) Close() error {
	close(c.closed)
	return nil
}

// TestClosedConnectionsWaitForNoAnswer closes a connection from the broker's
// side with a request just arriving: nobody will answer it.
func TestClosedConnectionsWaitForNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &conn{Conn: &lastRead{closed: make(chan struct{})}}
		began := time.Now()
		go func() { _ = c.Close() }()
		for {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				break
			}
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the end was seen after %v, want at once", waited)
		}
	})
}
