package blobstore

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"gocloud.dev/blob"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// TestS3 runs the contract against a real server of the S3 protocol: see storetest.S3 and WARDCAST_S3.
func TestS3(t *testing.T) {
	folder, query := storetest.S3(t)
	const place = "s3://" + storetest.Bucket
	b, err := blob.OpenBucket(t.Context(), place+"?"+query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	var folders atomic.Int32
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) models.Bucket {
			return &bucket{blob.PrefixedBucket(b, fmt.Sprintf("test%d/", folders.Add(1))), ifMatch}
		})
	})
	t.Run("by its URL", func(t *testing.T) {
		s, err := Open(t.Context(), place+"/some/folder?"+query.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
		g := storetest.Serve(t, s, storetest.Bundle(bundle.Other, 1))
		if _, err := os.Stat(filepath.Join(folder, "some", "folder", "generations", g.Name+".json")); err != nil {
			t.Error(err)
		}
	})
	t.Run("another key", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
		s, err := Open(t.Context(), place+"?"+query.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Create(t.Context()); err == nil {
			t.Error("written with a wrong key")
		}
	})
}
