package mllp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/wardcast/wardcast/ingest/hl7"
)

// ErrNoAnswer says that no answer came in time. Whether the receiver has the message is unknown.
var ErrNoAnswer = errors.New("mllp: no answer in time")

// Client sends messages over one connection, one at a time. It is not safe for concurrent use. After an error the next
// message is sent over a new connection, so that a late answer cannot be taken for its own.
type Client struct {
	Address string // host:port
	TLS     *tls.Config
	Timeout time.Duration // of a connection, and of an answer

	conn   net.Conn
	reader *Reader
}

// maxAnswer bounds an answer.
const maxAnswer = 64 << 10

// Send sends a message with this MSH-10 and returns the code of its answer. Answers to other messages are skipped.
func (c *Client) Send(ctx context.Context, message []byte, control string) (code hl7.Code, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return "", fmt.Errorf("connecting to %s: %w", c.Address, err)
		}
	}
	deadline, _ := ctx.Deadline()
	if err := c.conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := c.conn.Write(Frame(nil, message)); err != nil {
		return "", fmt.Errorf("sending a message: %w", err)
	}
	for {
		answer, err := c.reader.Next()
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			return "", ErrNoAnswer
		}
		if err != nil {
			return "", fmt.Errorf("reading an answer: %w", err)
		}
		code, of, err := hl7.ReadAcknowledgement(answer)
		if err != nil {
			return "", fmt.Errorf("reading an answer: %w", err)
		}
		if of == control {
			return code, nil
		}
	}
}

func (c *Client) dial(ctx context.Context) error {
	conn, err := (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return err
	}
	if c.TLS != nil {
		secured := tls.Client(conn, c.TLS)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return err
		}
		conn = secured
	}
	c.conn, c.reader = conn, NewReader(conn, maxAnswer)
	return nil
}

// Close closes the connection.
func (c *Client) Close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn, c.reader = nil, nil
	}
}
