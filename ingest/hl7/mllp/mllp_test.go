package mllp_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/hl7/mllp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReader(t *testing.T) {
	t.Parallel()
	const limit = 50
	long := "MSH|" + strings.Repeat("x", limit)
	f := func(name, stream string, want ...string) {
		t.Helper()
		for way, r := range map[string]io.Reader{
			"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream)),
		} {
			reader, got := mllp.NewReader(r, limit), []string(nil)
			for {
				message, err := reader.Next()
				if err == nil {
					got = append(got, string(message))
					continue
				}
				got = append(got, err.Error())
				if !errors.Is(err, mllp.ErrTooLarge) {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q, want %q", name, way, got, want)
			}
		}
	}
	eof, cut, large := io.EOF.Error(), io.ErrUnexpectedEOF.Error(), mllp.ErrTooLarge.Error()
	f("nothing", "", eof)
	f("one", "\x0bMSH|a\r\x1c\r", "MSH|a\r", eof)
	f("several", "\x0ba\x1c\r\x0bb\x1c\r", "a", "b", eof)
	f("without a carriage return", "\x0ba\x1c\x0bb\x1c\n", "a", "b", eof)
	f("an empty frame", "\x0b\x1c\r", "", eof)
	f("between frames", "hello\r\n\x0ba\x1c\rhello\x1c\x0bb\x1c\r", "a", "b", eof)
	f("a message cut short", "\x0bMSH|a", cut)
	f("begun anew", "\x0bMSH|a\r\x0bMSH|b\r\x1c\r", "MSH|b\r", eof)
	f("a vertical tab in a text", "\x0bMSH|a\x0bb\r\x1c\r", "MSH|a\x0bb\r", eof)
	f("too large", "\x0b"+long+"\x1c\r\x0ba\x1c\r", large, "a", eof)
}

func TestEndless(t *testing.T) {
	t.Parallel()
	r := mllp.NewReader(io.MultiReader(strings.NewReader("\x0b"), neverEnding{}), 64<<10)
	if _, err := r.Next(); !errors.Is(err, mllp.ErrEndless) {
		t.Errorf("Next = %v, want %v", err, mllp.ErrEndless)
	}
}

// neverEnding yields bytes without an end of a frame.
type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// served is a running server.
type served struct {
	address string
	mu      sync.Mutex
	ends    []mllp.End
}

func (s *served) all() []mllp.End {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ends)
}

