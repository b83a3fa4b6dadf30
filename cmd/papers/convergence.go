package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/wardcast/wardcast/cmd/papers/internal/reproduce"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/solver"
)

type convergenceCmd struct {
	paperOutput
	MnistImages string    `help:"Images of the MNIST site, t10k-images-idx3-ubyte or train-images-idx3-ubyte, gzipped or not; without them the part on digits is left out." placeholder:"FILE" type:"existingfile"`
	MnistLabels string    `help:"Labels of these images." placeholder:"FILE" type:"existingfile"`
	Out         string    `help:"Folder for results.json, summary.csv, iterations.csv, the figures as SVG and runs.jsonl, made where it does not exist; a run goes on where an earlier one with this folder ended." placeholder:"DIR"`
	Iterations  int       `help:"Largest number of updates of a run." default:"1000"`
	Start       string    `help:"Where the algorithms begin: at the authors' factors from U(0,1), at random orthonormal topics or at singular vectors." enum:"uniform,random,svd" default:"uniform"`
	Xi          []float64 `help:"Values of ξ." default:"0.1,1,5,10,20"`
	Seed        uint64    `help:"Seed of everything random." default:"1"`
	Documents   int       `help:"Job postings." default:"3000"`
	Terms       int       `help:"Terms of them." default:"2840"`
	Threads     int       `help:"Threads of a run; 0 is one for each processor." default:"1"`
}

func (c *convergenceCmd) Run(ctx context.Context, d *cli.Deps) error {
	// What is none to Convergence, which then takes its own, is a mistake on the command line.
	for flag, n := range map[string]int{"documents": c.Documents, "terms": c.Terms, "xi": len(c.Xi)} {
		if n == 0 {
			return cli.Usage(fmt.Errorf("--%s %d is less than 1", flag, n))
		}
	}
	if (c.MnistImages == "") != (c.MnistLabels == "") {
		return cli.Usage(errors.New("--mnist-images and --mnist-labels want each other"))
	}
	if c.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Threads))
	}
	convergence := reproduce.Convergence{
		ConvergenceSettings: reproduce.ConvergenceSettings{Iterations: c.Iterations, Start: solver.Init(c.Start), Documents: c.Documents, Terms: c.Terms, Seed: c.Seed, Threads: runtime.GOMAXPROCS(0), Version: version},
		Xi:                  c.Xi,
	}
	if c.MnistImages == "" {
		d.Log.Info("no --mnist-images: the part on digits is left out")
	} else {
		var err error
		if convergence.Digits, err = reproduce.ReadDigits(c.MnistImages, c.MnistLabels); err != nil {
			return err
		}
	}
	if c.Out != "" {
		if err := os.MkdirAll(c.Out, 0o755); err != nil {
			return fmt.Errorf("making the output folder: %w", err)
		}
		convergence.Runs = filepath.Join(c.Out, "runs.jsonl")
	}
	bar := cli.NewProgress(d.Err, "factorizing")
	convergence.Progress = bar.Set
	got, err := convergence.Run(ctx)
	bar.Finish()
	if errors.Is(err, reproduce.ErrSettings) {
		return cli.Usage(err)
	}
	if got == nil {
		return err
	}
	return errors.Join(err, c.show(d, c.Out, got)) // what was done before the end is shown whatever ended it
}
