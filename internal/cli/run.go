package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/wording"
)

// Exit codes other than 0.
const (
	ExitFailed  = 1
	ExitUsage   = 2
	ExitRefused = 3
)

// Process is the environment of a command line: the operating system's process, or a test.
type Process struct {
	Args     []string // without the name of the program
	In       io.Reader
	Out, Err io.Writer
	// Own is true if the process runs this command line alone, so that it may change settings of the runtime and of
	// libraries.
	Own bool
}

// Deps is what commands use.
type Deps struct {
	Process
	Log *slog.Logger
}

// Await says on a terminal what the command reads from standard input, which would otherwise look as if it hung.
func (d *Deps) Await(what string) {
	if Terminal(d.In) {
		_, _ = fmt.Fprintf(d.Err, "Type %s. End with Ctrl-D.\n", what) // no data
	}
}

// ErrReported ends a command with ExitFailed if it has already reported the reason.
var ErrReported = errors.New("reported")

// InterruptedError wraps the error of a command that a signal ended. Leaves describes the state that it leaves behind.
type InterruptedError struct {
	Err    error
	Leaves string
}

func (e *InterruptedError) Error() string { return e.Err.Error() + ": " + e.Leaves }

// Unwrap returns the error.
func (e *InterruptedError) Unwrap() error { return e.Err }

// ErrRefused ends a command with ExitRefused if it has already reported why the gate refused the models.
var ErrRefused = errors.New("refused")

// UsageError is a mistake on the command line that is found after parsing.
type UsageError struct{ error }

// Usage returns err as a UsageError.
func Usage(err error) UsageError { return UsageError{err} }

// Usagef returns a UsageError with this message.
func Usagef(format string, args ...any) UsageError { return Usage(fmt.Errorf(format, args...)) }

// Unwrap returns the wrapped error.
func (e UsageError) Unwrap() error { return e.error }

// Logging is the flag that sets the log level.
type Logging struct {
	LogLevel string `help:"Log debug, info, warn or error lines and above." enum:"debug,info,warn,error" default:"info" env:"WARDCAST_LOG_LEVEL"`
}

// Program is a command line.
type Program struct {
	Name, Description string
	// Grammar is a pointer to a struct for kong. Commands have the method Run(context.Context, *Deps) error, or one
	// with fewer parameters. Logging is embedded.
	Grammar any
	Vars    map[string]any // values for the tags of Grammar: strings, numbers, or lists of strings
	Usage   []error        // errors that are mistakes on the command line
}

// Main runs the command line of this process and returns its exit code. The first signal cancels the context of run; a
// second one has its default effect. SIGHUP, of a terminal that is closed, stays ignored where nohup ignores it.
func Main(run func(context.Context, *Process) int) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) {
		signals = signals[:2]
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, &Process{Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Own: true})
}

