package ingest_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/wardcast/wardcast/ingest/embedded"
)

// serveBrokerEnv makes the test binary an embedded broker on that folder, so
// that a test can kill it.
const serveBrokerEnv = "WARDCAST_TEST_BROKER_DIR"

// serveBroker serves until standard input ends.
func serveBroker(dir string) {
	b, err := embedded.Start(embedded.Config{
		Dir: dir, Listen: os.Getenv("WARDCAST_TEST_BROKER_LISTEN"),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		panic(err)
	}
	defer b.Close()
	fmt.Println(b.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}
