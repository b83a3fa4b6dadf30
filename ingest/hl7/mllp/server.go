package mllp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/wardcast/wardcast/internal/wait"
)

// End is a fixed code for why a connection ended.
type End string

// The ends.
const (
	Closed     End = "closed"     // by the sender, between two messages
	Cut        End = "cut"        // by the sender or the network, within a message
	Idle       End = "idle"       // nothing came for Server.Idle, or a message took longer
	Endless    End = "endless"    // a message did not end
	Handshake  End = "handshake"  // TLS failed
	Unanswered End = "unanswered" // the handler has no answer: the sender repeats the message
	Excess     End = "excess"     // more connections than Server.Connections
	Stopped    End = "stopped"    // the server stops
)

// Ends returns all ends.
func Ends() []End { return []End{Closed, Cut, Idle, Endless, Handshake, Unanswered, Excess, Stopped} }

// Server answers messages.
type Server struct {
	// Answer returns the answer to a message, or nil for none: the connection is then closed, and the sender repeats
	// the message. tooLarge says that the message exceeds Limit, and is only its beginning. Messages of one connection
	// are answered one after the other. The message is valid until Answer returns.
	Answer      func(ctx context.Context, message []byte, tooLarge bool) []byte
	TLS         *tls.Config // nil for none
	Limit       int         // bytes of a message
	Idle        time.Duration
	Connections int // that are open at a time
	// Opened and Ended observe connections; nil is allowed. An excess connection only ends.
	Opened func()
	Ended  func(End)
	Failed func(error) // observes handshakes that fail; nil is allowed
}

// handshakeTimeout bounds a TLS handshake, and writing an answer.
const handshakeTimeout = 10 * time.Second

// Serve answers the messages of all connections that l accepts until ctx ends; it closes l. Then it lets the handlers
// finish that have a message, whose context does not end, and returns nil. A listener that fails is an error.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	open := make(chan struct{}, s.Connections)
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for failures := 0; ; {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // such as too many open files
			if failures++; failures > 100 {
				return err
			}
			_ = wait.For(ctx, 50*time.Millisecond)
			continue
		}
		failures = 0
		select {
		case open <- struct{}{}:
			all.Go(func() {
				defer func() { <-open }()
				s.observe(s.converse(ctx, conn))
			})
		default:
			_ = conn.Close()
			s.observe(Excess)
		}
	}
}

func (s *Server) observe(e End) {
	if s.Ended != nil {
		s.Ended(e)
	}
}

// converse answers the messages of a connection.
func (s *Server) converse(ctx context.Context, conn net.Conn) End {
	defer func() { _ = conn.Close() }()
	if s.Opened != nil {
		s.Opened()
	}
	if s.TLS != nil {
		secured := tls.Server(conn, s.TLS)
		bounded, cancel := context.WithTimeout(ctx, handshakeTimeout)
		err := secured.HandshakeContext(bounded)
		cancel()
		if err != nil {
			if s.Failed != nil {
				s.Failed(err)
			}
			return Handshake
		}
		conn = secured
	}
	// A deadline in the past interrupts a read that waits for the next message.
	var mu sync.Mutex
	stopped := false
	deadline := func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			_ = conn.SetReadDeadline(time.Now().Add(s.Idle))
		}
	}
	release := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		_ = conn.SetReadDeadline(time.Unix(1, 0))
	})
	defer release()
	reader := NewReader(conn, s.Limit)
	reader.begun = deadline // a whole message may take as long as a pause
	for ctx.Err() == nil {
		deadline()
		message, err := reader.Next()
		tooLarge := errors.Is(err, ErrTooLarge)
		if err != nil && !tooLarge {
			return ending(ctx, err)
		}
		answer := s.Answer(context.WithoutCancel(ctx), message, tooLarge)
		if answer == nil {
			return Unanswered
		}
		if conn.SetWriteDeadline(time.Now().Add(handshakeTimeout)) != nil {
			return Cut
		}
		if _, err := conn.Write(Frame(nil, answer)); err != nil {
			return Cut
		}
	}
	return Stopped // although the next message may be in the buffer
}

// ending returns why reading ended with err.
func ending(ctx context.Context, err error) End {
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case ctx.Err() != nil:
		return Stopped
	case errors.Is(err, ErrEndless):
		return Endless
	case ok && timeout.Timeout():
		return Idle
	case errors.Is(err, io.EOF):
		return Closed
	}
	return Cut
}
