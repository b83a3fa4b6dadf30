// Command wardcast predicts from triage notes whether patients will be admitted.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	_ "time/tzdata" // for containers without time zone files

	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/compress/snappy"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/invariance"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/norms"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/models/blobstore"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/rank"
	"github.com/wardcast/wardcast/solver/sonmf"
	"github.com/wardcast/wardcast/textproc"
)

type grammar struct {
	Demo          demoCmd          `cmd:"" help:"Show the whole product: generate notes, train, stream, explain." example:"wardcast demo --duration 30s"`
	Serve         serveCmd         `cmd:"" help:"Score notes from Kafka until stopped." example:"wardcast serve --config wardcast.yaml --embedded-broker broker --create-topics"`
	Broker        brokerCmd        `cmd:"" help:"Run the embedded Kafka broker alone." example:"wardcast broker --dir broker"`
	Bridge        bridgeCmd        `cmd:"" help:"Join the hospital's own systems to the stream: HL7 v2 in, predictions back."`
	Bulk          bulkCmd          `cmd:"" help:"Turn exports of a hospital's systems into notes and outcomes to train on." example:"wardcast bulk --folder exported --config wardcast.yaml --out past"`
	Train         trainCmd         `cmd:"" help:"Fit models from labelled notes." example:"wardcast train --input notes.csv --aux-columns age:numeric,sex:categorical,acuity:numeric --model-dir models"`
	Retrain       retrainCmd       `cmd:"" help:"Train on past notes and outcomes, and serve the new models if the gate approves them." example:"wardcast retrain --notes notes.jsonl --outcomes outcomes.jsonl --model-dir models"`
	Shard         shardCmd         `cmd:"" help:"Do the part of one shard in a training by rounds, from stdin to stdout." example:"echo '{\"documents\":2,\"n\":1}' | wardcast shard add"`
	Evaluate      evaluateCmd      `cmd:"" help:"Compare methods on labelled notes by cross-validation, or on held-out notes." example:"wardcast evaluate --input notes.csv --methods bow,sonmf --repeats 1"`
	Predict       predictCmd       `cmd:"" help:"Score notes: a file, standard input or a text." example:"wardcast predict --model-dir models --complaint 'Lower Extremity Injury' --text '78F glf at home, L hip pain, leg shortened + rotated' --age 78 --sex F --acuity 2 --output table"`
	Tokens        tokensCmd        `cmd:"" help:"Show how notes are read: terms, positions and status." example:"wardcast tokens --text '78F c/o sob x3 days, denies cp, SpO2 88% RA'"`
	Dlq           dlqCmd           `cmd:"" help:"List, show and replay dead letters."`
	Models        modelsCmd        `cmd:"" help:"Inspect the model store, and promote or roll back models."`
	Topics        topicsCmd        `cmd:"" help:"List, show and search the topics of the models."`
	Factorize     factorizeCmd     `cmd:"" help:"Factorize a matrix." example:"wardcast factorize --input notes.mtx --rank 10 --out factors"`
	Rank          rankCmd          `cmd:"" help:"Choose the number of topics or factors of a matrix." example:"wardcast rank --input notes.mtx --ranks 2:6"`
	Questionnaire questionnaireCmd `cmd:"" help:"Find and score the factors of questionnaires, with missing answers and confounds."`
	Synth         synthCmd         `cmd:"" help:"Generate labelled data with a known truth."`
	Bench         benchCmd         `cmd:"" help:"Measure the speed against a reference."`
	CheckConfig   checkConfigCmd   `cmd:"" help:"Check a configuration file and the models that it names." example:"wardcast check-config wardcast.yaml"`
	Doctor        doctorCmd        `cmd:"" help:"Find what an installation lacks: brokers, topics, permissions, models, certificates." example:"wardcast doctor --config wardcast.yaml"`
	Version       versionCmd       `cmd:"" help:"Print the version." example:"wardcast version --output json"`
	Completion    cli.Completion   `cmd:"" help:"Print the script that completes commands and flags in a shell." example:"source <(wardcast completion bash)"`
	Complete      cli.Complete     `cmd:"" hidden:"" name:"__complete"`
	Man           cli.Man          `cmd:"" hidden:"" help:"Write the manual pages."`

	cli.Logging
}

