package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge/process"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/service/config"
)

type dlqCmd struct {
	List   dlqListCmd   `cmd:"" help:"List dead letters, the newest last." example:"wardcast dlq list --config wardcast.yaml --by-reason"`
	Show   dlqShowCmd   `cmd:"" help:"Show one dead letter." example:"wardcast dlq show 0/17 --config wardcast.yaml"`
	Replay dlqReplayCmd `cmd:"" help:"Send dead letters back to the topic that they came from." example:"wardcast dlq replay --reason no_model --dry-run --config wardcast.yaml"`
}

type deadLetterFlags struct {
	Config string `help:"Configuration file of serve." required:"" type:"existingfile" placeholder:"FILE"`
	Of     string `help:"Whose dead letters: notes, responses (to questionnaires), or bridge (messages of the hospital's systems)." enum:"notes,responses,bridge" default:"notes"`
}

// deadLetterBox holds the dead letters of a stream. The command closes the client.
type deadLetterBox struct {
	deadletter.Box
	source string // the topic that they came from
}

// ProvideDeadLetters returns the dead letters as a parameter of the commands' Run.
func (f *deadLetterFlags) ProvideDeadLetters(d *cli.Deps) (*deadLetterBox, error) {
	c, err := config.Load(f.Config)
	if err != nil {
		return nil, err
	}
	conn, err := c.Kafka.Connection()
	if err != nil {
		return nil, err
	}
	dead, source := c.Kafka.Topics.DeadLetters, c.Kafka.Topics.Notes
	switch f.Of {
	case "responses":
		dead, source = c.Questionnaires.Topics.DeadLetters, c.Questionnaires.Topics.Responses
	case "bridge": // whose dead letters are not sent back
		dead, source = c.Bridge.Topics.DeadLetters, c.Bridge.Topics.DeadLetters
	}
	client, err := ingest.NewClient(conn, dead, source)
	if err != nil {
		return nil, err
	}
	return &deadLetterBox{Box: deadletter.Box{Client: client, Topic: dead, Logger: d.Log}, source: source}, nil
}

type filterFlags struct {
	Reason []msg.Reason `help:"Only these reasons, such as no_model,scoring_failed." placeholder:"REASON"`
	Since  time.Time    `help:"Only dead letters from this time on." format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME"`
	Until  time.Time    `help:"Only dead letters before this time." format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME"`
}

// Validate is called by the command line's parser.
func (c *filterFlags) Validate() error {
	all := msg.Reasons()
	for _, reason := range process.Reasons() {
		all = append(all, msg.Reason(reason))
	}
	for _, r := range c.Reason {
		if !slices.Contains(all, r) {
			return fmt.Errorf("--reason %s is unknown: use %v", r, all)
		}
	}
	if !c.Until.IsZero() && !c.Since.Before(c.Until) {
		return errors.New("--until is not after --since")
	}
	return nil
}

func (c *filterFlags) filter() deadletter.Filter {
	return deadletter.Filter{Reasons: c.Reason, Since: c.Since, Until: c.Until}
}

type dlqListCmd struct {
	deadLetterFlags
	filterFlags
	cli.Output
	ByReason bool `help:"Count the dead letters by reason instead."`
	Limit    int  `help:"Maximum number to list, the newest; 0 lists all." default:"50"`
}

func (c *dlqListCmd) Run(ctx context.Context, d *cli.Deps, box *deadLetterBox) error {
	defer box.Client.Close()
	if c.ByReason {
		return c.counts(ctx, d, box)
	}
	all := []deadletter.Letter{}
	foreign, err := box.Read(ctx, c.filter(), func(l *deadletter.Letter, _ *ingest.Record) error {
		all = append(all, *l)
		// Partitions are read one after another, so the newest are known only at the end.
		if c.Limit > 0 && len(all) >= 2*c.Limit+1000 {
			all = newestLetters(all, c.Limit)
		}
		return nil
	})
	if err != nil {
		return err
	}
	all = newestLetters(all, c.Limit)
	warnForeign(d, foreign)
	grid := cli.NewGrid("PLACE", "DIED", "REASON", "FIELD", "STAGE", "CAME FROM", "ATTEMPTS", "BYTES")
	for _, l := range all {
		grid.Add(l.Place, l.Time, l.Reason, l.Field, l.Stage, cameFrom(&l), l.Attempts, l.Bytes)
	}
	return c.Print(d, all, grid)
}

func (c *dlqListCmd) counts(ctx context.Context, d *cli.Deps, box *deadLetterBox) error {
	counts, err := box.Count(ctx, c.filter())
	if err != nil {
		return err
	}
	grid := cli.NewGrid("REASON", "LETTERS", "OLDEST", "NEWEST")
	for _, n := range counts {
		grid.Add(n.Reason, n.Letters, n.Oldest, n.Newest)
	}
	return c.Print(d, counts, grid)
}

// newestLetters returns the newest of these letters, oldest first; limit 0 returns all.
func newestLetters(all []deadletter.Letter, limit int) []deadletter.Letter {
	slices.SortStableFunc(all, func(a, b deadletter.Letter) int { return a.Time.Compare(b.Time) })
	if limit > 0 && len(all) > limit {
		all = slices.Delete(all, 0, len(all)-limit)
	}
	return all
}

