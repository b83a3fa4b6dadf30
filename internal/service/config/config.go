// Package config reads the YAML file of a deployment strictly: an unknown key is an error that names it, its line and
// the nearest known key. Every key has a default except the brokers' addresses.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/reload"
	"github.com/wardcast/wardcast/models/gate"
)

// Config is the whole file.
type Config struct {
	Kafka          Kafka          `yaml:"kafka"`
	Models         Models         `yaml:"models"`
	Scoring        Scoring        `yaml:"scoring"`
	Input          intake.Rules   `yaml:"input"` // which values of a note count
	Predictions    Predictions    `yaml:"predictions"`
	Shadow         Shadow         `yaml:"shadow"`
	Retrain        Retrain        `yaml:"retrain"`
	Beds           Beds           `yaml:"beds"`
	Questionnaires Questionnaires `yaml:"questionnaires"`
	HTTP           HTTP           `yaml:"http"`
	Traces         Traces         `yaml:"traces"`
	Bridge         Bridge         `yaml:"bridge"`
	Log            Log            `yaml:"log"`
}

// Kafka says where notes come from and where predictions go.
type Kafka struct {
	Brokers        []string      `yaml:"brokers"` // host:port, at least one
	Group          string        `yaml:"group"`
	Topics         Topics        `yaml:"topics"`
	Compression    string        `yaml:"compression"`     // of predictions: one of ingest.Compressions
	SessionTimeout time.Duration `yaml:"session_timeout"` // 1 s to 10 s; then the partitions of a killed scorer move
	// ReadyAfterStall is how long reading, answering or rejoining may fail before the scorer is not ready.
	ReadyAfterStall time.Duration `yaml:"ready_after_stall"`
	TLS             ingest.TLS    `yaml:"tls"`
	SASL            ingest.SASL   `yaml:"sasl"`
}

// Topics names the KafkaTopics of triage.
type Topics struct {
	Notes       string `yaml:"notes"`
	Outcomes    string `yaml:"outcomes"`
	Predictions string `yaml:"predictions"`
	DeadLetters string `yaml:"dead_letters"`
	Models      string `yaml:"models"`     // compacted: the champion of each complaint
	Shadow      string `yaml:"shadow"`     // predictions of a challenger
	BedDemand   string `yaml:"bed_demand"` // compacted: the latest forecast of each ward and horizon
}

// Models says where the models are.
type Models struct {
	Store string        `yaml:"store" file:"other"` // a directory or bucket (s3://…, gs://…); "" if no notes are scored
	Poll  time.Duration `yaml:"poll"`               // how often to look for new champions and models of questionnaires
	// TrustedKeys are files of public keys. One of them must have signed what is served; none means no check.
	TrustedKeys []string `yaml:"trusted_keys" file:"other"`
	SigningKey  string   `yaml:"signing_key" file:"secret"` // signs what is trained, promoted and rolled back to
}

// Scoring says how detailed an explanation is.
type Scoring struct {
	Topics   int    `yaml:"topics"`   // topics named; 0 names all
	Terms    int    `yaml:"terms"`    // terms named per topic, and items per factor of a questionnaire; 0 names all
	Words    int    `yaml:"words"`    // single words named; 0 names all
	Evidence int    `yaml:"evidence"` // number of parts of a note named; 0 names all
	Source   string `yaml:"source"`   // ce_source of predictions and scores
}

// Predictions says what is predicted.
type Predictions struct {
	// Class is the outcome that models of several outcomes explain, if they know it; otherwise, and if "", the most
	// probable one of each note. At least one champion must know it.
	Class string `yaml:"class"`
}

// LatestChallenger is the Shadow.Generation of the newest generation never served, unless the served one is newer.
const LatestChallenger = "latest"

// Shadow says which challenger also scores the stream, only for comparison.
type Shadow struct {
	Generation string `yaml:"generation"` // of the model store, or LatestChallenger; "" for none
}

// Questionnaires says which responses to questionnaires are scored. Connection, timeout and compression are Kafka's.
type Questionnaires struct {
	// Models maps an instrument, as named in responses, to the output folder of `wardcast questionnaire fit`.
	Models map[string]string `yaml:"models" file:"other"`
	Group  string            `yaml:"group"`
	Topics ResponseTopics    `yaml:"topics"`
}

