package main

import (
	"os"
	"testing"

	"github.com/wardcast/wardcast/internal/cli/clitest"
)

var program = &clitest.Program{Name: "papers", Run: run}

var (
	succeed = program.Succeed
	fail    = program.Fail
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
