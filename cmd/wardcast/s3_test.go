package main

import (
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/models/storetest"
)

// TestStoreInBucket takes a store through its life in a bucket: train, serve, retrain, two retrainings at once, roll
// back. The scorer takes up each change. It needs WARDCAST_S3: see storetest.S3.
func TestStoreInBucket(t *testing.T) {
	_, query := storetest.S3(t)
	store := "s3://" + storetest.Bucket + "/prod?" + query.Encode()
	at := []string{"--model-dir", store}
	notes := clitest.File(t, "notes.csv", synthetic(t, "800", "csv"))
	succeed(t, "", "train", "--input", notes, "--rank", "5", "--per-complaint", "never", "--model-dir", store)

	s := newStream(t, startBroker(t), store)
	scorer := s.scorer(launch).ready()
	s.send(200)
	s.settle()
	s.verdict()

	retrain := append([]string{"retrain", "--force", "--why", "a test", "--model-dir", store}, past(t, pastNotes)...)
	both := []*running{launch(t, retrain...), launch(t, retrain...)}
	codes := map[int]int{}
	for _, p := range both {
		<-p.done
		codes[p.code]++
		if p.code != 0 {
			p.says(`the served models changed during this training.*promoted at .* by "[^"]*, retrain"`)
		}
	}
	if codes[0] == 0 || codes[0]+codes[cli.ExitFailed] != len(both) {
		t.Errorf("two retrainings at once exit %v times", codes)
	}
	scorer.says(`"msg":"new models in use"`)
	succeed(t, "", append([]string{"models", "rollback", "--why", "a test"}, at...)...)
	succeed(t, "", append([]string{"models", "verify"}, at...)...)
	scorer.says(`(?s)"msg":"new models in use".*"msg":"new models in use"`)
	after := newStream(t, s.bootstrap, store)
	after.scorer(launch).ready()
	after.send(200)
	after.settle()
	after.verdict()
	scorer.stop()
}
