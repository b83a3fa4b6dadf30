package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/textproc"
)

var program = &clitest.Program{Name: "wardcast", Run: runShard}

var (
	command  = program.Command
	wardcast = program.Call
	succeed  = program.Succeed
	fail     = program.Fail
)

func TestMain(m *testing.M) {
	ingesttest.Parallel(6)
	os.Exit(program.Main(m))
}

// long skips a test that runs commands for many seconds, or minutes under the race detector.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("WARDCAST_LONG") == "" {
		t.Skip("it runs commands for long: WARDCAST_LONG=1 runs it")
	}
}

// What the store of the function trained is trained on, and the number of its topics. The model has neither concepts
// nor pieces of words, which every command that loads it would compile again: TestModels, TestDemo and TestGolden have
// them.
const trainingNotes, trainedTopics = 400, 6

var newGenerator = sync.OnceValues(func() (*synth.Generator, error) { return synth.New(synth.Settings{Seed: 1}) })

var trainOnce = sync.OnceValues(func() (*train.Trained, error) {
	g, err := newGenerator()
	if err != nil {
		return nil, err
	}
	rows, err := sample.Rows(g, trainingNotes)
	if err != nil {
		return nil, err
	}
	s := train.Default()
	s.Rank, s.Text.MinDF, s.Alpha, s.Text.NGrams = trainedTopics, 3, 0, 1 // ridge alone keeps all features
	s.Text.Concepts, s.Text.Spelling, s.Pieces = textproc.Builtin().WithoutConcepts(), false, false
	return train.Train(context.Background(), train.Data{Rows: rows, Aux: sample.Aux()}, s,
		train.Job{Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Version: "test"})
})

