// Command wardcast predicts from triage notes whether patients will be admitted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/compress/snappy"

	"github.com/wardcast/wardcast/internal/chooserank"
	"github.com/wardcast/wardcast/internal/config"
	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/internal/obs"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/reproduce"
	"github.com/wardcast/wardcast/internal/synth"
	"github.com/wardcast/wardcast/models/fit"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/rank"
	"github.com/wardcast/wardcast/solver/sonmf"
	"github.com/wardcast/wardcast/textproc"
)

// version is set by the linker for a release.
var version = "dev"

type cli struct {
	Demo          demoCmd          `cmd:"" help:"Show the whole product: generate notes, train, stream, explain."`
	Serve         serveCmd         `cmd:"" help:"Score notes from Kafka until stopped."`
	Broker        brokerCmd        `cmd:"" help:"Run the embedded Kafka broker alone."`
	Train         trainCmd         `cmd:"" help:"Fit models from labelled notes."`
	Evaluate      evaluateCmd      `cmd:"" help:"Compare methods on labelled notes by cross-validation or on a held-out part."`
	Predict       predictCmd       `cmd:"" help:"Score notes from standard input, one JSON object a line."`
	Models        modelsCmd        `cmd:"" help:"Look at the model store."`
	Topics        topicsCmd        `cmd:"" help:"Look at the topics of the models."`
	Factorize     factorizeCmd     `cmd:"" help:"Factorize a matrix."`
	Rank          rankCmd          `cmd:"" help:"Choose the number of topics or factors of a matrix."`
	Questionnaire questionnaireCmd `cmd:"" help:"Factors of questionnaires: answers with missing entries and confounds."`
	Reproduce     reproduceCmd     `cmd:"" help:"Run the experiments of the papers and lay them beside their figures."`
	Synth         synthCmd         `cmd:"" help:"Generate labelled data with known truth."`
	Bench         benchCmd         `cmd:"" help:"Measure this product's speed beside a reference."`
	CheckConfig   checkConfigCmd   `cmd:"" help:"Check a configuration file."`
	Version       versionCmd       `cmd:"" help:"Print the version."`

	LogLevel string `help:"Log debug, info, warn or error lines and above." enum:"debug,info,warn,error" default:"info" env:"WARDCAST_LOG_LEVEL"`
}

// deps is what commands work with.
type deps struct {
	in       io.Reader
	out, err io.Writer
	log      *slog.Logger
}

// errReported ends a command with 1 after it has said itself why.
var errReported = errors.New("reported")

// usageError is a flag that makes no sense, found after parsing.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run()) }

func run() int {
	var c cli
	parser, err := kong.New(&c, kong.Name("wardcast"), defaults(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Description("Probability of admission from triage notes, with the words that made it. Data goes to stdout, logs and progress to stderr. Exit codes: 0 done, 1 failed, 2 usage, 3 quality gate refused."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "wardcast:", err)
		return exitFailed
	}
	command, err := parser.Parse(os.Args[1:])
	if err == nil {
		err = refuseRepeated(command)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wardcast:", err)
		return exitUsage
	}
	log, err := obs.NewLogger(os.Stderr, c.LogLevel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "wardcast:", err)
		return exitUsage
	}
	// kafka-go keeps its codecs in process-wide variables. Its default level of snappy takes about twice the time of this
	// one.
	compress.SnappyCodec.Compression = snappy.FasterCompression
	// The first signal drains; after it the second has its default effect.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	command.BindTo(ctx, (*context.Context)(nil))
	switch err := command.Run(&deps{in: os.Stdin, out: os.Stdout, err: os.Stderr, log: log}); {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return exitFailed
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "wardcast:", context.Cause(ctx)) // the signal, wherever it came in between
		return exitFailed
	case errors.As(err, new(usageError)), errors.Is(err, factorize.ErrOptions), errors.Is(err, questionnaire.ErrOptions), errors.Is(err, fit.ErrSettings), errors.Is(err, solver.ErrSettings), errors.Is(err, textproc.ErrSettings):
		fmt.Fprintln(os.Stderr, "wardcast:", err)
		return exitUsage
	default:
		fmt.Fprintln(os.Stderr, "wardcast:", err)
		return exitFailed
	}
}

// refuseRepeated returns an error for a second file of a flag that takes one: elsewhere --input may be repeated. Of other
// flags the last counts.
func refuseRepeated(command *kong.Context) error {
	seen := map[*kong.Flag]bool{}
	for _, p := range command.Path {
		if f := p.Flag; f != nil && !f.IsCumulative() && f.Tag.Type == "existingfile" {
			if seen[f] {
				return fmt.Errorf("--%s takes one file", f.Name)
			}
			seen[f] = true
		}
	}
	return nil
}

// defaults are what help texts and flags take from the packages that own them.
func defaults() kong.Vars {
	s, explain := fit.Default(), config.Default().Scoring
	return kong.Vars{
		"minDF": strconv.Itoa(s.Text.MinDF), "alpha": strconv.FormatFloat(s.Alpha, 'g', -1, 64), "rank": strconv.Itoa(s.Rank), "minDocuments": strconv.Itoa(s.MinDocuments),
		"triageMethods": strings.Join(reproduce.TriageMethods(), ","),
		"rankMethods":   strings.Join(append(methods.Names(), chooserank.FactorAnalysis), ","), "runs": strconv.Itoa(chooserank.DefaultRuns), "folds": strconv.Itoa(chooserank.DefaultFolds), "draws": strconv.Itoa(factoranalysis.DefaultDraws),
		"methods": strings.Join(append(methods.Names(), methods.Supervised()...), ","), "fitMethods": strings.Join(fit.Methods(), ","),
		"maxIter": strconv.Itoa(solver.DefaultMaxIter), "relTol": strconv.FormatFloat(solver.DefaultRelTol, 'g', -1, 64), "step": string(sonmf.StepExtrapolated), "binaryStep": string(sonmf.BinaryStepDefault),
		"icqfMaxIter": strconv.Itoa(icqf.DefaultMaxIter), "cvRelTol": strconv.FormatFloat(rank.ICQFRelTol, 'g', -1, 64),
		"betas": strings.Trim(fmt.Sprint(questionnaire.DefaultBetas()), "[]"), "repeats": strconv.Itoa(questionnaire.DefaultRepeats), "evaluateMethods": strings.Join(questionnaire.Methods(), ","),
		"misspelling": strconv.FormatFloat(synth.DefaultMisspelling, 'g', -1, 64),
		"compression": config.Default().Kafka.Compression,
		"topics":      strconv.Itoa(explain.Topics), "terms": strconv.Itoa(explain.Terms), "words": strconv.Itoa(explain.Words),
	}
}

type versionCmd struct{}

func (*versionCmd) Run(d *deps) error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		revision = " " + info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision += " " + s.Value
			}
		}
	}
	_, err := fmt.Fprintf(d.out, "wardcast %s%s\n", version, revision)
	return err
}
