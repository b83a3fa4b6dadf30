package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/wardcast/wardcast/internal/cli"
)

// tag and commit are set by the linker for a release, whose build does not look at the repository.
var tag, commit string

// version is that of a release, or of the module that `go install` took, or of the repository's commit.
var version = func() string {
	if tag != "" {
		return tag
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}()

type versionCmd struct{ cli.Output }

func (c *versionCmd) Run(d *cli.Deps) error {
	v := struct {
		Version  string `json:"version"`
		Commit   string `json:"commit"`
		Go       string `json:"go"`
		Modified bool   `json:"modified"`
	}{Version: version, Commit: commit, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	if c.JSON() {
		return json.NewEncoder(d.Out).Encode(v)
	}
	text := fmt.Sprintf("wardcast %s %s", v.Version, v.Go)
	if v.Commit != "" {
		text += " " + v.Commit
	}
	_, err := fmt.Fprintln(d.Out, text)
	return err
}