// ResponseTopics names the KafkaTopics of questionnaires.
type ResponseTopics struct {
	Responses   string `yaml:"responses"`
	Scores      string `yaml:"scores"`
	DeadLetters string `yaml:"dead_letters"`
}

// Log says what is logged.
type Log struct {
	Level string `yaml:"level"` // debug, info, warn, error
}

// TopicUse is what scoring needs of a KafkaTopic.
type TopicUse struct {
	ingest.Topic
	Feeds       string // KafkaTopic of dead letters of this one, which takes larger messages
	Keep        int    // days that retraining looks back, 0 if it does not read it
	Beds        bool   // the bed demand looks back too
	Read, Write bool
	Replays     bool // dead letters are read from it, or sent back to it: without that the rest of serve works
}

// TopicUses lists the KafkaTopics that scoring reads or writes.
func (c *Config) TopicUses() (all []TopicUse) {
	const letters = ingest.DeadLetterMaxMessageBytes
	if t := &c.Kafka.Topics; c.Models.Store != "" {
		all = append(all,
			TopicUse{
				Topic: ingest.Topic{Name: t.Notes}, Feeds: t.DeadLetters, Keep: c.Retrain.WindowDays, Read: true, Replays: true,
			},
			TopicUse{Topic: ingest.Topic{Name: t.Outcomes}, Keep: c.Retrain.WindowDays, Beds: true, Read: true},
			TopicUse{Topic: ingest.Topic{Name: t.Predictions}, Beds: true, Read: true, Write: true},
			TopicUse{Topic: ingest.Topic{Name: t.DeadLetters, MaxMessageBytes: letters}, Write: true, Replays: true},
			TopicUse{Topic: ingest.Topic{Name: t.Models, Partitions: 1, Compacted: true}, Read: true, Write: true},
			TopicUse{Topic: ingest.Topic{Name: t.BedDemand, Partitions: 1, Compacted: true}, Read: true, Write: true})
		if c.Shadow.Generation != "" {
			all = append(all, TopicUse{Topic: ingest.Topic{Name: t.Shadow}, Write: true})
		}
	}
	if t := &c.Questionnaires.Topics; len(c.Questionnaires.Models) > 0 {
		all = append(all,
			TopicUse{Topic: ingest.Topic{Name: t.Responses}, Feeds: t.DeadLetters, Read: true, Replays: true},
			TopicUse{Topic: ingest.Topic{Name: t.Scores}, Write: true},
			TopicUse{Topic: ingest.Topic{Name: t.DeadLetters, MaxMessageBytes: letters}, Write: true, Replays: true})
	}
	return all
}

// KafkaTopics returns the names of the KafkaTopics that scoring reads or writes.
func (c *Config) KafkaTopics() []string {
	return lists.Map(c.TopicUses(), func(t TopicUse) string { return t.Name })
}

// Default returns the configuration of an empty file.
func Default() Config {
	return Config{
		Kafka: Kafka{
			Group: "wardcast", Compression: "snappy", SessionTimeout: ingest.DefaultSessionTimeout,
			ReadyAfterStall: ingest.DefaultReadyAfterStall,
			Topics: Topics{
				Notes: "triage.notes", Outcomes: "triage.outcomes",
				Predictions: "triage.predictions", DeadLetters: "triage.notes.dlq", Models: "triage.models",
				Shadow: "triage.predictions.shadow", BedDemand: "triage.bed-demand",
			},
		},
		Models:  Models{Store: "models", TrustedKeys: []string{}, Poll: 5 * time.Second},
		Scoring: Scoring{Topics: 2, Terms: 3, Words: 3, Evidence: 8, Source: "/wardcast"},
		Input:   intake.Default(),
		Retrain: Retrain{
			WindowDays: 365, Judged: 0.25, Admission: []msg.Disposition{msg.Admitted}, Rank: 50, MinDocuments: 200,
			MinEvents: 50, Gate: gate.Default(),
		},
		Beds: Beds{TimeZone: "UTC", Holidays: []string{}, Available: map[string]int{}},
		Questionnaires: Questionnaires{
			Group: "wardcast-questionnaires",
			Topics: ResponseTopics{
				Responses: "questionnaire.responses", Scores: "questionnaire.scores",
				DeadLetters: "questionnaire.responses.dlq",
			},
		},
		HTTP: HTTP{
			Listen: "127.0.0.1:8080", LabelRoles: []string{Viewer, Operator}, Shifts: []string{}, TimeZone: "UTC",
			Connections: 5000, TrustedProxies: []string{},
		},
		Traces: Traces{Ratio: 0.01},
		Bridge: defaultBridge(),
		Log:    Log{Level: "info"},
	}
}

