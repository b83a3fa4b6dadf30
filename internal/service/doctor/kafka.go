package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/service/bedstream"
	"github.com/wardcast/wardcast/internal/service/config"
)

const bedDays = int(bedstream.Remembered / (24 * time.Hour)) // that the bed demand looks back

func (d *doctor) streams(ctx context.Context) {
	connection, err := d.Kafka.Connection()
	reached := false
	d.check("brokers", strings.Join(connection.Brokers, ", ")+" answer", func(bad found) {
		if err != nil {
			bad(Fail, "mend the section kafka of the configuration", "%v", err)
			return
		}
		var errs []error
		for _, broker := range connection.Brokers {
			one := connection
			one.Brokers = []string{broker}
			if err := probe(ctx, one); err != nil {
				errs = append(errs, err)
			}
		}
		reached = len(errs) < len(connection.Brokers)
		for _, err := range errs {
			status := Fail
			if reached {
				status = Warn
			}
			bad(status, "start the broker, or mend kafka.brokers, kafka.tls and kafka.sasl", "%v", err)
		}
	})
	if !reached {
		return
	}
	client, err := ingest.NewClient(connection)
	if err != nil {
		return // brokers says so
	}
	defer client.Close()
	all, names := d.TopicUses(), d.KafkaTopics()
	states, err := client.Describe(ctx, names...)
	if err != nil {
		d.check("topics", "", func(bad found) {
			bad(Fail, "look at the log and the load of the brokers, and run it again", "%v", err)
		})
	}
	if len(states) == 0 && err != nil {
		return
	}
	for _, t := range all {
		d.topic(&t, states)
	}
	if len(states) > 0 {
		d.copies(names, states)
		d.authorization(ctx, client, all, states)
	}
}

func probe(ctx context.Context, connection ingest.Connection) error {
	client, err := ingest.NewClient(connection)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Probe(ctx)
}

func (d *doctor) topic(t *config.TopicUse, states map[string]*ingest.TopicState) {
	s := states[t.Name]
	if s == nil {
		d.check("topic "+t.Name, "", func(bad found) {
			bad(Fail, "make it, for example with `wardcast serve --create-topics`", "topic %s does not exist", t.Name)
		})
		return
	}
	keep := t.Keep
	if t.Beds {
		keep = max(keep, bedDays)
	}
	policy, retention, limit := s.Settings[ingest.CleanupPolicy], s.Settings[ingest.Retention], size(s)
	fine := fmt.Sprintf("partitions %d, %s=%s, %s=%s, %s=%d", s.Partitions, ingest.CleanupPolicy, policy,
		ingest.Retention, retention, ingest.MaxMessageBytes, limit)
	d.check("topic "+t.Name, fine, func(bad found) {
		set := func(name, setting, value string) string {
			return fmt.Sprintf("kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name %s "+
				"--add-config %s=%s", d.Kafka.Brokers[0], name, setting, value)
		}
		switch compacted := strings.Contains(policy, "compact"); {
		case policy == "": // not visible
		case t.Compacted && !compacted:
			bad(Warn, set(t.Name, ingest.CleanupPolicy, "compact"),
				"topic %s is not compacted: what is said once is lost after %s ms", t.Name, retention)
		case !t.Compacted && compacted:
			bad(Warn, set(t.Name, ingest.CleanupPolicy, "delete"),
				"topic %s is compacted: earlier records of a visit are deleted, also before a scorer that was away "+
					"has read them", t.Name)
		}
		if dead := states[t.Feeds]; dead != nil && size(dead) > 0 && size(dead) <= limit {
			bad(Warn, set(t.Feeds, ingest.MaxMessageBytes, strconv.Itoa(ingest.DeadLetterMaxMessageBytes)),
				"topic %s takes no larger messages than %s: its largest dead letters lack the message", t.Feeds, t.Name)
		}
		const day = 24 * 3600 * 1000
		if ms, err := strconv.Atoi(retention); err == nil && ms >= 0 && ms < keep*day {
			bad(Warn, set(t.Name, ingest.Retention, strconv.Itoa(keep*day)),
				"topic %s keeps records for %d days, and retraining or bed demand looks back %d", t.Name, ms/day, keep)
		}
	})
}

// size returns the limit of messages, 0 if it is not visible.
func size(s *ingest.TopicState) int {
	n, _ := strconv.Atoi(s.Settings[ingest.MaxMessageBytes])
	return n
}

func (d *doctor) copies(names []string, states map[string]*ingest.TopicState) {
	d.check("copies", "each partition has several", func(bad found) {
		single := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return states[name] == nil || states[name].Copies != 1
		})
		if len(single) > 0 {
			bad(Warn, "use three brokers, replication factor 3 and min.insync.replicas 2",
				"one copy only of %s: a broker that is lost loses records", strings.Join(single, ", "))
		}
	})
}

func (d *doctor) authorization(ctx context.Context, client *ingest.Client, all []config.TopicUse,
	states map[string]*ingest.TopicState,
) {
	d.check("authorization", "the user may do all that serve does", func(bad found) {
		need := func(must bool, allowed ingest.Operations, code int, operation, kind, name string) {
			if !allowed.Has(code) {
				bad(map[bool]Status{true: Fail, false: Warn}[must], fmt.Sprintf("kafka-acls.sh --bootstrap-server %s --add --operation %s --%s %s "+
					"--allow-principal …", d.Kafka.Brokers[0], operation, kind, name), "the user may not %s %s %s",
					strings.ToLower(operation), kind, name)
			}
		}
		for _, t := range all {
			s := states[t.Name]
			if s == nil {
				continue
			}
			if t.Read || t.Replays {
				need(t.Read, s.Allowed, ingest.Read, "Read", "topic", t.Name)
			}
			if t.Write || t.Replays {
				need(t.Write, s.Allowed, ingest.Write, "Write", "topic", t.Name)
			}
		}
		var groups []string
		if d.Models.Store != "" {
			groups = append(groups, d.Kafka.Group)
		}
		if len(d.Questionnaires.Models) > 0 {
			groups = append(groups, d.Questionnaires.Group)
		}
		for _, group := range groups {
			allowed, err := client.GroupOperations(ctx, group)
			if err != nil {
				bad(Warn, "run it again once the brokers have been up for a minute; then look at their log", "%v", err)
				continue
			}
			need(true, allowed, ingest.Read, "Read", "group", group)
		}
	})
}
