package app_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// value is that of a series.
type value struct {
	now     float64
	counter bool
}

// scrape returns the counters and gauges of a scorer as Prometheus names them.
func (s *site) scrape() map[string]value {
	s.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]value{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "wardcast_") || f.GetType() == dto.MetricType_HISTOGRAM {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := []string{`job="wardcast"`, `instance="a"`}
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			v := value{m.GetGauge().GetValue(), f.GetType() == dto.MetricType_COUNTER}
			if v.counter {
				v.now = m.GetCounter().GetValue()
			}
			all[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = v
		}
	}
	return all
}

// history returns Prometheus' notation of a series that was there before for ten minutes, and then went on as it is
// now: a counter grows each minute by what it grew in between.
func history(before, now value, was bool) string {
	grows := 0.
	if now.counter {
		grows = now.now - before.now
	}
	first := "_x9"
	if was {
		first = fmt.Sprintf("%vx9", before.now)
	}
	return fmt.Sprintf("%s %v+%vx30", first, now.now, grows)
}

// fires has Prometheus evaluate the alert rules on metrics of a scorer: first none fires, and in the end these, of
// these and others that are named.
func (s *site) fires(promtool string, before, now map[string]value, want ...string) {
	s.Helper()
	absolute, err := filepath.Abs(rules)
	if err != nil {
		s.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%s]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n",
		absolute)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		old, was := before[name]
		fmt.Fprintf(&b, "      - {series: '%s', values: '%s'}\n", name, history(old, now[name], was))
	}
	b.WriteString("    promql_expr_test:\n      - {expr: 'ALERTS{alertstate=\"firing\"}', eval_time: 9m}\n")
	fmt.Fprintf(&b, "      - expr: group by (alertname) (ALERTS{alertstate=\"firing\",alertname=~%q})\n        "+
		"eval_time: 30m\n        exp_samples:\n", strings.Join(want, "|"))
	for _, alert := range want {
		fmt.Fprintf(&b, "          - {labels: '{alertname=%q}', value: 1}\n", alert)
	}
	path := filepath.Join(s.TempDir(), "test.yml")
	write(s.T, path, []byte(b.String()))
	//nolint:gosec // as the guard names it
	if out, err := exec.CommandContext(s.Context(), promtool, "test", "rules", path).CombinedOutput(); err != nil {
		s.Errorf("alerts that fire: %v\n%s", err, out)
	}
}

// trouble is a site on a broker that a test can break.
type trouble struct {
	*site
	fake *kfake.Cluster
	c    *stream
}

