package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Completion is the command completion, which prints a shell's script. It needs the command Complete.
type Completion struct {
	Shell string `arg:"" help:"Shell that the script is for: ${enum}." enum:"bash,zsh,fish"`
}

// scripts ask the program itself (%[1]s) for completions. If there are none, shells complete files.
var scripts = map[string]string{
	"bash": `_%[1]s() {
  local IFS=$'\n'
  COMPREPLY=($(%[1]s __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}"))
}
complete -o default -F _%[1]s %[1]s
`,
	"zsh": `#compdef %[1]s
_%[1]s() {
  local -a found=(${(f)"$(%[1]s __complete -- "${(@)words[2,CURRENT]}")"})
  if (( $#found )); then compadd -a found; else _files; fi
}
compdef _%[1]s %[1]s
`,
	"fish": `function _%[1]s
  set -l found (%[1]s __complete -- (commandline -opc)[2..] (commandline -ct))
  if set -q found[1]; printf '%%s\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c %[1]s -f -a '(_%[1]s)'
`,
}

// Run prints the script.
func (c *Completion) Run(d *Deps, command *kong.Context) error {
	_, err := fmt.Fprintf(d.Out, scripts[c.Shell], command.Model.Name)
	return err
}

// Complete is the hidden command __complete, which the scripts of Completion call. It prints the completions of the
// last word of a command line, one per line.
type Complete struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints the candidates that begin with the last word.
func (c *Complete) Run(d *Deps, command *kong.Context) error {
	last := ""
	if n := len(c.Words); n > 0 && c.Words[n-1] != "=" {
		last = c.Words[n-1]
	}
	before := c.Words[:max(0, len(c.Words)-1)]
	before = slices.DeleteFunc(before, func(w string) bool { return w == "=" }) // bash splits --flag=value
	for _, w := range candidates(command.Model.Node, before, last) {
		if strings.HasPrefix(w, last) {
			if _, err := fmt.Fprintln(d.Out, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// candidates returns the words that can follow before: values of a flag, flags, commands, or values of an argument. It
// returns none for free values such as file names.
func candidates(node *kong.Node, before []string, last string) (found []string) {
	var waiting *kong.Flag // the flag whose value comes next
	for _, w := range before {
		switch {
		case waiting != nil:
			waiting = nil
		case strings.HasPrefix(w, "-"):
			waiting = flag(node, w)
		default:
			if i := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == w }); i >= 0 {
				node = node.Children[i]
			}
		}
	}
	switch {
	case waiting != nil:
		return enum(waiting.Value)
	case strings.HasPrefix(last, "-"):
		for _, f := range slices.Concat(node.AllFlags(true)...) {
			found = append(found, "--"+f.Name)
		}
		return found
	}
	for _, child := range node.Children {
		if !child.Hidden {
			found = append(found, child.Name)
		}
	}
	for _, p := range node.Positional {
		found = append(found, enum(p)...)
	}
	return found
}

// flag returns the flag that word names if it requires a value, otherwise nil.
func flag(node *kong.Node, word string) *kong.Flag {
	for _, f := range slices.Concat(node.AllFlags(false)...) {
		if !f.IsBool() && (word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short)) {
			return f
		}
	}
	return nil
}

// enum returns the allowed values, or nil if any value is allowed.
func enum(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return slices.DeleteFunc(v.EnumSlice(), func(s string) bool { return s == "" })
}