const maxConfig = 1 << 20 // bytes of a file

// Load reads, completes and checks the file. Paths in it are relative to its folder. It reports all unknown keys, or
// all wrong values, at once.
func Load(path string) (*Config, error) {
	data, err := files.Read(path, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	c := Default()
	c.Beds.TimeZone, c.HTTP.TimeZone = "", "" // if one is given, it stands for both
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading configuration %s: %w", path, explain(err, values(data)))
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading configuration %s: more than one document", path)
	}
	paths(reflect.ValueOf(&c).Elem(), "", func(_, p string) string {
		if filepath.IsAbs(p) || strings.Contains(p, "://") {
			return p
		}
		return filepath.Join(filepath.Dir(path), p)
	})
	zone := cmp.Or(c.Beds.TimeZone, c.HTTP.TimeZone, "UTC")
	c.Beds.TimeZone, c.HTTP.TimeZone = zone, cmp.Or(c.HTTP.TimeZone, zone)
	if errs := c.check(); errs != nil {
		return nil, fmt.Errorf("checking configuration %s:\n%w", path, errors.Join(located(errs, values(data))...))
	}
	return &c, nil
}

// paths replaces each path in v by what each returns of it. The tag file of a field says what its path, or each of its
// paths, leads to: a secret, a certificate, or other.
func paths(v reflect.Value, to string, each func(to, path string) string) {
	switch v.Kind() {
	case reflect.Struct:
		for f, inner := range v.Fields() {
			paths(inner, f.Tag.Get("file"), each)
		}
	case reflect.Slice:
		for i := range v.Len() {
			paths(v.Index(i), to, each)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if path := v.MapIndex(key).String(); to != "" && path != "" {
				v.SetMapIndex(key, reflect.ValueOf(each(to, path)))
			}
		}
	case reflect.String:
		if path := v.String(); to != "" && path != "" {
			v.SetString(each(to, path))
		}
	}
}

func (c *Config) files(kind string) (all []string) {
	paths(reflect.ValueOf(c).Elem(), "", func(to, path string) string {
		if to == kind {
			all = append(all, path)
		}
		return path
	})
	return all
}

// Secrets returns the files that only the service may read: passwords, tokens and private keys.
func (c *Config) Secrets() []string { return c.files("secret") }

// Certificates returns the files of certificates that expire.
func (c *Config) Certificates() []string { return c.files("certificate") }

// OpenToOthers reports whether others than the owner and the group can use a file or folder.
func OpenToOthers(path string) (mode fs.FileMode, others bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false, err
	}
	mode = info.Mode().Perm()
	return mode, mode&0o007 != 0, nil
}

// Connection returns how to reach the brokers. It reads a password_env now; a password_file is read at each login.
func (k *Kafka) Connection() (ingest.Connection, error) {
	c := ingest.Connection{Brokers: k.Brokers, TLS: k.TLS, SASL: k.SASL}
	if k.SASL.PasswordEnv == "" {
		return c, nil
	}
	password, err := secretEnv("kafka.sasl.password_env", k.SASL.PasswordEnv)
	c.SASL.Password = ingest.Secret(password)
	return c, err
}

// secretFile reads the file that a key names, without its line ending.
func secretFile(key, path string) (string, error) {
	secret, err := reload.Secret(path)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", key, err)
	}
	return secret, nil
}

// secretEnv reads the environment variable that a key names.
func secretEnv(key, name string) (string, error) {
	value, set := os.LookupEnv(name)
	if !set {
		return "", fmt.Errorf("%s: the environment variable %s is not set", key, name)
	}
	return value, nil
}

// faults are errors that begin with their key.
type faults []error

// add adds an error about a key, if it is broken.
func (f *faults) add(broken bool, key, format string, args ...any) {
	if broken {
		*f = append(*f, fmt.Errorf("%s: "+format, append([]any{key}, args...)...))
	}
}

