package config

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/train"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wardcast.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := write(t, "kafka: {brokers: [k1:9092, 'k2:9092'], session_timeout: 9s}\nmodels: {store: store}\nhttp: "+
		"{listen: ''}\npredictions: {class: Left without being seen}\n")
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Kafka.Group != "wardcast" || c.Kafka.Topics.DeadLetters != "triage.notes.dlq" || c.Kafka.SessionTimeout !=
		9*time.Second || c.HTTP.Listen != "" || c.Predictions.Class != "Left without being seen" {
		t.Errorf("Load = %+v", c)
	}
	if want := filepath.Join(filepath.Dir(path), "store"); c.Models.Store != want {
		t.Errorf("models.store = %q, want %q, relative to the file", c.Models.Store, want)
	}
}

// A site may score questionnaires alone.
func TestLoadQuestionnaires(t *testing.T) {
	t.Parallel()
	path := write(t, "kafka: {brokers: [a:1]}\nmodels: {store: ''}\nquestionnaires: {models: {bfi: q/bfi, PHQ-9: "+
		"/srv/phq}, topics: {scores: s}}\n")
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Questionnaires{
		Models: map[string]string{"bfi": filepath.Join(filepath.Dir(path), "q", "bfi"), "PHQ-9": "/srv/phq"},
		Group:  "wardcast-questionnaires",
		Topics: ResponseTopics{
			Responses: "questionnaire.responses", Scores: "s", DeadLetters: "questionnaire.responses.dlq",
		},
	}
	if d := cmp.Diff(want, c.Questionnaires); d != "" || c.Models.Store != "" {
		t.Errorf("models.store = %q; questionnaires (-want +got):\n%s", c.Models.Store, d)
	}
}

func TestLoadHTTP(t *testing.T) {
	path := write(t, "kafka: {brokers: [a:1]}\nhttp: {listen: '0.0.0.0:8443', tls: {cert_file: a.pem, key_file: "+
		"/b.pem}, rate_limit: {per_second: 2.5}, shifts: [07:00, 15:00, 23:00],\n"+
		" tokens: [{name: ward-board, role: viewer, token_file: token}, {name: j.doe, role: operator, token_env: "+
		"WARDCAST_TEST_TOKEN}]}\n")
	dir := filepath.Dir(path)
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := HTTP{
		Listen: "0.0.0.0:8443", TLS: ServerTLS{filepath.Join(dir, "a.pem"), "/b.pem"},
		RateLimit: RateLimit{PerSecond: new(2.5)}, Connections: 5000, TrustedProxies: []string{},
		Tokens: []Token{
			{Name: "ward-board", Role: Viewer, TokenFile: filepath.Join(dir, "token"), TokenEnv: ""},
			{Name: "j.doe", Role: Operator, TokenFile: "", TokenEnv: "WARDCAST_TEST_TOKEN"},
		},
		LabelRoles: []string{Viewer, Operator}, Shifts: []string{"07:00", "15:00", "23:00"}, TimeZone: "UTC",
	}
	if d := cmp.Diff(want, c.HTTP); d != "" {
		t.Errorf("http (-want +got):\n%s", d)
	}
	const secret = "0123456789abcdef0123456789abcdef"
	file := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(why string) {
		t.Helper()
		if _, err := c.HTTP.Secrets(); err == nil || !strings.Contains(err.Error(), why) ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("Secrets: %v, want %q", err, why)
		}
	}
	refused("WARDCAST_TEST_TOKEN is not set")
	refused("http.tokens[0].token_file")
	t.Setenv("WARDCAST_TEST_TOKEN", secret)
	file("short\n")
	refused("shorter than 22")
	file(secret)
	refused("j.doe and ward-board have the same token")
	file("another-" + secret + "\r\n")
	if got, err := c.HTTP.Secrets(); err != nil || got[0] != "another-"+secret || got[1] != secret {
		t.Errorf("Secrets = %q, %v", got, err)
	}
}