// trained returns a model store with a small model.
func trained(t *testing.T) string {
	t.Helper()
	models1, err := trainOnce()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "models")
	own := train.Trained{}
	for _, b := range models1.Bundles {
		c := *b // saving changes it
		own.Bundles = append(own.Bundles, &c)
	}
	store := models.OpenDir(dir)
	g, err := own.Save(t.Context(), store, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Promote(t.Context(), models.Change{To: g.Name, By: "test", Why: "the first"}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// synthetic returns generated notes as the command prints them.
func synthetic(t *testing.T, n, format string) string {
	t.Helper()
	return succeed(t, "", "synth", "notes", "-n", n, "--format", format)
}

// broken returns a store whose record of what is served cannot be read.
func broken(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "broken")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "champion"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newParser returns a parser of command lines, and what it fills in.
func newParser(t *testing.T) (*kong.Kong, *grammar) {
	t.Helper()
	g := &grammar{}
	parser, err := kong.New(g, kong.Name("wardcast"), cli.Variables(defaults()))
	if err != nil {
		t.Fatal(err)
	}
	return parser, g
}

// TestHelp asks every command for help.
func TestHelp(t *testing.T) {
	t.Parallel()
	parser, _ := newParser(t)
	for _, leaf := range parser.Model.Leaves(true) {
		path := slices.DeleteFunc(strings.Fields(leaf.Path()),
			func(word string) bool { return strings.HasPrefix(word, "<") || strings.HasPrefix(word, "[") })
		if leaf.Help == "" {
			t.Errorf("%s has no help", leaf.Path())
		}
		for _, group := range leaf.AllFlags(false) {
			for _, f := range group {
				if f.Help == "" {
					t.Errorf("%s --%s has no help", leaf.Path(), f.Name)
				}
			}
		}
		help := succeed(t, "", append(path, "--help")...)
		for _, want := range []string{"Usage: wardcast " + strings.Join(path, " "), leaf.Help} {
			if !strings.Contains(strings.Join(strings.Fields(help), " "), want) {
				t.Errorf("wardcast %s --help prints %q, want %q in it", strings.Join(path, " "), help, want)
			}
		}
		example := leaf.Tag.Get(cli.Example)
		if !strings.Contains(example, "wardcast "+strings.Join(path, " ")) ||
			!strings.HasSuffix(help, "\n\nExample:\n  "+example+"\n") {
			t.Errorf("wardcast %s --help ends with %q, want the example %q", strings.Join(path, " "),
				help[max(0, len(help)-100):], example)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if got := succeed(t, "", "version"); !strings.HasPrefix(got, "wardcast ") || strings.Count(got, "\n") != 1 {
		t.Errorf("version prints %q, want one line that begins with the name", got)
	}
	var v struct{ Version, Go string }
	got := succeed(t, "", "version", "--output", "json")
	if err := json.Unmarshal([]byte(got), &v); err != nil || v.Version != version || v.Go != runtime.Version() {
		t.Errorf("version --output json prints %q, %v", got, err)
	}
}

// TestManualPages writes them: one for the program, and one with all flags for each command.
func TestManualPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man")
	succeed(t, "", "man", "--out", dir, "--date", "2026-11-28")
	top := string(clitest.Read(t, filepath.Join(dir, "wardcast.1")))
	for name, leaf := range leaves(t) {
		name = "wardcast-" + strings.ReplaceAll(name, " ", "-")
		if !strings.Contains(top, "\n.It Xr "+name+" 1\n") {
			t.Errorf("wardcast.1 does not name %s", name)
		}
		page := string(clitest.Read(t, filepath.Join(dir, name+".1")))
		if !strings.HasPrefix(page, ".Dd November 28, 2026\n.Dt "+strings.ToUpper(name)+" 1\n") {
			t.Errorf("%s.1 begins with %q", name, page[:60])
		}
		for _, flag := range leaf.Flags {
			if !flag.Hidden && !strings.Contains(page, "\n.It Fl -"+flag.Name) {
				t.Errorf("%s.1 has no --%s", name, flag.Name)
			}
		}
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	config := clitest.File(t, "wardcast.yaml", "")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no command":          {nil, "\"wardcast --help\" lists the commands"},
		"unknown command":     {[]string{"frobnicate"}, "frobnicate; \"wardcast --help\" lists the commands"},
		"help as a command":   {[]string{"help", "train"}, "\"wardcast --help\" lists the commands"},
		"version as a flag":   {[]string{"--version"}, "\"wardcast --help\" lists the commands"},
		"part of a command":   {[]string{"models"}, "expected one of"},
		"mistyped command":    {[]string{"trian"}, `did you mean "train"?`},
		"mistyped subcommand": {[]string{"models", "lst"}, `did you mean "list"?`},
		"mistyped flag":       {[]string{"train", "--modl-dir", "x"}, `did you mean "--model-dir"?`},
		"unknown flag":        {[]string{"version", "--loud"}, "--loud"},
		"missing flags":       {[]string{"train"}, "--input"},
		"missing argument":    {[]string{"check-config"}, "<config> is missing"},
		"missing choice":      {[]string{"completion"}, "<shell> is missing: one of bash, zsh, fish"},
		"missing value":       {[]string{"predict", "--text"}, "--text needs a value"},
		"hyphen at the front": {
			[]string{"questionnaire", "items", config, "--range", "-9:9"},
			"--range needs a value; one that begins with a hyphen is written --range=-9:9",
		},
		"hyphen at the front of a name": {
			[]string{"predict", "--text", "fell", "--sex", "-F"},
			"--sex needs a value; one that begins with a hyphen is written --sex=-F",
		},
		"a flag for a text": {[]string{"predict", "--text", "--age", "3"}, "--text needs a value"},
		"not a fraction":    {[]string{"predict", "--age", "abc"}, `--age: "abc" is not a number`},
		"underscore":        {[]string{"predict", "--age", "1_0"}, `--age: "1_0" is not a number`},
		"hexadecimal":       {[]string{"predict", "--age", "0x1p4"}, `--age: "0x1p4" is not a number`},
		"hexadecimal count": {[]string{"synth", "notes", "--count", "0x10"}, `--count: "0x10" is not a whole number`},
		"vital with an underscore": {
			[]string{"predict", "--model-dir", ".", "--text", "fell", "--vitals", "hr=1_1_0"}, "hr=1_1_0 is not a number",
		},
		"negative seed": {
			[]string{"synth", "notes", "--seed=-1"}, `--seed: "-1" is not a whole number from 0`,
		},
		"a page as JSON": {
			[]string{"models", "card", "--model-dir", ".", "--html", "--output=json"}, "exclude each other",
		},
		"too many arguments": {[]string{"check-config", config, config}, "unexpected argument"},
		"not one of":         {[]string{"demo", "--output=xml"}, "--output"},
		"not a number": {
			[]string{"factorize", "--input", config, "--rank", "many", "--out", "x"},
			`--rank: "many" is not a whole number`,
		},
		"not a duration": {[]string{"demo", "--duration", "long"}, `--duration: "long" is not a duration`},
		"not a time": {
			[]string{"models", "history", "--model-dir", ".", "--at", "yesterday"},
			`--at: "yesterday" is not a time, such as`,
		},
		"file that is not there": {[]string{"serve", "--config", "nowhere.yaml"}, "nowhere.yaml: no such file\n"},
		"table that is not there": {
			[]string{"questionnaire", "items", "/nowhere.csv"}, "wardcast: /nowhere.csv: no such file\n",
		},
		"notes that are not there": {
			[]string{"evaluate", "--input", "/nowhere.csv"}, "wardcast: /nowhere.csv: no such file",
		},
		"concepts that are not there": {
			[]string{"tokens", "--concepts", "/nowhere.tsv", "--text", "fall"},
			"wardcast: --concepts /nowhere.tsv: no such file",
		},
		"store not there": {
			[]string{"predict", "--model-dir", "/nowhere", "--text", "fall"}, "wardcast: --model-dir /nowhere: not a folder",
		},
		"folder not there": {
			[]string{"questionnaire", "meta", "/nowhere", "--out", "x"}, "wardcast: /nowhere: no such folder\n",
		},
		"store that is no folder": {[]string{"models", "list", "--model-dir", config}, "wardcast.yaml"},
		"log level":               {[]string{"--log-level", "loud", "version"}, "--log-level"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, cli.ExitUsage, c.args, "wardcast: ", c.want)
		})
	}
}

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	good := clitest.File(t, "good.yaml",
		fmt.Sprintf("kafka: {brokers: [127.0.0.1:9092]}\nmodels: {store: %q}\n", trained(t)))
	if got := succeed(t, "", "check-config", good); got != good+" is valid\n" {
		t.Errorf("check-config prints %q", got)
	}
	short := clitest.File(t, "short.yaml",
		fmt.Sprintf("kafka: {brokers: [127.0.0.1:9092], session_timeout: 3s}\nmodels: {store: %q}\n", trained(t)))
	if ran := wardcast(t, "", "check-config", short); ran.Code != 0 || !strings.Contains(ran.Stderr,
		"kafka.session_timeout") || !strings.Contains(ran.Stderr, "group.min.session.timeout.ms") {
		t.Errorf("check-config of a short session: %+v", ran)
	}
	fresh := clitest.File(t, "fresh.yaml", "kafka: {brokers: [127.0.0.1:9092]}\nmodels: {store: .}\n")
	if ran := wardcast(t, "", "check-config", fresh); ran.Code != 0 || !strings.Contains(ran.Stderr, "no champion") {
		t.Errorf("check-config before the first model: %+v", ran)
	}
	token := clitest.File(t, "board.token", strings.Repeat("0123456789abcdef", 2))
	secret := clitest.File(t, "secret.yaml", fmt.Sprintf("kafka: {brokers: [127.0.0.1:9092]}\nmodels: {store: %q}\n"+
		"http: {tokens: [{name: board, role: viewer, token_file: %q}]}\n", trained(t), token))
	for mode, warns := range map[os.FileMode]bool{0o644: true, 0o640: false} {
		if err := os.Chmod(token, mode); err != nil {
			t.Fatal(err)
		}
		ran := wardcast(t, "", "check-config", secret)
		if ran.Code != 0 || strings.Contains(ran.Stderr, token) != warns {
			t.Errorf("check-config of a token of %v: %+v", mode, ran)
		}
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"unknown key": {
			"kafka:\n  brokers: [127.0.0.1:9092]\n  grup: x\n", []string{"line 3", `"grup"`, `"group"`},
		},
		"unknown key of root": {
			"kafka:\n  brokers: [127.0.0.1:9092]\nmodel: {}\n", []string{"line 3", `"model"`, `"models"`},
		},
		"no brokers": {"", []string{"kafka.brokers"}},
		"wrong type": {
			"kafka: {brokers: [127.0.0.1:9092], session_timeout: soon}\n", []string{"line 1", "soon"},
		},
		"two faults": {
			"kafka: {brokers: [nowhere]}\nlog: {level: loud}\n", []string{"kafka.brokers", "log.level"},
		},
		"unreadable champion": {
			"kafka: {brokers: [127.0.0.1:9092]}\nmodels: {store: '" + broken(t) + "'}\n",
			[]string{"with models.store", "broken"},
		},
		"no such bucket": {
			"kafka: {brokers: [127.0.0.1:9092]}\nmodels: {store: 'ftp://x'}\n", []string{"models.store", "ftp://x"},
		},
		"no file of the site": {
			"kafka: {brokers: [127.0.0.1:9092]}\nretrain: {site: nowhere.yaml}\n",
			[]string{"the site's statements", "nowhere.yaml"},
		},
		"no YAML": {"kafka: [", []string{"bad.yaml"}},
		"unset password": {"kafka: {brokers: [127.0.0.1:9092], sasl: {mechanism: plain, username: u, password_env: " +
			"WARDCAST_TEST_UNSET}}\n", []string{"WARDCAST_TEST_UNSET"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, cli.ExitFailed, []string{"check-config", clitest.File(t, "bad.yaml", c.text)}, c.want...)
		})
	}
}
