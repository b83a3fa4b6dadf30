package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/cli"
)

// shell runs a line of bash in a folder, with the program on the path.
func shell(t *testing.T, dir, line string) string {
	t.Helper()
	c, program, path := exec.CommandContext(t.Context(), "bash", "-c", "set -e; "+line),
		command(t.Context(), t), t.TempDir()
	c.Dir, c.Env = dir, program.Env
	if err := os.Symlink(program.Path, filepath.Join(path, "wardcast")); err != nil {
		t.Fatal(err)
	}
	c.Env = append(c.Env, "PATH="+path+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// leaves returns the commands that do something, by name.
func leaves(t *testing.T) map[string]*kong.Node {
	t.Helper()
	parser, _ := newParser(t)
	found := map[string]*kong.Node{}
	for _, node := range parser.Model.Leaves(true) {
		found[strings.TrimPrefix(node.FullPath(), "wardcast ")] = node
	}
	return found
}

// TestExamples runs the example that ends the help of each command. One example makes the files of the next.
func TestExamples(t *testing.T) {
	long(t)
	t.Parallel()
	commands := leaves(t)
	first := []string{"synth notes", "synth matrix", "synth questionnaire", "train", "questionnaire fit", "bridge keygen"}
	names := slices.Clone(first)
	for name := range commands {
		if !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[len(first):])
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "exported"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"wardcast.yaml": "kafka: {brokers: [127.0.0.1:9092]}\nbridge: {site: Main ED, key_file: bridge.key}\n",
		"adt.hl7":       triageMessage, "exported/adt.hl7": triageMessage,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var again string // a generation that was rolled back
	for _, name := range names {
		example := commands[name].Tag.Get(cli.Example)
		switch name {
		// they take long, run until stopped or need a broker: other tests run them
		case "demo", "serve", "broker", "bench score", "bench stream", "dlq list", "dlq show", "dlq replay",
			"bridge run", "doctor":
			example += " --help"
		case "retrain":
			shell(t, dir, "wardcast synth notes --count 2000 --outcomes outcomes.jsonl > notes.jsonl")
			example = strings.Replace(example, "--model-dir models", "--model-dir nightly", 1)
		case "models diff": // needs another generation, and the examples after it one to go back to
			shell(t, dir, commands["train"].Tag.Get(cli.Example)+" --force --why again")
			again = strings.TrimSpace(shell(t, dir,
				"cat models/champion && wardcast models rollback --model-dir models >/dev/null"))
		case "models promote":
			example = strings.Replace(example, "2026-11-20T02-00-41Z-3f9c1a", again, 1)
		}
		shell(t, dir, example)
	}
}

// TestCompletion completes command lines in bash.
func TestCompletion(t *testing.T) {
	t.Parallel()
	var script, wants strings.Builder
	script.WriteString("source <(wardcast completion bash)\n")
	for line, want := range map[string]string{
		"wardcast pre":                  "predict",
		"wardcast models ''":            "list show card diff promote rollback history keygen sign verify prune",
		"wardcast train --mod":          "--model-dir",
		"wardcast --log-level de":       "debug",
		"wardcast rank --criterion cc":  "ccc",
		"wardcast train --method = smf": "smf-w smf-h",
		"wardcast train -o ''":          "table json",
		"wardcast train --input no":     "", // a file, which bash completes itself
		"wardcast completion z":         "zsh",
		"wardcast __com":                "",
	} {
		fmt.Fprintf(&script, "COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _wardcast\n", line)
		fmt.Fprintf(&script, "echo %s: \"${COMPREPLY[*]}\"\n", line)
		fmt.Fprintf(&wants, "%s: %s\n", strings.ReplaceAll(line, "''", ""), want)
	}
	if diff := cmp.Diff(wants.String(), shell(t, t.TempDir(), script.String())); diff != "" {
		t.Errorf("completed (-want +got):\n%s", diff)
	}
}