// await waits until a connection has ended this way.
func (s *served) await(t *testing.T, end mllp.End) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !slices.Contains(s.all(), end) {
		select {
		case <-deadline:
			t.Fatalf("no connection ended with %s, but %v", end, s.all())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// serve starts a server, which the end of the test stops.
func serve(t *testing.T, s mllp.Server) *served {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := &served{address: l.Addr().String()}
	s.Ended = func(e mllp.End) {
		out.mu.Lock()
		defer out.mu.Unlock()
		out.ends = append(out.ends, e)
	}
	if s.Idle == 0 {
		s.Idle = time.Minute
	}
	if s.Connections == 0 {
		s.Connections = 4
	}
	s.Limit = 1 << 10
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return out
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// echo answers with the message.
func echo(_ context.Context, message []byte, tooLarge bool) []byte {
	if tooLarge {
		return []byte("too large")
	}
	return bytes.Clone(message)
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := serve(t, mllp.Server{Answer: echo})
	conn := dial(t, s.address)
	stream := []byte("noise\x0bone\x1c\r\x0btwo\x1c\r\x0b" + strings.Repeat("x", 2<<10) + "\x1c\r\x0bfour\x1c\r")
	for _, piece := range [][]byte{stream[:7], stream[7:8], stream[8:20], stream[20:]} {
		if _, err := conn.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	answers := mllp.NewReader(conn, 1<<10)
	for _, want := range []string{"one", "two", "too large", "four"} {
		if got, err := answers.Next(); err != nil || string(got) != want {
			t.Fatalf("answer %q, %v, want %q", got, err, want)
		}
	}
	// Half closed, as by a sender that is done: it still gets its answer.
	if _, err := conn.Write([]byte("\x0bfive\x1c")); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := answers.Next(); err != nil || string(got) != "five" {
		t.Fatalf("answer %q, %v", got, err)
	}
	if _, err := answers.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("the connection stays open: %v", err)
	}
	s.await(t, mllp.Closed)
}

func TestEnds(t *testing.T) {
	t.Parallel()
	s := serve(t,
		mllp.Server{Idle: 50 * time.Millisecond, Answer: func(context.Context, []byte, bool) []byte { return nil }})
	f := func(stream string, end mllp.End) {
		t.Helper()
		conn := dial(t, s.address)
		if _, err := conn.Write([]byte(stream)); err != nil {
			t.Fatal(err)
		}
		if end == mllp.Cut {
			_ = conn.Close()
		} else if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("%q is answered", stream)
		}
		s.await(t, end)
	}
	f("\x0bmessage\x1c\r", mllp.Unanswered)
	f("\x0bhalf a mess", mllp.Idle)
	f("\x0bhalf a mess", mllp.Cut)
	f("\x0b"+strings.Repeat("x", 64<<10), mllp.Endless)
	for _, e := range mllp.Ends() {
		if e == "" {
			t.Error("an end without a name")
		}
	}
}

func TestExcess(t *testing.T) {
	t.Parallel()
	s := serve(t, mllp.Server{Answer: echo, Connections: 1})
	first := dial(t, s.address)
	client := mllp.NewReader(first, 100)
	if _, err := first.Write([]byte("\x0ba\x1c")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Next(); err != nil {
		t.Fatal(err)
	}
	if n, err := dial(t, s.address).Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("a second connection is served")
	}
	s.await(t, mllp.Excess)
}

// A server that stops answers the message that its handler has, and no other.
func TestStop(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	has, release := make(chan struct{}), make(chan struct{})
	s := mllp.Server{
		Limit: 100, Idle: time.Minute, Connections: 2,
		Answer: func(ctx context.Context, m []byte, _ bool) []byte {
			close(has)
			<-release
			if ctx.Err() != nil {
				return nil
			}
			return bytes.Clone(m)
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	idle, busy := dial(t, l.Addr().String()), dial(t, l.Addr().String())
	if _, err := busy.Write([]byte("\x0ba\x1c\r\x0bb\x1c\r")); err != nil {
		t.Fatal(err)
	}
	<-has
	cancel()
	if n, err := idle.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("an idle connection stays open")
	}
	close(release)
	answers := mllp.NewReader(busy, 100)
	if got, err := answers.Next(); err != nil || string(got) != "a" {
		t.Errorf("answer %q, %v", got, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// certificate returns a self-signed certificate for loopback, and a pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

const (
	order = "MSH|^~\\&|A|B|C|D|20261120||ORU^R01|7|P|2.5.1\r"
	ack   = "MSH|^~\\&|C|D|A|B|20261120||ACK^R01|1|P|2.5.1\rMSA|"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	pair, pool := certificate(t)
	s := serve(t, mllp.Server{
		Answer: func(context.Context, []byte, bool) []byte { return []byte(ack + "AA|7\r") },
		TLS: &tls.Config{
			Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
			MinVersion: tls.VersionTLS12,
		},
	})
	send := func(c *tls.Config) (hl7.Code, error) {
		client := mllp.Client{Address: s.address, TLS: c, Timeout: 10 * time.Second}
		defer client.Close()
		return client.Send(t.Context(), []byte(order), "7")
	}
	own := &tls.Config{
		RootCAs: pool, ServerName: "127.0.0.1", Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
	}
	if code, err := send(own); code != hl7.Accepted || err != nil {
		t.Errorf("Send = %s, %v", code, err)
	}
	if code, err := send(&tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}); err ==
		nil {
		t.Errorf("a client without a certificate is answered %s", code)
	}
	s.await(t, mllp.Handshake)
	if code, err := send(&tls.Config{ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}); err == nil {
		t.Errorf("a server that nobody trusts is sent a message: %s", code)
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	answers := make(chan string, 8)
	s := serve(t, mllp.Server{Answer: func(context.Context, []byte, bool) []byte {
		if a := <-answers; a != "" {
			return []byte(a)
		}
		return nil
	}})
	client := mllp.Client{Address: s.address, Timeout: 300 * time.Millisecond}
	defer client.Close()
	f := func(name string, want hl7.Code, wantErr bool, given ...string) {
		t.Helper()
		for _, a := range given {
			answers <- a
		}
		code, err := client.Send(t.Context(), []byte(order), "7")
		if code != want || (err != nil) != wantErr {
			t.Errorf("%s: %s, %v, want %s", name, code, err, want)
		}
	}
	f("accepted", hl7.Accepted, false, ack+"AA|7\r")
	f("failed", hl7.Failed, false, ack+"AE|7\r")
	f("rejected, by the enhanced mode", hl7.Rejected, false, ack+"CR|7\r")
	// The late answer to an earlier message is not that of this one.
	f("late", hl7.Accepted, false, ack+"AA|6\r\x1c\r\x0b"+ack+"AA|7\r")
	f("of another message", "", true, ack+"AA|6\r")
	f("after a new connection", hl7.Accepted, false, ack+"AA|7\r")
	f("closed", "", true, "")
	f("not an answer", "", true, "hello")
	f("after it", hl7.Accepted, false, ack+"AA|7\r")
	client.Close()
	client.Address = "127.0.0.1:1"
	f("nobody listens", "", true)
}

// FuzzReader reads any stream in any pieces, without losing what is between its frames.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\x0bMSH|a\r\x1c\r\x0bb\x1c"), 3)
	f.Add([]byte("\x0b\x0bMSH\x1c\x1c\x0b"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		read := func(r io.Reader) (got []string) {
			reader := mllp.NewReader(r, 64)
			for {
				message, err := reader.Next()
				got = append(got, string(message))
				if err != nil && !errors.Is(err, mllp.ErrTooLarge) {
					return got
				}
			}
		}
		if size < 1 {
			return
		}
		whole, pieces := read(bytes.NewReader(stream)), read(&inPieces{stream, size})
		// An endless message is noticed a buffer earlier or later.
		if len(stream) < 64*8 && !slices.Equal(whole, pieces) {
			t.Errorf("%q, in pieces %q", whole, pieces)
		}
	})
}

type inPieces struct {
	rest []byte
	size int
}

func (r *inPieces) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest[:min(r.size, len(r.rest))])
	r.rest = r.rest[n:]
	return n, nil
}

// Senders that read while they write, from their first byte on, are answered over TLS as without it.
func TestTLSInPieces(t *testing.T) {
	t.Parallel()
	pair, pool := certificate(t)
	s := serve(t, mllp.Server{Answer: echo, Connections: 64, TLS: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12,
	}})
	var all sync.WaitGroup
	for range 50 {
		conn := tls.Client(dial(t, s.address), &tls.Config{
			RootCAs: pool, ServerName: "127.0.0.1", Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		})
		all.Go(func() {
			stream := strings.Repeat("\x0b"+order+"\x1c\r", 20)
			for n := 1; stream != ""; n = n*7%64 + 1 {
				piece := stream[:min(n, len(stream))]
				stream = stream[len(piece):]
				if _, err := conn.Write([]byte(piece)); err != nil {
					t.Error(err)
					return
				}
			}
		})
		all.Go(func() {
			answers := mllp.NewReader(conn, 1<<10)
			for range 20 {
				if got, err := answers.Next(); err != nil || string(got) != order {
					t.Errorf("answer %q, %v", got, err)
					return
				}
			}
		})
	}
	all.Wait()
}
