package embedded

import (
	"net"
	"sync"
	"time"
)

// listener has another host in its address: kfake advertises it to clients.
type listener struct {
	net.Listener
	host string
}

// Addr returns the host of Config.Listen, and the port listened on.
func (l listener) Addr() net.Addr {
	_, port, _ := net.SplitHostPort(l.Listener.Addr().String())
	return address(net.JoinHostPort(l.host, port))
}

// Accept returns the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// answerTimeout is how long a closed connection waits for its last answer (if any): longer than a group rebalances.
const answerTimeout = time.Minute

// conn is a connection that shows its end only after the last request has been answered, like Kafka's. A member that is
// killed while it joins then misses its heartbeats and leaves after its session timeout. Otherwise kfake would start no
// session for it, since nobody takes the answer, and keep the member for good.
type conn struct {
	net.Conn
	mu      sync.Mutex
	pending chan struct{} // closed by the answer to the last request; nil without a request
	closed  bool          // by the broker: no more answers
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	if err == nil && c.pending == nil && !c.closed {
		c.pending = make(chan struct{})
	}
	pending := c.pending
	c.mu.Unlock()
	if err != nil && pending != nil {
		select {
		case <-pending:
		case <-time.After(answerTimeout):
		}
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	c.answered() // before the client can send the next request
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.answered()
	return c.Conn.Close()
}

func (c *conn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		close(c.pending)
		c.pending = nil
	}
}
