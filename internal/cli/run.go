package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes other than 0.
const (
	ExitFailed  = 1
	ExitUsage   = 2
	ExitRefused = 3
)

// Process is what stands for the process around a command line, which may be a test.
type Process struct {
	Args     []string // without the name of the program
	In       io.Reader
	Out, Err io.Writer
	// Own is true for a process of the operating system that runs this command line alone: it may change settings of
	// the runtime and of libraries.
	Own bool
}

// Deps is what commands work with.
type Deps struct {
	Process
	Log *slog.Logger
}

// ErrReported ends a command with ExitFailed after it has said why.
var ErrReported = errors.New("reported")

// InterruptedError wraps the error of a command that a signal ended, and tells what that leaves.
type InterruptedError struct {
	Err    error
	Leaves string
}

func (e *InterruptedError) Error() string { return e.Err.Error() + ": " + e.Leaves }

// Unwrap returns the error.
func (e *InterruptedError) Unwrap() error { return e.Err }

// ErrRefused ends a command with ExitRefused after it has said why the gate let nothing through.
var ErrRefused = errors.New("refused")

// UsageError is a mistake on the command line that is found after parsing.
type UsageError struct{ error }

// Usage returns err as a UsageError.
func Usage(err error) UsageError { return UsageError{err} }

// Usagef returns a UsageError in these words.
func Usagef(format string, args ...any) UsageError { return Usage(fmt.Errorf(format, args...)) }

// Unwrap returns the mistake itself.
func (e UsageError) Unwrap() error { return e.error }

// Logging is the flag for the level of the log.
type Logging struct {
	LogLevel string `help:"Log debug, info, warn or error lines and above." enum:"debug,info,warn,error" default:"info" env:"WARDCAST_LOG_LEVEL"`
}

// Program is a command line.
type Program struct {
	Name, Description string
	// Grammar is a pointer to a struct for kong. Each command has Run(context.Context, *Deps) error, or with fewer
	// parameters.
	Grammar any
	// Logging points into Grammar.
	Logging *Logging
	// Vars are values for help texts and flags, from the packages that own them: texts, numbers, or lists of texts.
	Vars map[string]any
	// Usage lists the sentinels of errors that are mistakes on the command line.
	Usage []error
}

// Main runs the command line of this process and returns its exit code. The first signal ends the context that run
// gets; a second one has its default effect.
func Main(run func(context.Context, *Process) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, &Process{Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Own: true})
}

// Run runs a command line and returns its exit code. It uses nothing of the process but what it is given, so that
// several may run at a time.
func (p *Program) Run(ctx context.Context, process *Process) int {
	fail := func(err error, code int) int {
		_, _ = fmt.Fprintf(process.Err, "%s: %v\n", p.Name, err) // nobody is left to hear of it
		return code
	}
	done := false // after --help
	parser, err := kong.New(p.Grammar, slices.Concat(lists, []kong.Option{
		kong.Name(p.Name), Variables(p.Vars), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Help(help),
		kong.Description(p.Description), kong.Writers(process.Out, process.Err), kong.Exit(func(int) { done = true }),
	})...)
	if err != nil {
		return fail(err, ExitFailed)
	}
	command, err := parser.Parse(process.Args)
	if done {
		return 0
	}
	if err == nil {
		err = refuseRepeated(command)
	}
	if err != nil {
		return fail(plain(withHelpHint(withFileHint(err), p.Name)), ExitUsage)
	}
	log, err := NewLogger(process.Err, p.Logging.LogLevel)
	if err != nil {
		return fail(err, ExitUsage)
	}
	command.BindTo(ctx, (*context.Context)(nil))
	switch err := command.Run(&Deps{Process: *process, Log: log}); {
	case err == nil:
		return 0
	case errors.Is(err, ErrReported):
		return ExitFailed
	case errors.Is(err, ErrRefused):
		return ExitRefused
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		cause := context.Cause(ctx) // name the signal, not the loop that it ended
		if i, ok := errors.AsType[*InterruptedError](err); ok {
			cause = fmt.Errorf("%w: %s", cause, i.Leaves)
		}
		return fail(cause, ExitFailed)
	case p.usage(err):
		return fail(err, ExitUsage)
	default:
		return fail(err, ExitFailed)
	}
}