func main() { os.Exit(cli.Main(run)) }

func run(ctx context.Context, process *cli.Process) int {
	if process.Own {
		// kafka-go keeps its codecs in global variables. Its default level of snappy takes about twice as long.
		compress.SnappyCodec.Compression = snappy.FasterCompression
		collectLater()
	}
	var g grammar
	program := cli.Program{
		Name: "wardcast",
		Description: "Probability of admission from triage notes, with the words behind it. Data goes to stdout, " +
			"logs and progress to stderr. " +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 quality gate refused.",
		Grammar: &g,
		Vars:    defaults(),
		Usage: []error{
			factorize.ErrOptions, questionnaire.ErrOptions, train.ErrSettings, solver.ErrSettings, textproc.ErrSettings,
			table.ErrNoFile, // only the command line names tables
		},
	}
	return program.Run(ctx, process)
}

// collectLater makes the first garbage collection wait until the heap is five times as large as at the start, some
// 20 MiB, unless GOGC is set: from 4 MiB on, collections take a third of the time of a command that lasts milliseconds.
func collectLater() {
	const first, usual = 400, 100 // percent
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(first)
	runtime.AddCleanup(&struct{ *byte }{}, func(usual int) {
		if now := debug.SetGCPercent(usual); now != first { // of holdLess
			debug.SetGCPercent(now)
		}
	}, usual)
}

func supervisedMethods() string { return strings.Join(methods.Supervised(), " and ") }

// defaults returns the variables of the grammar.
func defaults() map[string]any {
	s, c := train.Default(), config.Default()
	return map[string]any{
		"alpha": s.Alpha, "rank": s.Rank, "minDocuments": s.MinDocuments, "minEvents": s.MinEvents,
		"methods":    append(methods.Names(), methods.Supervised()...),
		"supervised": supervisedMethods(), "binaryMethods": strings.Join(slices.DeleteFunc(methods.Names(),
			func(name string) bool { return methods.Domain(name) != solver.Binary }), " and "),
		"rankMethods": append(methods.Names(), factorize.FactorAnalysis),
		"fitMethods":  train.Methods(),
		"runs":        factorize.DefaultRuns, "folds": factorize.DefaultFolds, "draws": rank.DefaultDraws,
		"maxIter": solver.DefaultMaxIter, "relTol": solver.DefaultRelTol,
		"step": sonmf.StepExtrapolated, "binaryStep": sonmf.BinaryStepQuasiNewton,
		"icqfMaxIter": icqf.DefaultMaxIter, "cvRelTol": rank.ICQFRelTol,
		"betas":                strings.Trim(fmt.Sprint(fit.DefaultBetas()), "[]"),
		"questionnaireMethods": model.Methods(), "rotations": factoranalysis.Rotations(),
		"scoreKinds": lists.Map(factoranalysis.ScoreKinds(),
			func(k factoranalysis.ScoreKind) string { return string(k) }),
		"evaluateMethods": evaluate.Methods(), "repeats": evaluate.DefaultRepeats,
		"leastNormed": norms.DefaultLeast, "omegaFactors": items.DefaultFactors,
		"bootstrap": invariance.DefaultBootstrap, "leastBootstrap": certainty.LeastReplicates,
		"misspelling": synth.DefaultMisspelling,
		"vitals":      strings.Join(msg.VitalNames(), ", "),
		"noteColumns": "age:numeric,sex:categorical,acuity:numeric,vitals." +
			strings.Join(msg.VitalNames(), ":numeric,vitals.") + ":numeric",
		"compression": c.Kafka.Compression, "compressions": ingest.Compressions(),
		"partitions": ingest.DefaultPartitions, "maxAttempts": deadletter.DefaultMaxAttempts,
		"windowDays": c.Retrain.WindowDays,
		"formats":    table.Formats(), "matrixFormats": matrixio.Formats(), "stores": blobstore.Places(),
		"topics": c.Scoring.Topics, "terms": c.Scoring.Terms, "words": c.Scoring.Words, "evidence": c.Scoring.Evidence,
	}
}

// warnSome logs a warning about n things, unless there are none.
func warnSome(log *slog.Logger, n int, message string, facts ...any) {
	if n > 0 {
		log.Warn(message, facts...) //nolint:sloglint // the callers have constant messages
	}
}

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
