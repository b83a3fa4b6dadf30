package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/wait"
)

// StreamSettings are the settings of Stream. Without a rate, all notes are sent before the first is scored.
type StreamSettings struct {
	Rate        float64           `help:"Notes per second; 0 is as fast as possible." default:"0"`
	Brokers     []string          `help:"Kafka brokers (default: an embedded one)." placeholder:"HOST:PORT"`
	Partitions  int               `help:"Partitions of each topic." default:"4"`
	Compression string            `help:"Compression of the predictions: ${enum}. The bare loop compresses nothing." enum:"${compressions}" default:"${compression}"`
	Logger      *slog.Logger      `kong:"-"`
	Limits      classifier.Limits `kong:"-"`

	Progress func(done, total int) `kong:"-"` // may be nil
}

// StreamReport compares the product's stream with the bare loop.
type StreamReport struct {
	Notes       int `json:"notes"`
	Lost        int `json:"lost"`     // notes with neither prediction nor dead letter
	Repeated    int `json:"repeated"` // predictions beyond one for each note
	DeadLetters int `json:"dead_letters"`
	// PerSecond counts answered notes. Its time ends at the last prediction acknowledged, and begins at the first note
	// read; with a rate it ends at the last prediction read, and begins when sending begins.
	PerSecond     float64 `json:"per_second"`
	EchoPerSecond float64 `json:"echo_per_second"`
	Ratio         float64 `json:"ratio"`
	// A latency is the time from sending a note (without a rate: from the first note read) to reading its answer.
	LatencyMS     sample.Latency `json:"latency_ms"`
	EchoLatencyMS sample.Latency `json:"echo_latency_ms"`
	Rate          float64        `json:"rate"`          // as set; 0 is as fast as possible
	MessageBytes  float64        `json:"message_bytes"` // mean size of a prediction and of the echo's message
	Broker        string         `json:"broker"`        // embedded or kafka
	Partitions    int            `json:"partitions"`
	// MemoryBytes is the peak growth of the process's memory while it streams, which includes an embedded broker.
	MemoryBytes     uint64 `json:"memory_bytes"`
	EchoMemoryBytes uint64 `json:"echo_memory_bytes"`
}

