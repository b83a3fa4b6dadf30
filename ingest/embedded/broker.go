// Package embedded is a broker that speaks Kafka's protocol in this process without other software: for the demo, for
// tests, and for a site that needs no cluster. It is twmb/franz-go's kfake, stored in a folder.
//
// Any Kafka client can use it: producers, consumers, groups, and tools that manage topics. There is one node, so the
// replication is 1. Topics must be created. By default a topic takes batches of up to 4 MiB (max.message.bytes) and
// keeps records for a week (retention.ms).
//
// What the broker has acknowledged (records, topics, committed offsets) was written to files first, and survives any
// signal to the process. Unless Config.Sync is set, a power failure or a crash of the machine can lose the last
// seconds, which were not on disk yet. A file that a crash truncated is read up to its last whole batch.
//
// It does not replace a cluster: there is one process and one disk, and requests are handled one at a time.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/files"
)

const (
	maxMessageBytes = 4 << 20 // largest batch of a topic without a limit of its own
	// retention is how long records are kept, and retentionInterval how often older ones are dropped.
	retention         = 7 * 24 * time.Hour
	retentionInterval = time.Hour
)

// Config says where the broker stores and listens.
type Config struct {
	Dir    string // folder for the data, created if missing; empty keeps everything in memory
	Listen string // host:port to listen on, which clients connect to; port 0 picks a free one
	// Sync waits for the disk at every write: acknowledged records survive a power failure, at lower throughput.
	Sync   bool
	Logger *slog.Logger
}

// Broker is a running broker.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
	stop    func()
}

// Start starts a broker and returns when it listens. It refuses a folder that another broker uses.
func Start(cfg Config) (*Broker, error) {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("reading listen address: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("cannot listen on %q: listen on one address, for example 10.0.0.5:9092; clients "+
			"connect to it", cfg.Listen)
	}
	b := &Broker{}
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.DefaultNumPartitions(ingest.DefaultPartitions),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			l, err := net.Listen(network, cfg.Listen) //nolint:noctx // kfake's signature has no context.
			if err != nil {
				return nil, err
			}
			return listener{Listener: l, host: host}, nil
		}),
		kfake.BrokerConfigs(map[string]string{
			"default.replication.factor": "1",
			"message.max.bytes":          strconv.Itoa(maxMessageBytes),
			"log.retention.ms":           strconv.FormatInt(retention.Milliseconds(), 10),
		}),
		kfake.WithLogger(logger{cfg.Logger}),
	}
	unlock := func() {}
	if cfg.Dir != "" {
		if unlock, err = lock(cfg.Dir); err != nil {
			return nil, err
		}
		opts = append(opts, kfake.DataDir(cfg.Dir))
		if cfg.Sync {
			opts = append(opts, kfake.SyncWrites())
		}
	}
	if b.cluster, err = kfake.NewCluster(opts...); err != nil {
		unlock()
		return nil, fmt.Errorf("starting embedded broker: %w", err)
	}
	LimitRebalances(b.cluster)
	b.addr = b.cluster.ListenAddrs()[0]
	ctx, cancel := context.WithCancel(context.Background())
	var ticks sync.WaitGroup
	ticks.Go(func() { b.retain(ctx) })
	b.stop = sync.OnceFunc(func() {
		cancel()
		ticks.Wait()
		b.cluster.Close()
		unlock()
	})
	return b, nil
}

// LimitRebalances makes a kfake cluster wait for the members of a group for at most two thirds of a session: kfake,
// unlike Kafka, drops a member that sends no heartbeats while it waits for the others in its join.
func LimitRebalances(c *kfake.Cluster) {
	c.ControlKey(int16(kmsg.JoinGroup), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if join, ok := r.(*kmsg.JoinGroupRequest); ok {
			join.RebalanceTimeoutMillis = min(join.RebalanceTimeoutMillis, join.SessionTimeoutMillis*2/3)
		}
		return nil, nil, false
	})
}

// lockTimeout bounds how long a starting broker waits for one that has just ended.
const lockTimeout = 100 * time.Millisecond

// lock creates the folder and locks it.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating broker folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a folder; its records are patients' notes
		return nil, fmt.Errorf("protecting broker folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if unlock, err = files.Lock(ctx, filepath.Join(dir, "lock"), 0o600); errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("broker folder %q is in use by another process", dir)
	}
	return unlock, err
}

// retain periodically drops records past their retention.
func (b *Broker) retain(ctx context.Context) {
	tick := time.Tick(retentionInterval)
	for {
		select {
		case <-tick:
			b.cluster.ApplyRetention()
		case <-ctx.Done():
			return
		}
	}
}

// Addr returns the host:port for clients.
func (b *Broker) Addr() string { return b.addr }

// Close stops the broker. All acknowledged data is in its folder.
func (b *Broker) Close() { b.stop() }

// logger passes on the errors and warnings of kfake.
type logger struct{ log *slog.Logger }

// Logf implements kfake.Logger. Operators need its errors and warnings: unwritten state, truncated files, late members.
func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	if l.log != nil && (level == kfake.LogLevelError || level == kfake.LogLevelWarn) {
		l.log.Warn("embedded broker", "err", fmt.Sprintf(format, args...))
	}
}

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