// Run runs a command line and returns its exit code. It keeps no global state, so several can run at the same time.
func (p *Program) Run(ctx context.Context, process *Process) int {
	fail := func(err error, code int) int {
		// It may quote files. There is nowhere to report a failure.
		_, _ = fmt.Fprintf(process.Err, "%s: %s\n", p.Name, wording.VisibleLines(err.Error()))
		return code
	}
	done := false // after --help
	grammar := p.narrowed(process.Args)
	parser, err := kong.New(grammar, slices.Concat(types, []kong.Option{
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
		return fail(plain(err, p.Name), ExitUsage)
	}
	level := reflect.ValueOf(grammar).Elem().FieldByName("LogLevel").String()
	log, err := NewLogger(process.Err, level)
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
		cause := context.Cause(ctx) // names the signal, unlike err
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

// narrowed returns a grammar of the command that the arguments begin with alone, unless that command is of this package
// and looks at all others: kong takes longer over hundreds of flags than most commands run.
func (p *Program) narrowed(args []string) any {
	if len(args) == 0 {
		return p.Grammar
	}
	whole := reflect.TypeOf(p.Grammar).Elem()
	var fields []reflect.StructField
	found := false
	for field := range whole.Fields() {
		if _, command := field.Tag.Lookup("cmd"); command {
			if !strings.EqualFold(field.Name, strings.ReplaceAll(args[0], "-", "")) {
				continue
			}
			found = field.Type.PkgPath() != reflect.TypeFor[Completion]().PkgPath()
		}
		fields = append(fields, field)
	}
	if !found {
		return p.Grammar
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// Variables returns an option that expands variables in the tags of a grammar. kong.Vars expands all of them again for
// each of hundreds of flags, which takes longer than most commands.
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

// jargon maps kong's messages about missing or malformed values and files, as regular expressions, to plain words.
var jargon = []struct {
	kong, plain string
}{
	{`(--[\w-]+): expected \w+ value but got "(-[^-"][^"]*)".*`, "$1 needs a value; one that begins with a hyphen is " +
		"written $1=$2"},
	{`: (expected \w+ value but got|missing value,).*`, " needs a value"},
	{`^<folder>.*: stat (.*): no such file or directory`, "$1: no such folder"},
	{`^<.*>.*: stat (.*): no such file or directory`, "$1: no such file"},
	{`: stat (.*): no such file or directory`, ": $1: no such file"},
	{`parsing time ("[^"]*") as .*`, "$1 is not a time, such as 2026-05-07T03:14:00Z"},
	{`expected duration but got ("[^"]*").*`, "$1 is not a duration, such as 30s or 5m"},
	{`^expected "(<.*)"`, "$1 is missing"},
}

// plain returns an error of kong in plain words. It adds the allowed values of a missing argument; how to write a file,
// to an error of --output, which the user may have given a path; and "--help lists the commands" to an error that comes
// before any command, as for "help" and "--version", unless it already suggests a command.
func plain(err error, program string) error {
	parsing, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return err
	}
	if errors.Is(err, errFormat) {
		if slices.ContainsFunc(parsing.Context.Flags(), func(f *kong.Flag) bool { return f.Name == "out" }) {
			return fmt.Errorf("%w; to write a file use --out", errFormat)
		}
		return fmt.Errorf("%w; to write a file redirect standard output, as in > FILE", errFormat)
	}
	text := err.Error()
	if parsing.Context.Command() == "" && !strings.Contains(text, "did you mean") {
		text += fmt.Sprintf("; \"%s --help\" lists the commands", program)
	}
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

// Example is the tag that holds an example of a command, printed at the end of its help.
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
	for len(node.Children) > 0 { // a group shows the example of its first command
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

// refuseRepeated returns an error if a flag for one file is repeated, because --input of other commands may be. For
// other flags the last value counts.
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

// Auto is the value of a flag that leaves the choice to the command; no list of factors may go beyond maxFactors.
const (
	Auto       = "auto"
	maxFactors = 10_000
)

// types are the kong types: numbers, lists of numbers, in which auto is the empty list, and texts, which may begin with
// a hyphen.
var types = []kong.Option{
	kong.NamedMapper("ranks", list(parseRanks)), kong.NamedMapper("weights", list(parseWeights)),
	kong.NamedMapper("text", kong.MapperFunc(text)), kong.KindMapper(reflect.Int, kong.MapperFunc(number)),
	kong.KindMapper(reflect.Int64, kong.MapperFunc(number)), kong.KindMapper(reflect.Uint64, kong.MapperFunc(number)),
	kong.KindMapper(reflect.Float64, kong.MapperFunc(number)),
}

// number reads decimal numbers only. Kong itself reads 1_0 as 10, 0x10 as 16 and 010 as 8.
func number(ctx *kong.DecodeContext, target reflect.Value) error {
	var s string
	if err := ctx.Scan.PopValueInto("number", &s); err != nil {
		return err
	}
	kind, err := "number", error(nil)
	switch {
	case target.CanInt():
		var v int64
		v, err = strconv.ParseInt(s, 10, target.Type().Bits())
		target.SetInt(v)
		kind = "whole number"
	case target.CanUint():
		var v uint64
		v, err = strconv.ParseUint(s, 10, target.Type().Bits())
		target.SetUint(v)
		kind = "whole number from 0"
	default:
		var v float64
		v, err = wording.Number(s)
		target.SetFloat(v)
	}
	if err != nil {
		return fmt.Errorf("%q is not a %s", s, kind)
	}
	return nil
}

// text reads a note into a *string. It may begin with a hyphen, as in -LOC.
func text(ctx *kong.DecodeContext, target reflect.Value) (err error) {
	s, _ := ctx.Scan.Peek().Value.(string)
	if strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "--") {
		ctx.Scan.Pop()
	} else {
		err = ctx.Scan.PopValueInto("text", &s)
	}
	target.Set(reflect.ValueOf(&s))
	return err
}

func list[T any](parse func(string) ([]T, error)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("string", &text); err != nil || text == Auto {
			return err
		}
		all, err := parse(text)
		target.Set(reflect.ValueOf(all))
		return err
	}
}

// parseWeights reads "0.1" and "0.1,0.5".
func parseWeights(s string) (all []float64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		w, err := wording.Number(part)
		if err != nil {
			return nil, fmt.Errorf("%q is neither auto nor a list of numbers", s)
		}
		all = append(all, w)
	}
	return all, nil
}

// parseRanks reads "5", "2:20" and "3,5,8".
func parseRanks(s string) (all []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, ":")
		if !isRange {
			last = first
		}
		low, errLow := strconv.Atoi(strings.TrimSpace(first))
		high, errHigh := strconv.Atoi(strings.TrimSpace(last))
		if errLow != nil || errHigh != nil || low < 1 || high < low || high > maxFactors {
			return nil, fmt.Errorf("%q is neither auto nor numbers of factors from 1 to %d, as in 5, 2:20 or 3,5,8", s,
				maxFactors)
		}
		for k := low; k <= high; k++ {
			all = append(all, k)
		}
	}
	return all, nil
}