func (c *Config) check() faults {
	var bad faults
	k, q, scoring := &c.Kafka, &c.Questionnaires, &c.Scoring
	for _, err := range (ingest.Connection{Brokers: k.Brokers, TLS: k.TLS, SASL: k.SASL}).Check() {
		bad = append(bad, fmt.Errorf("kafka.%w", err))
	}
	onePassword := (k.SASL.PasswordFile == "") != (k.SASL.PasswordEnv == "")
	bad.add(k.SASL.Mechanism != "" && (k.SASL.Username == "" || !onePassword), "kafka.sasl",
		"needs username, and either password_file or password_env")
	bad.add(k.SessionTimeout < ingest.MinSessionTimeout || k.SessionTimeout > ingest.MaxSessionTimeout,
		"kafka.session_timeout", "%v is not between %v and %v", k.SessionTimeout, ingest.MinSessionTimeout,
		ingest.MaxSessionTimeout)
	bad.add(k.ReadyAfterStall <= 0, "kafka.ready_after_stall", "it must be positive")
	const notOneOf = "%q is not one of %s"
	bad.add(!slices.Contains(ingest.Compressions(), k.Compression), "kafka.compression", notOneOf, k.Compression,
		strings.Join(ingest.Compressions(), ", "))
	levels := []string{"debug", "info", "warn", "error"}
	bad.add(!slices.Contains(levels, c.Log.Level), "log.level", notOneOf, c.Log.Level, strings.Join(levels, ", "))
	if c.Models.Store == "" {
		const noNotes = "is set, but models.store is empty: no notes are scored"
		bad.add(len(q.Models) == 0, "models.store",
			"is empty, and so is questionnaires.models: there is nothing to score")
		bad.add(c.Predictions.Class != "", "predictions.class", noNotes)
		bad.add(c.Shadow.Generation != "", "shadow.generation", noNotes)
	}
	bad.add(c.Models.Poll <= 0, "models.poll", "%v is not positive", c.Models.Poll)
	bad.add(min(scoring.Topics, scoring.Terms, scoring.Words, scoring.Evidence) < 0, "scoring",
		"topics, terms, words and evidence must not be negative")
	bad.add(scoring.Source == "", "scoring.source", "is empty")
	for _, err := range c.Input.Check() {
		bad = append(bad, fmt.Errorf("input.%w", err))
	}
	bad = slices.Concat(bad, c.HTTP.check(), c.Traces.check(), c.Retrain.Check(), c.Beds.check(), c.Bridge.check())
	bad.add(c.HTTP.TimeZone != c.Beds.TimeZone, "http.time_zone", "%q is not beds.time_zone, %q: a site has one clock",
		c.HTTP.TimeZone, c.Beds.TimeZone)
	for _, instrument := range slices.Sorted(maps.Keys(q.Models)) {
		bad.add(strings.TrimSpace(instrument) != instrument || instrument == "", "questionnaires.models",
			"%q is not the name of an instrument", instrument)
		bad.add(q.Models[instrument] == "", "questionnaires.models."+instrument,
			"is empty; give the output folder of `wardcast questionnaire fit`")
	}
	for _, different := range [][][2]string{{
		{"kafka.group", k.Group},
		{"questionnaires.group", q.Group},
	}, {
		{"kafka.topics.notes", k.Topics.Notes},
		{"kafka.topics.outcomes", k.Topics.Outcomes},
		{"kafka.topics.predictions", k.Topics.Predictions},
		{"kafka.topics.dead_letters", k.Topics.DeadLetters},
		{"kafka.topics.models", k.Topics.Models},
		{"kafka.topics.shadow", k.Topics.Shadow},
		{"kafka.topics.bed_demand", k.Topics.BedDemand},
		{"bridge.topics.dead_letters", c.Bridge.Topics.DeadLetters},
		{"bridge.topics.raw", c.Bridge.Topics.Raw},
		{"bridge.topics.state", c.Bridge.Topics.State},
		{"bridge.topics.identifiers", c.Bridge.Topics.Identifiers},
		{"questionnaires.topics.responses", q.Topics.Responses},
		{"questionnaires.topics.scores", q.Topics.Scores},
		{"questionnaires.topics.dead_letters", q.Topics.DeadLetters},
	}} {
		used := map[string]string{} // the keys
		for _, of := range different {
			key, name := of[0], of[1]
			other, taken := used[name]
			bad.add(name == "", key, "is empty")
			bad.add(name != "" && taken, key, "must differ from %s", other)
			used[name] = key
		}
	}
	return bad
}

