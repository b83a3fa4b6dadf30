package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/segmentio/kafka-go/sasl"
)

// session is a connection that logs in again before its login expires (KIP-368): brokers with connections.max.reauth.ms
// close a connection at the first later request, and kafka-go does not handle that. It does so between two requests, so
// nothing is sent twice and a member keeps its generation. kafka-go writes whole requests, one goroutine at a time.
type session struct {
	net.Conn
	mechanism func() (sasl.Mechanism, error)
	versions  map[protocol.ApiKey]int16

	mu             sync.Mutex // guards what follows, and is held while logging in
	ends           time.Time  // when to log in again; zero for never
	sent, received messages
	reads, writes  time.Time // deadlines set by the user
}

// newSession logs in on a connection without earlier requests.
func newSession(ctx context.Context, conn net.Conn, mechanism func() (sasl.Mechanism, error)) (*session, error) {
	s := &session{Conn: conn, mechanism: mechanism}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := s.login(ctx); err != nil {
		return nil, err
	}
	return s, conn.SetDeadline(time.Time{})
}

func (s *session) Write(b []byte) (int, error) {
	if err := s.renew(b); err != nil {
		_ = s.Close()
		return 0, fmt.Errorf("logging in again: %w", err)
	}
	return s.Conn.Write(b)
}

// renew counts what is written, and first logs in if the session expires soon and no request is pending. A pending one
// delays it: brokers accept a login after the end of a session too.
func (s *session) renew(b []byte) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ends.IsZero() && time.Now().After(s.ends) && s.sent.whole() && s.sent.n == s.received.n {
		err = s.login(context.Background())
		err = errors.Join(err, s.Conn.SetReadDeadline(s.reads), s.Conn.SetWriteDeadline(s.writes))
	}
	s.sent.pass(b)
	return err
}

func (s *session) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received.pass(b[:n])
	return n, err
}

func (s *session) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

func (s *session) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = t
	return s.Conn.SetReadDeadline(t)
}

func (s *session) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = t
	return s.Conn.SetWriteDeadline(t)
}

// login authenticates the connection, for the first time or again.
func (s *session) login(ctx context.Context) error {
	mechanism, err := s.mechanism()
	if err != nil {
		return err
	}
	if err := s.Conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	conn := protocol.NewConn(s.Conn, clientID)
	if s.versions == nil {
		if s.versions, err = saslVersions(conn); err != nil {
			return err
		}
	}
	conn.SetVersions(s.versions)
	lifetime, err := authenticate(ctx, conn, mechanism)
	if err != nil {
		return err
	}
	s.ends = time.Time{}
	if lifetime > 0 {
		// The broker began to count earlier, and a request takes time to arrive.
		s.ends = time.Now().Add(lifetime * 8 / 10)
	}
	return nil
}

// saslVersions asks which login requests the broker supports.
func saslVersions(conn *protocol.Conn) (map[protocol.ApiKey]int16, error) {
	r, err := conn.RoundTrip(new(apiversions.Request))
	if err != nil {
		return nil, err
	}
	answer, ok := r.(*apiversions.Response)
	if !ok || answer.ErrorCode != 0 {
		return nil, fmt.Errorf("asking for versions: %w", kafka.Error(answer.ErrorCode))
	}
	versions := make(map[protocol.ApiKey]int16)
	for _, v := range answer.ApiKeys {
		if key := protocol.ApiKey(v.ApiKey); key == protocol.SaslHandshake || key == protocol.SaslAuthenticate {
			versions[key] = key.SelectVersion(v.MinVersion, v.MaxVersion)
		}
	}
	return versions, nil
}

// errLoginClosed is how some brokers refuse a password, but also what a stopping broker causes. It is final for the
// first connection, and temporary for a running stream.
var errLoginClosed = errors.New("the broker closed the connection during the login: are user and password right?")

// authenticate returns how long the login lasts; 0 if it does not expire.
func authenticate(ctx context.Context, conn *protocol.Conn,
	mechanism sasl.Mechanism,
) (lifetime time.Duration, err error) {
	r, err := conn.RoundTrip(&saslhandshake.Request{Mechanism: mechanism.Name()})
	if err != nil {
		return 0, err
	}
	if answer, ok := r.(*saslhandshake.Response); ok && answer.ErrorCode != 0 {
		return 0, kafka.Error(answer.ErrorCode)
	}
	state, data, err := mechanism.Start(ctx)
	for done := false; err == nil && !done; {
		if r, err = conn.RoundTrip(&saslauthenticate.Request{AuthBytes: data}); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = errLoginClosed
			}
			break
		}
		answer, ok := r.(*saslauthenticate.Response)
		if !ok {
			return 0, errors.New("the broker did not answer the login")
		}
		if answer.ErrorCode != 0 {
			return 0, kafka.Error(answer.ErrorCode) // its text may name the user
		}
		lifetime = time.Duration(answer.SessionLifetimeMs) * time.Millisecond
		done, data, err = state.Next(ctx, answer.AuthBytes)
	}
	return lifetime, err
}

// messages counts the messages in a stream of bytes. Each begins with its length in four bytes.
type messages struct {
	n     int // complete ones
	size  [4]byte
	sized int    // bytes of size that have passed
	left  uint32 // bytes left of the message
}

// whole reports whether no message is in progress.
func (m *messages) whole() bool { return m.sized == 0 }

func (m *messages) pass(b []byte) {
	for len(b) > 0 {
		if m.sized < len(m.size) {
			n := copy(m.size[m.sized:], b)
			m.sized += n
			b = b[n:]
			m.left = binary.BigEndian.Uint32(m.size[:]) // valid once complete
		} else {
			n := min(len(b), int(m.left))
			m.left -= uint32(n) //nolint:gosec // at most left
			b = b[n:]
		}
		if m.sized == len(m.size) && m.left == 0 {
			m.n++
			m.sized = 0
		}
	}
}
