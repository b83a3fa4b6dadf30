package blobstore

import (
	"fmt"
	"sync/atomic"
	"testing"

	"gocloud.dev/blob"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// TestGCS runs the contract against an imitation of Google Cloud Storage: see storetest.GCS and WARDCAST_GCS.
func TestGCS(t *testing.T) {
	storetest.GCS(t)
	b, err := blob.OpenBucket(t.Context(), "gs://"+storetest.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	var folders atomic.Int32
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) models.Bucket {
			return &bucket{blob.PrefixedBucket(b, fmt.Sprintf("test%d/", folders.Add(1))), ifGeneration}
		})
	})
	t.Run("by its URL", func(t *testing.T) {
		s, err := Open(t.Context(), "gs://"+storetest.Bucket+"/some/folder")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
		storetest.Serve(t, s, storetest.Bundle(bundle.Other, 1))
	})
}