// Beds says for which site bed demand is forecast.
type Beds struct {
	// Site names the department in forecasts; predictions and notes that name another one are skipped. "" means all.
	Site     string `yaml:"site"`
	TimeZone string `yaml:"time_zone"` // of the wall clock, such as Europe/London
	// Holidays are dates (2026-12-25), past and future, with fewer or more arrivals than their weekday.
	Holidays []string `yaml:"holidays"`
	// Available are beds by ward, "_all" for all wards: forecasts report the probability that more are needed.
	Available map[string]int `yaml:"available"`
}

// check returns the errors of the section, each with its key.
func (b *Beds) check() []error {
	var bad faults
	bad.add(!isZone(b.TimeZone), "beds.time_zone", notZone, b.TimeZone)
	for _, day := range b.Holidays {
		_, err := time.Parse(time.DateOnly, day)
		bad.add(err != nil, "beds.holidays", "%q is not a date, for example 2026-12-25", day)
	}
	for _, ward := range slices.Sorted(maps.Keys(b.Available)) {
		n := b.Available[ward]
		bad.add(n < 0 || n > maxBeds, "beds.available."+ward, "%d is not between 0 and %d", n, maxBeds)
	}
	return bad
}

const notZone = "%q is not a time zone, for example Europe/London"

func isZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local"
}

// maxBeds is more than any hospital has.
const maxBeds = 10_000

// Retrain configures `wardcast retrain` and the gate. These are plain numbers: packages retrain and train, which use
// them, link every solver, and serve reads this section too.
type Retrain struct {
	// Site is the file with the site's statements about its models, for their cards (package report); "" for none.
	Site       string `yaml:"site" file:"other"`
	WindowDays int    `yaml:"window_days"` // before the cut-off, whose notes count
	// share of the notes, the latest ones, on which the gate judges
	Judged       float64           `yaml:"judged"`
	Admission    []msg.Disposition `yaml:"admission"`     // dispositions that count as admitted
	Rank         int               `yaml:"rank"`          // topics
	MinDocuments int               `yaml:"min_documents"` // notes that a complaint needs for a separate model
	MinEvents    int               `yaml:"min_events"`    // notes of each outcome that it needs
	Gate         gate.Settings     `yaml:"gate"`
}

const (
	maxWindowDays = 36500 // a century; time.Duration does not hold much more
	leastEvents   = 10    // so that each fold of a cross-validation contains some
)

// Check returns the errors of the section, each with its key, by the limits of packages retrain and train, where 0 and
// an empty list mean the defaults.
func (r *Retrain) Check() []error {
	var bad faults
	bad.add(r.WindowDays < 1, "retrain.window_days", "%d is less than 1", r.WindowDays)
	bad.add(r.WindowDays > maxWindowDays, "retrain.window_days", "%d is more than %d", r.WindowDays, maxWindowDays)
	bad.add(r.Judged == 0, "retrain.judged", "is 0; the gate needs notes to judge by")
	bad.add(r.Judged != 0 && !(r.Judged > 0 && r.Judged < 1), "retrain.judged",
		"bad settings: the share of judged notes, %v, is not between 0 and 1", r.Judged)
	bad.add(len(r.Admission) == 0, "retrain.admission", "is empty: name the dispositions that count as admitted")
	err := msg.CheckAdmission(r.Admission)
	bad.add(err != nil, "retrain.admission", "bad settings: %w", err)
	bad.add(r.Rank < 1, "retrain.rank", "settings out of range: rank %d is less than 1", r.Rank)
	bad.add(r.MinDocuments < 1, "retrain.min_documents",
		"settings out of range: min documents %d is less than 1", r.MinDocuments)
	bad.add(r.MinEvents < leastEvents, "retrain.min_events",
		"settings out of range: min events %d is less than %d, for each fold must hold some", r.MinEvents, leastEvents)
	err = r.Gate.Check()
	bad.add(err != nil, "retrain.gate", "%w", err)
	return bad
}