// Variables returns an option that puts the values of variables into the tags of a grammar. kong.Vars do that too, but
// kong expands all variables anew for each of hundreds of flags, which takes longer than most commands.
func Variables(vars map[string]any) kong.Option {
	var pairs []string
	for name, value := range vars {
		text := fmt.Sprint(value)
		if list, ok := value.([]string); ok {
			text = strings.Join(list, ",")
		}
		pairs = append(pairs, "${"+name+"}", text)
	}
	replace := strings.NewReplacer(pairs...).Replace
	return kong.PostBuild(func(k *kong.Kong) error {
		return kong.Visit(k.Model, func(part kong.Visitable, next kong.Next) error {
			switch part := part.(type) {
			case *kong.Node:
				part.Help = replace(part.Help)
			case *kong.Flag:
				part.PlaceHolder = replace(part.PlaceHolder)
			case *kong.Value:
				part.Help, part.Default, part.Enum = replace(part.Help), replace(part.Default), replace(part.Enum)
			}
			return next(nil)
		})
	})
}

// withHelpHint adds where the commands are listed to an error before any command is named, as in "help" and
// "--version", unless the error suggests what was meant.
func withHelpHint(err error, program string) error {
	parsing, ok := errors.AsType[*kong.ParseError](err)
	if !ok || parsing.Context.Command() != "" || strings.Contains(err.Error(), "did you mean") {
		return err
	}
	return fmt.Errorf("%w; \"%s --help\" lists the commands", err, program)
}

// withFileHint adds to an error of --output how to write a file, which is what a user who gave it a path meant to do.
func withFileHint(err error) error {
	parsing, ok := errors.AsType[*kong.ParseError](err)
	if !ok || !errors.Is(err, errFormat) {
		return err
	}
	for _, f := range parsing.Context.Flags() {
		if f.Name == "out" {
			return fmt.Errorf("%w; to write a file use --out", errFormat)
		}
	}
	return fmt.Errorf("%w; to write a file redirect standard output, as in > FILE", errFormat)
}

// jargon is what kong says of values and files that are missing or of another kind, as regular expressions, and the
// same in plain words.
var jargon = []struct {
	kong, plain string
}{
	{`(--[\w-]+): expected \w+ value but got "(-[\d.][^"]*)".*`, "$1 needs a value; one that begins with a hyphen is " +
		"written $1=$2"},
	{`: (expected \w+ value but got|missing value,).*`, " needs a value"},
	{`^<folder>.*: stat (.*): no such file or directory`, "$1: no such folder"},
	{`^<.*>.*: stat (.*): no such file or directory`, "$1: no such file"},
	{`: stat (.*): no such file or directory`, ": $1: no such file"},
	{`expected a valid \d+ bit uint but got ("[^"]*").*`, "$1 is not a whole number from 0"},
	{`expected an? (?:valid \d+ bit )?int but got ("[^"]*").*`, "$1 is not a whole number"},
	{`expected a float but got ("[^"]*").*`, "$1 is not a number"},
	{`parsing time ("[^"]*") as .*`, "$1 is not a time, such as 2026-05-07T03:14:00Z"},
	{`expected duration but got ("[^"]*").*`, "$1 is not a duration, such as 30s or 5m"},
	{`^expected "(<.*)"`, "$1 is missing"},
}

// plain returns an error of kong in plain words, with the values that a missing argument may have.
func plain(err error) error {
	parsing, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return err
	}
	text := err.Error()
	for _, j := range jargon {
		text = regexp.MustCompile(j.kong).ReplaceAllString(text, j.plain)
	}
	if node := parsing.Context.Selected(); node != nil {
		for _, p := range node.Positional {
			if values := enum(p); values != nil && text == "<"+p.Name+"> is missing" {
				text += ": one of " + strings.Join(values, ", ")
			}
		}
	}
	return errors.New(text)
}

// Example is the tag of a command in the grammar that holds a command line to try. Help ends with it.
const Example = "example"

// help prints the help of a command, and its example.
func help(options kong.HelpOptions, command *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, command); err != nil {
		return err
	}
	node := command.Selected()
	if node == nil {
		node = command.Model.Node
	}
	for len(node.Children) > 0 { // a group has the example of its first command
		node = node.Children[0]
	}
	if !node.Tag.Has(Example) {
		return nil
	}
	_, err := fmt.Fprintf(command.Stdout, "\nExample:\n  %s\n", node.Tag.Get(Example))
	return err
}

func (p *Program) usage(err error) bool {
	is := func(sentinel error) bool { return errors.Is(err, sentinel) }
	return errors.As(err, new(UsageError)) || slices.ContainsFunc(p.Usage, is)
}

// refuseRepeated returns an error for a second file after a flag that takes one, because --input of other commands may
// be repeated. For other flags the last value counts.
func refuseRepeated(command *kong.Context) error {
	seen := map[*kong.Flag]bool{}
	for _, p := range command.Path {
		if f := p.Flag; f != nil && !f.IsCumulative() && (f.Tag.Type == "existingfile" || f.PlaceHolder == "FILE") {
			if seen[f] {
				return fmt.Errorf("--%s takes one file", f.Name)
			}
			seen[f] = true
		}
	}
	return nil
}