// TestAlertsFire breaks what the alerts are for, and has Prometheus evaluate them on what the scorer then says.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	promtool := os.Getenv("WARDCAST_PROMTOOL")
	if promtool == "" {
		t.Skip("WARDCAST_PROMTOOL does not name promtool, a program of Prometheus")
	}
	for name, test := range map[string]struct {
		trouble func(x *trouble)
		until   func(x *trouble) bool
		want    []string
	}{
		"answers refused": {func(x *trouble) {
			x.fake.Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Produce}, Topic: x.config.Kafka.Topics.Predictions,
				Err: kerr.NotEnoughReplicas, Count: -1,
			})
			x.old(150)
		}, func(x *trouble) bool {
			return x.metric("wardcast_ingest_lag_records") == 150 &&
				x.metric("wardcast_ingest_produce_retries_total") > 10 && x.metric("wardcast_ingest_ready") == 0
		}, []string{"WardcastAnswersRefused", "WardcastNoteLate", "WardcastNotesWait", "WardcastNotReady"}},
		"one note stuck": {func(x *trouble) {
			x.fake.Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Produce}, Topic: x.config.Kafka.Topics.Predictions,
				Err: kerr.TopicAuthorizationFailed, Count: -1,
			})
			x.old(1)
		}, func(x *trouble) bool {
			return x.metric("wardcast_ingest_blocked_partitions") == 1 && x.metric("wardcast_ingest_ready") == 0
		}, []string{"WardcastNoteLate", "WardcastNotReady", "WardcastPartitionBlocked"}},
		"topic deleted": {
			func(x *trouble) {
				if _, err := kadm.NewClient(x.c.Client).DeleteTopics(x.Context(),
					x.config.Kafka.Topics.Predictions); err != nil {
					x.Fatal(err)
				}
			}, func(x *trouble) bool { return x.metric("wardcast_ingest_topic_missing") == 1 },
			[]string{"WardcastNotReady", "WardcastTopicMissing"},
		},
		"group refuses": {func(x *trouble) {
			x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Err: kerr.GroupAuthorizationFailed, Count: -1})
			x.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.RebalanceInProgress, Count: 1})
		}, func(x *trouble) bool {
			return x.metric("wardcast_ingest_ready") == 0 && x.metric("wardcast_ingest_assigned_partitions") == 0
		}, []string{"WardcastNobodyReads", "WardcastNotReady"}},
		"bad notes": {func(x *trouble) {
			x.withoutOther()
			x.await("the models", func() bool { return x.metric("wardcast_model_reloads_total", "ok") == 2 })
			large := note(x.T, 0)
			large.Text = strings.Repeat("a", msg.MaxText+1)
			sent := []*kgo.Record{record(large)}
			for i := range 12 {
				unknown := note(x.T, i)
				unknown.Complaint = "never heard of " + secret
				sent = append(sent, record(unknown))
			}
			x.c.send(sent...)
		}, func(x *trouble) bool {
			return x.metric("wardcast_ingest_dead_letters_total", "no_model") == 12 &&
				x.metric("wardcast_ingest_dead_letters_total", "too_large") == 1
		}, []string{"WardcastDeadLetters", "WardcastNoModel", "WardcastTooLarge"}},
		"retention": {
			func(x *trouble) {
				x.fake.Fault(kfake.Fault{
					Keys: []kmsg.Key{kmsg.Fetch}, Topic: x.config.Kafka.Topics.Notes,
					Err: kerr.NotLeaderForPartition, Count: 20,
				})
				x.c.send(notes(x.T, 0, 50)...)
				for partition := range int32(ingest.DefaultPartitions) {
					if err := x.fake.DeleteRecords(x.config.Kafka.Topics.Notes, partition, -1); err != nil {
						x.Fatal(err)
					}
				}
			}, func(x *trouble) bool { return x.metric("wardcast_ingest_skipped_offsets_total", "retention") > 0 },
			[]string{"WardcastRecordsLost"},
		},
		"damaged store": {
			func(x *trouble) {
				write(x.T, filepath.Join(x.config.Models.Store, "champion"), []byte("nowhere\n"))
			}, func(x *trouble) bool { return x.metric("wardcast_model_refused") == 1 },
			[]string{"WardcastHistoryDisagrees", "WardcastModelsRefused"},
		},
		"swapped champion": {
			func(x *trouble) {
				g := storetest.Add(x.T, x.store, generation(x.T, 1)[0])
				write(x.T, filepath.Join(x.config.Models.Store, "champion"), []byte(g.Name+"\n"))
			}, func(x *trouble) bool { return x.metric("wardcast_model_history_disagrees") == 1 },
			[]string{"WardcastHistoryDisagrees", "WardcastModelsRefused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake, err := kfake.NewCluster(kfake.NumBrokers(1),
				kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(fake.Close)
			x := &trouble{site: newSite(t), fake: fake}
			x.config.Kafka.Brokers, x.config.Kafka.ReadyAfterStall = fake.ListenAddrs(), 500*time.Millisecond
			x.registry = app.NewRegistry("test")
			x.options.Registry = x.registry
			x.start().ready()
			x.c = x.stream()
			before := x.scrape()
			test.trouble(x)
			x.await("the trouble", func() bool { return test.until(x) })
			x.fires(promtool, before, x.scrape(), test.want...)
		})
	}
}

// old sends notes that were written ten minutes ago.
func (x *trouble) old(n int) {
	x.Helper()
	sent := notes(x.T, 0, n)
	for _, r := range sent {
		r.Timestamp = time.Now().Add(-10 * time.Minute)
	}
	x.c.send(sent...)
}

// withoutOther promotes a generation without a model of all complaints.
func (s *site) withoutOther() *models.Generation {
	s.Helper()
	served, err := s.store.Champion(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	without := &models.Generation{Parent: served.Name, CreatedAt: served.CreatedAt, Models: maps.Clone(served.Models)}
	delete(without.Models, bundle.Other)
	if err := s.store.AddGeneration(s.Context(), without); err != nil {
		s.Fatal(err)
	}
	if err := s.store.Promote(s.Context(), models.Change{To: without.Name, From: served.Name}); err != nil {
		s.Fatal(err)
	}
	return without
}