func warnForeign(d *cli.Deps, n int) {
	warnSome(d.Log, n, "records of the dead letter topic are not dead letters", "records", n)
}

type dlqShowCmd struct {
	deadLetterFlags
	cli.Output
	Place deadletter.Place `arg:"" help:"PARTITION/OFFSET, as printed by list."`
	Text  bool             `help:"Also show the message: its key and its value, with the patient's note."`
}

// shown is a dead letter, with --text also its message.
type shown struct {
	deadletter.Letter
	Key   *string `json:"key,omitempty"`
	Value *string `json:"value,omitempty"`
}

func (c *dlqShowCmd) Run(ctx context.Context, d *cli.Deps, box *deadLetterBox) error {
	defer box.Client.Close()
	var found *shown
	_, err := box.Read(ctx, deadletter.Filter{Place: &c.Place}, func(l *deadletter.Letter, r *ingest.Record) error {
		found = &shown{Letter: *l}
		if c.Text {
			key, value := string(r.Key), string(r.Value)
			found.Key, found.Value = &key, &value
		}
		return nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("topic %q has no dead letter at %s", box.Topic, c.Place)
	}
	if err != nil {
		return err
	}
	grid := cli.NewGrid("FIELD", "VALUE")
	for _, row := range [][2]any{
		{"place", found.Place},
		{"died", found.Time},
		{"reason", found.Reason},
		{"field", found.Field},
		{"detail", found.Detail},
		{"stage", found.Stage},
		{"model version", found.ModelVersion},
		{"came from", cameFrom(&found.Letter)},
		{"attempts", found.Attempts},
		{"bytes", found.Bytes},
		{"offsets lost", found.LostOffsets},
		{"bytes lost", found.LostBytes},
	} {
		if v := row[1]; v != "" && v != msg.Reason("") && v != int64(0) {
			grid.Add(row[0], v)
		}
	}
	if c.Text {
		grid.Add("key", *found.Key)
		grid.Add("value", *found.Value)
	}
	return c.Print(d, found, grid)
}

// cameFrom says where the message of a letter is, if it came from a topic.
func cameFrom(l *deadletter.Letter) string {
	if l.Topic == "" {
		return ""
	}
	return l.Topic + " " + l.Source.String()
}

type dlqReplayCmd struct {
	deadLetterFlags
	filterFlags
	cli.Output
	All         bool              `help:"Send all of them, instead of those chosen by --reason, --since, --until or --place."`
	Place       *deadletter.Place `help:"Send only this one." placeholder:"PARTITION/OFFSET"`
	DryRun      bool              `help:"Count the messages that would be sent, and send nothing."`
	Rate        float64           `help:"Messages per second; 0 is no limit." default:"100"`
	MaxAttempts int               `help:"Leave out messages that have failed this many times." default:"${maxAttempts}"`
}

// Help describes a replay.
func (*dlqReplayCmd) Help() string {
	return "Writes a copy of the message, without the headers of the dead letter, to the topic that it came from. " +
		"A dead letter without a value is left out: its message was too large, or empty. " +
		"So is one whose key a record without a value has erased since in that topic. " +
		"The dead letter is kept: a second replay sends it again, and its prediction has the same id as the first. " +
		"A message that fails again becomes another dead letter, with one more attempt."
}

// Validate is called by the command line's parser.
func (c *dlqReplayCmd) Validate() error {
	switch chosen := len(c.Reason) > 0 || !c.Since.IsZero() || !c.Until.IsZero() || c.Place != nil; {
	case chosen == c.All:
		return errors.New("say which dead letters: --reason, --since, --until or --place, or --all for every one")
	case c.Of == "bridge":
		return errors.New("--of bridge: these dead letters hold no message; its sender has to send it again")
	case c.Rate < 0:
		return errors.New("--rate is negative")
	case c.MaxAttempts < 1:
		return errors.New("--max-attempts is below 1")
	}
	return c.filterFlags.Validate()
}

func (c *dlqReplayCmd) Run(ctx context.Context, d *cli.Deps, box *deadLetterBox) error {
	defer box.Client.Close()
	s := deadletter.Sending{
		Filter: c.filter(), To: box.source, MaxAttempts: c.MaxAttempts, Rate: c.Rate, DryRun: c.DryRun,
	}
	s.Place = c.Place
	bar := cli.NewProgress(d, "dead letters")
	box.Progress = func(done, total int64) { bar.Set(int(done), int(total)) }
	sent, err := box.Send(ctx, s)
	bar.Finish()
	if err != nil {
		return err
	}
	warnForeign(d, sent.Foreign)
	verb := "Sent back"
	if c.DryRun {
		verb = "Would send back"
	}
	report := struct {
		deadletter.Sent
		DryRun bool `json:"dry_run"`
	}{sent, c.DryRun}
	return c.Print(d, report, &cli.Grid{Title: fmt.Sprintf(
		"%s to %s: %d. Left out: %d that failed %d times or more, %d from other topics, %d without a value, "+
			"%d that were erased since.\n",
		verb, box.source, sent.Sent, sent.Exhausted, c.MaxAttempts, sent.Elsewhere, sent.Lost, sent.Erased)})
}