// TestOneClock: pages and forecasts have the time zone that either of them names.
func TestOneClock(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "UTC", "beds: {time_zone: Europe/Paris}\n": "Europe/Paris",
		"http: {time_zone: Europe/Paris, label: fields.location}\n":          "Europe/Paris",
		"beds: {time_zone: Europe/Paris}\nhttp: {time_zone: Europe/Paris}\n": "Europe/Paris",
	} {
		c, err := Load(write(t, "kafka: {brokers: [a:1]}\n"+text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if c.Beds.TimeZone != want || c.HTTP.TimeZone != want {
			t.Errorf("%s: forecasts have %q, pages %q", text, c.Beds.TimeZone, c.HTTP.TimeZone)
		}
		if c.HTTP.Label != "" && c.HTTP.LabelField() != "location" {
			t.Errorf("the label is the field %q", c.HTTP.LabelField())
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const ok = "kafka: {brokers: [a:1]}\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"unknown key": {"kafka:\n  brokrs: [a:1]\n", []string{"line 2", `"brokrs"`, `"brokers"`}},
		"unknown inner key": {
			"kafka:\n  brokers: [a:1]\n  topics: {dead_leters: x}\n",
			[]string{"line 3", `"dead_leters"`, `"dead_letters"`},
		},
		"unknown prediction":  {ok + "predictions: {klass: home}\n", []string{"line 2", `"klass"`, `"class"`}},
		"two classes":         {ok + "predictions: {class: [home, ward]}\n", []string{"line 2"}},
		"two unknown keys":    {"kafak: {}\nmodel: {}\n", []string{`"kafka"`, `"models"`}},
		"wrong type":          {"kafka: {brokers: [a:1], group: [x]}\n", []string{"line 1"}},
		"not YAML":            {"kafka: [\n", []string{"line"}},
		"two documents":       {ok + "---\nkafka: {}\n", []string{"more than one document"}},
		"empty":               {"", []string{"kafka.brokers"}},
		"broker without port": {"kafka: {brokers: [a]}\n", []string{"kafka.brokers", `"a"`}},
		"no stall": {
			"kafka: {brokers: [a:1], ready_after_stall: 0s}\n", []string{"kafka.ready_after_stall", "positive"},
		},
		"long session": {
			"kafka: {brokers: [a:1], session_timeout: 11s}\n", []string{"kafka.session_timeout", "11s"},
		},
		"same topics": {
			"kafka: {brokers: [a:1], topics: {notes: x, predictions: x}}\n",
			[]string{"kafka.topics.predictions", "kafka.topics.notes"},
		},
		"sasl without user": {
			"kafka: {brokers: [a:1], sasl: {mechanism: plain}}\n", []string{"kafka.sasl", "username"},
		},
		"unknown mechanism": {
			"kafka: {brokers: [a:1], sasl: {mechanism: gssapi}}\n", []string{"kafka.sasl.mechanism", `"gssapi"`},
		},
		"tls off but set":     {"kafka: {brokers: [a:1], tls: {ca_file: x}}\n", []string{"kafka.tls.enabled"}},
		"certificate, no key": {"kafka: {brokers: [a:1], tls: {enabled: true, cert_file: x}}\n", []string{"key_file"}},
		"level":               {ok + "log: {level: loud}\n", []string{"log.level", `"loud"`}},
		"unknown tls key": {
			"kafka: {brokers: [a:1], tls: {cafile: x}}\n", []string{"line 1", `"cafile"`, `"ca_file"`},
		},
		"several at once": {
			"kafka: {brokers: [a:1], group: ''}\nmodels: {poll: 0s}\n", []string{"kafka.group", "models.poll"},
		},
		"http without a port": {ok + "http: {listen: localhost}\n", []string{"http.listen"}},
		"unknown http key":    {ok + "http: {tokens: [{nam: x}]}\n", []string{"line 2", `"nam"`, `"name"`}},
		"key, no certificate": {ok + "http: {tls: {key_file: x}}\n", []string{"http.tls", "cert_file"}},
		"tokens": {ok + "http: {tokens: [{name: a, role: viewer, token_env: A}, {name: a, role: admin, token_env: B, " +
			"token_file: c}, {role: viewer}]}\n", []string{
			`http.tokens[1].name: "a"`, `http.tokens[1].role: "admin"`, "http.tokens[1]: needs either",
			"http.tokens[2].name", "http.tokens[2]: needs either",
		}},
		"proxies": {ok + "http: {trusted_proxies: [10.0.0.0/40]}\n", []string{"http.trusted_proxies"}},
		"traces": {
			ok + "traces: {endpoint: collector:4318, ratio: 2}\n", []string{"traces.endpoint", "traces.ratio"},
		},
		"password in the endpoint": {
			ok + "traces: {endpoint: 'https://me:s3cret@collector'}\n", []string{"traces.endpoint: holds a password"},
		},
		"token that others read": {
			ok + "traces: {endpoint: 'http://collector:4318', token_file: token}\n", []string{"traces.token_file"},
		},
		"connections":      {ok + "http: {connections: 0}\n", []string{"http.connections"}},
		"rate":             {ok + "http: {rate_limit: {per_second: -1}}\n", []string{"http.rate_limit"}},
		"nothing to score": {ok + "models: {store: ''}\n", []string{"models.store", "questionnaires.models"}},
		"class without notes": {
			ok + "models: {store: ''}\nquestionnaires: {models: {bfi: x}}\npredictions: {class: home}\n",
			[]string{"predictions.class", "models.store"},
		},
		"shadow without notes": {
			ok + "models: {store: ''}\nquestionnaires: {models: {bfi: x}}\nshadow: {generation: latest}\n",
			[]string{"shadow.generation", "models.store"},
		},
		"shadow as predictions": {
			"kafka: {brokers: [a:1], topics: {shadow: triage.predictions}}\n",
			[]string{"kafka.topics.shadow", "kafka.topics.predictions"},
		},
		"no models topic": {
			"kafka: {brokers: [a:1], topics: {models: ''}}\n", []string{"kafka.topics.models: is empty"},
		},
		"unknown shadow key": {
			ok + "shadow: {generations: latest}\n", []string{"line 2", `"generations"`, `"generation"`},
		},
		"unknown instrument's": {
			ok + "questionnaires: {model: {bfi: x}}\n", []string{"line 2", `"model"`, `"models"`},
		},
		"unknown retrain key": {ok + "retrain: {gate: {margins: 1}}\n", []string{"line 2", `"margins"`, `"margin"`}},
		"unknown bound": {
			ok + "retrain: {gate: {calibration: {lo: 1}}}\n", []string{"line 2", `"lo"`, `"low"`},
		},
		"gate": {
			ok + "retrain: {gate: {error: 0.6}}\n", []string{"line 2: retrain.gate: ", "error 0.6"},
		},
		"two time zones": {
			ok + "beds: {time_zone: Europe/Paris}\nhttp: {time_zone: UTC}\n",
			[]string{"http.time_zone", `"UTC" is not beds.time_zone, "Europe/Paris"`},
		},
		"zone of pages": {ok + "http: {time_zone: Local}\n", []string{"http.time_zone", `"Local"`}},
		"shift":         {ok + "http: {shifts: [07:00, '7 am']}\n", []string{"http.shifts", `"7 am"`}},
		"label":         {ok + "http: {label: location}\n", []string{"http.label", "fields.location"}},
		"label of all":  {ok + "http: {label: fields.age}\n", []string{"http.label"}},
		"label role":    {ok + "http: {label_roles: [nurse]}\n", []string{"http.label_roles", `"nurse"`}},
		"time zone": {
			ok + "beds: {time_zone: Europe/Nowhere}\n", []string{"beds.time_zone", "Europe/Nowhere"},
		},
		"holiday": {ok + "beds: {holidays: [25.12.2026]}\n", []string{"beds.holidays", "25.12.2026"}},
		"beds":    {ok + "beds: {available: {MED: -1}}\n", []string{"beds.available.MED", "-1"}},
		"bed demand on a topic": {
			"kafka: {brokers: [a:1], topics: {bed_demand: triage.notes}}\n",
			[]string{"kafka.topics.bed_demand", "must differ from kafka.topics.notes"},
		},
		"no window": {
			ok + "retrain: {window_days: 0}\n", []string{"retrain.window_days", "0 is less than 1"},
		},
		"endless window":    {ok + "retrain: {window_days: 1000000}\n", []string{"retrain.window_days", "1000000"}},
		"no admission":      {ok + "retrain: {admission: []}\n", []string{"line 2: retrain.admission: is empty"}},
		"unknown admission": {ok + "retrain: {admission: [kept]}\n", []string{"retrain.admission: ", `"kept"`}},
		"all judged":        {ok + "retrain: {judged: 1}\n", []string{"retrain.judged: ", "judged"}},
		"no topics": {
			ok + "retrain:\n  window_days: 30\n  rank: 0\n", []string{"line 4: retrain.rank: ", "rank 0"},
		},
		"a word for a number": {
			ok + "retrain:\n  rank: ten\n", []string{"line 3: retrain.rank: ", `"ten" is not a whole number`},
		},
		"which of two words": {
			ok + "retrain: {site: ten, rank: ten}\n", []string{`line 2: "ten" is not a whole number`},
		},
		"an item of a list": {ok + "http:\n  tokens:\n  - {name: [a]}\n", []string{
			"line 4: http.tokens[0].name: a list is not text",
		}},
		"a word for a section": {ok + "retrain: {gate: strict}\n", []string{
			`line 2: retrain.gate: "strict" is not a section of keys`,
		}},
		"a section for a list": {ok + "beds:\n  holidays: {a: b}\n", []string{
			"line 3: beds.holidays: a section of keys is not a list",
		}},
		"a word for a duration": {ok + "models: {poll: ten}\n", []string{
			`line 2: models.poll: "ten" is not a duration, such as 30s or 5m`,
		}},
		"a list for a number": {ok + "retrain: {gate: {margin: [1]}}\n", []string{"line 2: retrain.gate.margin: "}},
		"unknown topic": {
			ok + "questionnaires: {topics: {score: x}}\n", []string{"line 2", `"score"`, `"scores"`},
		},
		"an instrument twice": {ok + "questionnaires: {models: {bfi: x, bfi: y}}\n", []string{"line 2", "bfi"}},
		"a list of models":    {ok + "questionnaires: {models: [x]}\n", []string{"line 2"}},
		"no folder": {
			ok + "questionnaires: {models: {bfi: }}\n", []string{"questionnaires.models.bfi", "questionnaire fit"},
		},
		"blank instrument": {ok + "questionnaires: {models: {' ': x}}\n", []string{"questionnaires.models", `" "`}},
		"one group for both": {
			ok + "questionnaires: {group: wardcast}\n", []string{"questionnaires.group", "kafka.group"},
		},
		"no group": {ok + "questionnaires: {group: ''}\n", []string{"questionnaires.group"}},
		"same response topics": {
			ok + "questionnaires: {topics: {responses: x, scores: x, dead_letters: ''}}\n",
			[]string{
				"questionnaires.topics.scores", "questionnaires.topics.responses",
				"questionnaires.topics.dead_letters: is empty",
			},
		},
		"scores to the notes": {
			ok + "questionnaires: {topics: {scores: triage.notes}}\n",
			[]string{"questionnaires.topics.scores", "kafka.topics.notes"},
		},
		"scores to outcomes": {
			ok + "questionnaires: {topics: {scores: triage.outcomes}}\n",
			[]string{"questionnaires.topics.scores", "kafka.topics.outcomes"},
		},
		"a range upside down": {
			ok + "input:\n  ranges:\n    age: [120, 0]\n",
			[]string{"line 4: input.ranges.age: ", "[120 0] is not two numbers"},
		},
		"half a range": {
			ok + "input: {ranges: {age: [120]}}\n", []string{"line 2: input.ranges.age: ", "[120] is not two numbers"},
		},
		"a range of nothing": {
			ok + "input: {ranges: {vitals.pulse: [0, 300]}}\n",
			[]string{"line 2: input.ranges.vitals.pulse: ", "vitals.hr"},
		},
		"a spelling twice": {
			ok + "input: {levels: {sex: {female: [F], male: [f]}}}\n",
			[]string{"line 2: input.levels.sex.male: ", `"f"`, `"female"`},
		},
		"no arrivals": {
			ok + "input: {arrived_at: [2026-01-01, 2025-01-01]}\n",
			[]string{"line 2: input.arrived_at: ", `["2026-01-01" "2025-01-01"] is not two days`},
		},
		"unknown input":        {ok + "input: {range: {}}\n", []string{"line 2", `"range"`, `"ranges"`}},
		"negative explanation": {ok + "scoring: {terms: -1}\n", []string{"scoring"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(write(t, c.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %s", err, want)
				}
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); err == nil {
		t.Error("a missing file is no error")
	}
}

// TestPassword reads passwords from where they are kept.
func TestPassword(t *testing.T) {
	t.Setenv("WARDCAST_TEST_PASSWORD", "hunter2")
	for name, sasl := range map[string]ingest.SASL{
		"file": {PasswordFile: write(t, "hunter2\n")}, "environment": {PasswordEnv: "WARDCAST_TEST_PASSWORD"},
	} {
		c, err := (&Kafka{SASL: sasl}).Connection()
		if err != nil || name == "environment" && c.SASL.Password != ingest.Secret("hunter2") || name == "file" &&
			c.SASL.PasswordFile != sasl.PasswordFile {
			t.Errorf("%s: the password is not where it was written; %v", name, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("kafka: {brokers: [a:1]}\n")
	f.Add("kafka:\n  brokrs: [a:1]\n")
	f.Add("a: &a [*a]\n")
	f.Add("kafka: {brokers: [a:1]}\nmodels: {store: ''}\nquestionnaires: {models: {bfi: x}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := Load(write(t, text)); err == nil && len(c.Kafka.Brokers) == 0 {
			t.Error("accepted without brokers")
		}
	})
}

func TestLoadRetrain(t *testing.T) {
	t.Parallel()
	path := write(t, `kafka: {brokers: [a:1]}
retrain: {site: site.yaml, window_days: 90, admission: [admitted, transferred], min_events: 30, gate: {margin: -1, calibration: {low: 0.9}}}
`)
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Default().Retrain
	want.Site, want.WindowDays, want.MinEvents = filepath.Join(filepath.Dir(path), "site.yaml"), 90, 30
	want.Admission = []msg.Disposition{msg.Admitted, msg.Transferred}
	want.Gate.Margin, want.Gate.Calibration.Low = -1, 0.9
	if d := cmp.Diff(want, c.Retrain); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestRetrainFollowsItsPackages: defaults and limits of the section are those of the packages that follow it.
func TestRetrainFollowsItsPackages(t *testing.T) {
	t.Parallel()
	fit, section := retrain.DefaultFit(), Default().Retrain
	if section.Rank != fit.Rank || section.MinDocuments != fit.MinDocuments || section.MinEvents != fit.MinEvents ||
		section.Judged != retrain.DefaultJudged ||
		time.Duration(section.WindowDays)*24*time.Hour != retrain.DefaultWindow {
		t.Errorf("the defaults of %+v are not those of the packages", section)
	}
	trains := func(change func(*train.Settings)) error {
		s := retrain.DefaultFit()
		change(&s)
		return s.Check(0)
	}
	same := func(key string, change func(*Retrain), follows error) {
		t.Helper()
		r := Default().Retrain
		change(&r)
		got, want := r.Check(), []error(nil)
		if follows != nil {
			want = []error{fmt.Errorf("retrain.%s: %w", key, follows)}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: config says %v, the package that follows it %v", key, got, want)
		}
	}
	for _, n := range []int{-1, 0, 1, 9, 10} {
		same("rank", func(r *Retrain) { r.Rank = n }, trains(func(s *train.Settings) { s.Rank = n }))
		same("min_documents", func(r *Retrain) { r.MinDocuments = n },
			trains(func(s *train.Settings) { s.MinDocuments = n }))
		same("min_events", func(r *Retrain) { r.MinEvents = n }, trains(func(s *train.Settings) { s.MinEvents = n }))
	}
	for _, judged := range []float64{-0.1, 0.1, 1, math.NaN()} {
		same("judged", func(r *Retrain) { r.Judged = judged }, (&retrain.Settings{Judged: judged}).Check())
	}
	for _, admission := range [][]msg.Disposition{{"eaten"}, {msg.Died}, msg.Dispositions()} {
		same("admission", func(r *Retrain) { r.Admission = admission },
			(&retrain.Settings{Admission: admission}).Check())
	}
}

// TestLoadInput: a field that is named replaces its default, the others stay.
func TestLoadInput(t *testing.T) {
	t.Parallel()
	c, err := Load(write(t, "kafka: {brokers: [a:1]}\ninput: {ranges: {vitals.temp_c: [75, 115], age: [-.inf, "+
		".inf]}, levels: {sex: {female: [w]}, site: {Main: [m1]}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default().Input
	want.Ranges["vitals.temp_c"], want.Ranges["age"] = []float64{75, 115}, []float64{math.Inf(-1), math.Inf(1)}
	want.Levels["sex"], want.Levels["site"] = map[string][]string{"female": {"w"}}, map[string][]string{"Main": {"m1"}}
	if d := cmp.Diff(want, c.Input); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestLimit: only this machine without tokens has no limit of requests by default.
func TestLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		http  HTTP
		rate  float64
		burst int
	}{
		"loopback":             {HTTP{Listen: "127.0.0.1:80"}, 0, 0},
		"loopback with tokens": {HTTP{Listen: "127.0.0.1:80", Tokens: []Token{{}}}, 50, 500},
		"network":              {HTTP{Listen: "0.0.0.0:80"}, 50, 500},
		"off":                  {HTTP{Listen: "0.0.0.0:80", RateLimit: RateLimit{PerSecond: new(0.)}}, 0, 0},
		"given":                {HTTP{Listen: "[::1]:80", RateLimit: RateLimit{PerSecond: new(.5), Burst: 3}}, .5, 3},
	} {
		if rate, burst := c.http.Limit(); rate != c.rate || burst != c.burst {
			t.Errorf("%s: %v a second, %d at once", name, rate, burst)
		}
	}
}

// TestExample holds the example that users start from against the defaults that it claims to show.
func TestExample(t *testing.T) {
	t.Parallel()
	got, err := Load(filepath.Join("..", "..", "..", "deploy", "wardcast.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Kafka.Brokers = []string{"127.0.0.1:9092"}
	want.Models.Store = filepath.Join("..", "..", "..", "deploy", "models")
	want.Questionnaires.Models = map[string]string{}
	if d := cmp.Diff(&want, got); d != "" {
		t.Errorf("deploy/wardcast.yaml is not at the defaults (-want +got):\n%s", d)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "wardcast.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{ingest.Compressions(), ingest.Mechanisms()} {
		if list := strings.Join(names, ", ") + "\n"; !strings.Contains(string(text), list) {
			t.Errorf("deploy/wardcast.yaml does not list %s", list)
		}
	}
}

// TestExampleNamesEverySetting compares keys, since a setting that the example lacks has its default too.
func TestExampleNamesEverySetting(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "wardcast.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var visit func(reflect.Type)
	visit = func(s reflect.Type) {
		for f := range s.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if key != "" && key != "-" && !strings.Contains(string(example), key+":") {
				t.Errorf("deploy/wardcast.yaml lacks %s of %v", key, s)
			}
			if f.Type.Kind() == reflect.Struct {
				visit(f.Type)
			}
		}
	}
	visit(reflect.TypeFor[Config]())
}

// TestKubernetesExample reads the two files of the ConfigMap as the pods do.
func TestKubernetesExample(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "deploy", "kubernetes", "overlays", "site")
	c, err := Load(filepath.Join(dir, "wardcast.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = report.ReadSite(filepath.Join(dir, filepath.Base(c.Retrain.Site)))
	if err != nil || c.HTTP.TLS.CertFile == "" || len(c.HTTP.Tokens) == 0 {
		t.Errorf("TLS %v, %d tokens, site.yaml: %v", c.HTTP.TLS, len(c.HTTP.Tokens), err)
	}
}