// Stream sends the messages through the scorer and then through the bare loop, with separate topics, which it deletes
// at the end. The visit id of a note is its index.
func Stream(ctx context.Context, set *scoring.Set, messages [][]byte,
	s StreamSettings,
) (report *StreamReport, err error) {
	if s.Partitions = cmp.Or(s.Partitions, ingest.DefaultPartitions); s.Partitions < 0 {
		return nil, errors.New("there are no partitions")
	}
	kind := "kafka"
	if len(s.Brokers) == 0 {
		dir, mkErr := os.MkdirTemp("", "wardcast-bench-")
		if mkErr != nil {
			return nil, fmt.Errorf("making a folder for the broker: %w", mkErr)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		broker, err := embedded.Start(embedded.Config{Dir: dir, Listen: "127.0.0.1:0", Logger: s.Logger})
		if err != nil {
			return nil, err
		}
		defer broker.Close()
		s.Brokers, kind = []string{broker.Addr()}, "embedded"
	}
	run := &streamRun{StreamSettings: s, messages: messages, connection: ingest.Connection{Brokers: s.Brokers}}
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	run.offsets = &kafka.Client{Addr: kafka.TCP(s.Brokers...), Transport: transport}
	handler := app.NewHandler(set, classifier.Options{Limits: s.Limits}, "/wardcast/bench")
	report, err = run.pass(ctx, "score", func(ctx context.Context, t topics, started func()) error {
		c, err := ingest.New(ingest.Config{
			Connection: run.connection, Group: t.group, Input: t.in, Output: t.out, DeadLetters: t.dead,
			Handler: firstNote{Handler: handler, started: started}, Logger: s.Logger, Compression: s.Compression,
		})
		if err != nil {
			return err
		}
		return c.Run(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("streaming through the scorer: %w", err)
	}
	report.Notes, report.Rate, report.Broker, report.Partitions = len(messages), s.Rate, kind, s.Partitions
	payload := bytes.Repeat([]byte{'x'}, int(math.Round(report.MessageBytes)))
	bare, err := run.pass(ctx, "echo", func(ctx context.Context, t topics, started func()) error {
		return echo(ctx, s.Brokers, t, payload, started)
	})
	if err != nil {
		return nil, fmt.Errorf("streaming through the echo loop: %w", err)
	}
	if bare.Lost > 0 {
		return nil, fmt.Errorf("the echo loop lost %d messages: its rate is no reference", bare.Lost)
	}
	report.EchoPerSecond, report.EchoLatencyMS, report.EchoMemoryBytes = bare.PerSecond, bare.LatencyMS,
		bare.MemoryBytes
	report.Ratio = report.PerSecond / report.EchoPerSecond
	return report, nil
}

// firstNote is a handler, and each of its workers, that calls started for every note, of which only the first call has
// an effect.
type firstNote struct {
	ingest.Handler
	ingest.Worker
	started func()
}

func (f firstNote) NewWorker() ingest.Worker {
	f.Worker = f.Handler.NewWorker()
	return f
}

func (f firstNote) Handle(r *ingest.Record, out *ingest.Output) error {
	f.started()
	return f.Worker.Handle(r, out)
}

type topics struct{ group, in, out, dead string }

type streamRun struct {
	StreamSettings
	messages   [][]byte
	connection ingest.Connection
	client     *ingest.Client
	offsets    *kafka.Client
}

// quiet is the time without an answer after which the remaining notes count as lost.
const quiet = 30 * time.Second

// pass sends the messages through one consumer and reports the answers, without the fields that compare two passes.
func (r *streamRun) pass(ctx context.Context, name string,
	consume func(ctx context.Context, t topics, started func()) error,
) (_ *StreamReport, err error) {
	stamp := strconv.FormatInt(time.Now().UnixNano(), 36)
	t := topics{
		group: "wardcast-bench-" + name + stamp, in: "wardcast-bench-" + name + "-notes-" + stamp,
		out: "wardcast-bench-" + name + "-out-" + stamp, dead: "wardcast-bench-" + name + "-dlq-" + stamp,
	}
	if r.client, err = ingest.NewClient(r.connection, t.in, t.out, t.dead); err != nil {
		return nil, err
	}
	defer r.client.Close()
	if err := r.client.CreateTopics(ctx, ingest.Topic{Name: t.in, Partitions: r.Partitions},
		ingest.Topic{Name: t.out, Partitions: r.Partitions},
		ingest.Topic{Name: t.dead, Partitions: r.Partitions}); err != nil {
		return nil, err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, r.client.DeleteTopics(bounded, t.in, t.out, t.dead))
	}()
	n := len(r.messages)
	sent := make([]time.Time, n)
	if r.Rate == 0 {
		if err := r.send(ctx, t.in, sent); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	most := watchMemory()
	defer most()
	var first time.Time
	begun := make(chan struct{})
	started := sync.OnceFunc(func() { first = time.Now(); close(begun) })
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel(nil)
	parts.Go(func() {
		if err := consume(ctx, t, started); err != nil {
			cancel(err)
		}
	})
	answers := newAnswers(n)
	if r.Rate > 0 {
		// Once these notes, which do not count, are answered, the group has joined.
		if err := r.warm(ctx, t); err != nil {
			return nil, err
		}
		// Not from the first note: if it is sent late, the others catch up, faster than the rate.
		began := time.Now()
		parts.Go(func() {
			if err := r.send(ctx, t.in, sent); err != nil {
				cancel(err)
			}
		})
		err := answers.read(ctx, r, t)
		return answers.result(sent, slices.MaxFunc(answers.at, time.Time.Compare).Sub(began), most()), err
	}
	select {
	case <-begun:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	end, err := r.await(ctx, t, n)
	if err != nil {
		return nil, err
	}
	memory := most()
	for i := range sent {
		sent[i] = first
	}
	err = answers.read(ctx, r, t)
	return answers.result(sent, end.Sub(first), memory), err
}

// send sends the messages, at the rate if there is one, and records their times in sent.
func (r *streamRun) send(ctx context.Context, topic string, sent []time.Time) error {
	stream := sample.Stream{Topic: topic, Count: len(r.messages), Rate: r.Rate, Message: func(i int) *ingest.Output {
		sent[i] = time.Now()
		return &ingest.Output{Key: strconv.AppendInt(nil, int64(i), 10), Value: r.messages[i]}
	}}
	return stream.Send(ctx, ingest.NewProducer(r.client, r.Logger))
}

// warm sends notes that are not measured, and waits until they are answered.
func (r *streamRun) warm(ctx context.Context, t topics) error {
	p := ingest.NewProducer(r.client, r.Logger)
	for i := range r.Partitions {
		n := msg.Note{VisitID: "warm" + strconv.Itoa(i), Text: "pain"}
		if err := p.Produce(ctx, t.in,
			[]*ingest.Output{{Key: []byte(n.VisitID), Value: n.AppendJSON(nil)}}); err != nil {
			return fmt.Errorf("sending notes: %w", err)
		}
	}
	_, err := r.await(ctx, t, r.Partitions)
	return err
}

// await waits until n answers are acknowledged, or none has come for a while, and returns the time of the last one.
func (r *streamRun) await(ctx context.Context, t topics, n int) (time.Time, error) {
	last, since := 0, time.Now()
	for {
		count, err := r.count(ctx, t.out, t.dead)
		now := time.Now()
		// The leaders of new topics are not known at once.
		if moving, ok := errors.AsType[kafka.Error](err); ok && moving.Temporary() && now.Sub(since) < quiet {
			count = last
		} else if err != nil {
			return time.Time{}, err
		}
		if count != last {
			last, since = count, now
		}
		if r.Progress != nil {
			r.Progress(min(count, n), n)
		}
		if count >= n || now.Sub(since) > quiet {
			return since, nil
		}
		if !wait.For(ctx, 5*time.Millisecond) {
			return time.Time{}, context.Cause(ctx)
		}
	}
}

// answers holds the answers, by the index of the note.
type answers struct {
	mu             sync.Mutex
	at             []time.Time
	seen           []bool
	left           int
	repeated, dead int
	bytes          float64
}

func newAnswers(n int) *answers {
	return &answers{at: make([]time.Time, n), seen: make([]bool, n), left: n}
}

// read reads predictions and dead letters until every note is answered, or none has come for a while.
func (a *answers) read(ctx context.Context, r *streamRun, t topics) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	stalled := time.AfterFunc(quiet, cancel)
	defer stalled.Stop()
	err := sample.Read(reading, r.Brokers, func(m *kafka.Message) error {
		stalled.Reset(quiet)
		left := a.take(m, m.Topic == t.dead, r.Rate > 0)
		if r.Rate > 0 && r.Progress != nil { // otherwise await has shown it
			r.Progress(len(a.at)-left, len(a.at))
		}
		if left == 0 {
			cancel()
		}
		return nil
	}, t.out, t.dead)
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// take records an answer and returns how many are missing. Its time is now if live, otherwise that of the message.
func (a *answers) take(m *kafka.Message, dead, live bool) int {
	at := m.Time
	if live {
		at = time.Now()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i, err := strconv.Atoi(string(m.Key))
	switch {
	case err != nil || i < 0 || i >= len(a.seen): // a warm-up
	case a.seen[i]:
		a.repeated++
	default:
		a.seen[i], a.at[i] = true, at
		a.left--
		if dead {
			a.dead++
		} else {
			a.bytes += float64(len(m.Value))
		}
	}
	return a.left
}

// result reports the answers. took is the time for all of them.
func (a *answers) result(sent []time.Time, took time.Duration, memory uint64) *StreamReport {
	var ms []float64
	for i, ok := range a.seen {
		if ok {
			// Times of messages are rounded down to milliseconds, so a difference may be 0 or less.
			ms = append(ms, max(float64(a.at[i].Sub(sent[i]))/float64(time.Millisecond), math.SmallestNonzeroFloat32))
		}
	}
	return &StreamReport{
		Lost: a.left, Repeated: a.repeated, DeadLetters: a.dead, PerSecond: float64(len(ms)) / took.Seconds(),
		MemoryBytes: memory, LatencyMS: sample.Quantiles(ms), MessageBytes: a.bytes / float64(max(1, len(ms)-a.dead)),
	}
}

// count returns how many messages the topics hold.
func (r *streamRun) count(ctx context.Context, names ...string) (int, error) {
	request := &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{}}
	for _, name := range names {
		for i := range r.Partitions {
			request.Topics[name] = append(request.Topics[name], kafka.LastOffsetOf(i))
		}
	}
	response, err := r.offsets.ListOffsets(ctx, request)
	if err != nil {
		return 0, fmt.Errorf("counting predictions: %w", err)
	}
	n := 0
	for _, partitions := range response.Topics {
		for _, p := range partitions {
			if p.Error != nil {
				return 0, fmt.Errorf("counting predictions: %w", p.Error)
			}
			n += int(p.LastOffset)
		}
	}
	return n, nil
}

const (
	echoBatch   = 512
	echoTimeout = 5 * time.Millisecond
)

// echo is the bare loop: kafka-go's reader and writer, one loop per partition. It answers every message with the
// payload under the same key, waits until all in-sync replicas have it, and commits. It runs until ctx ends.
func echo(ctx context.Context, brokers []string, t topics, payload []byte, started func()) error {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: t.group, Brokers: brokers, Topics: []string{t.in}, StartOffset: kafka.FirstOffset,
		HeartbeatInterval: time.Second, JoinGroupBackoff: 500 * time.Millisecond,
	})
	if err != nil {
		return fmt.Errorf("making a group: %w", err)
	}
	defer func() { _ = group.Close() }() // offsets are committed already
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{
		Addr: kafka.TCP(brokers...), Topic: t.out, Balancer: &kafka.Murmur2Balancer{},
		RequiredAcks: kafka.RequireAll, BatchSize: echoBatch, BatchTimeout: echoTimeout, Transport: transport,
	}
	defer func() { _ = writer.Close() }() // every write is acknowledged already
	for ctx.Err() == nil {
		generation, err := group.Next(ctx)
		if err != nil {
			continue // no coordinator yet; the group pauses between attempts
		}
		loops, inner := errgroup.WithContext(ctx)
		for _, a := range generation.Assignments[t.in] {
			loops.Go(func() error { return echoPartition(inner, brokers, t, a, writer, generation, payload, started) })
		}
		if err := loops.Wait(); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func echoPartition(ctx context.Context, brokers []string, t topics, a kafka.PartitionAssignment, writer *kafka.Writer,
	g *kafka.Generation, payload []byte, started func(),
) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: brokers, Topic: t.in, Partition: a.ID, MinBytes: 1,
		MaxBytes: 1 << 20, QueueCapacity: 2 * echoBatch, MaxWait: 500 * time.Millisecond,
	})
	defer func() { _ = reader.Close() }() // nothing is left to read
	if err := reader.SetOffset(a.Offset); err != nil {
		return fmt.Errorf("seeking: %w", err)
	}
	batch := make([]kafka.Message, 0, echoBatch)
	for {
		m, err := reader.FetchMessage(ctx)
		if err != nil {
			return fmt.Errorf("fetching: %w", err)
		}
		started()
		batch = batch[:0]
		next := m.Offset
		// Add all messages that come within echoTimeout.
		soon, cancel := context.WithTimeout(ctx, echoTimeout)
		for err == nil {
			batch = append(batch, kafka.Message{Key: m.Key, Value: payload})
			if next = m.Offset + 1; len(batch) == echoBatch {
				break
			}
			m, err = reader.FetchMessage(soon)
		}
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("fetching: %w", err)
		}
		if err := writer.WriteMessages(ctx, batch...); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		if err := g.CommitOffsets(map[string]map[int]int64{t.in: {a.ID: next}}); err != nil {
			return fmt.Errorf("committing: %w", err)
		}
	}
}

// memoryTick is the time between two measurements of the memory.
const memoryTick = 20 * time.Millisecond

// watchMemory measures the memory of the process until the returned function is called, which returns its peak growth
// in bytes.
func watchMemory() func() uint64 {
	debug.FreeOSMemory()
	before, stop, peak := taken(), make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(memoryTick)
		defer tick.Stop()
		for most := before; ; most = max(most, taken()) {
			select {
			case <-tick.C:
			case <-stop:
				peak <- max(most, taken())
				return
			}
		}
	}()
	return sync.OnceValue(func() uint64 {
		close(stop)
		return <-peak - before
	})
}

// taken returns the bytes that the process has obtained from the system.
func taken() uint64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64() - all[1].Value.Uint64()
}
