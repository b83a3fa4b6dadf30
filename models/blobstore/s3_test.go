package blobstore

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// contract runs the tests of all buckets, each in a folder of its own.
func contract(t *testing.T, s service) {
	t.Helper()
	var folders atomic.Int32
	t.Run("contract", func(t *testing.T) {
		keepsContract(t, func(*testing.T) models.Bucket {
			return &bucket{service: s, top: fmt.Sprintf("test%d/", folders.Add(1))}
		})
	})
}

// TestS3 runs the contract against a real server of the S3 protocol: see storetest.S3 and WARDCAST_S3.
func TestS3(t *testing.T) {
	folder, query := storetest.S3(t)
	const place = "s3://" + storetest.Bucket
	s, err := openS3(t.Context(), storetest.Bucket, &options{values: maps.Clone(query)})
	if err != nil {
		t.Fatal(err)
	}
	contract(t, s)
	url := func(folder string, more ...string) string {
		return place + folder + "?" + strings.Join(append(more, query.Encode()), "&")
	}
	create := func(t *testing.T, place string) (*models.Store, error) {
		t.Helper()
		s, err := Open(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Create(t.Context())
	}
	t.Run("by its URL", func(t *testing.T) {
		s, err := create(t, url("/some/folder"))
		if err != nil {
			t.Fatal(err)
		}
		g := storetest.Serve(t, s, storetest.Bundle(bundle.Other, 1))
		if _, err := os.Stat(filepath.Join(folder, "some", "folder", "generations", g.Name+".json")); err != nil {
			t.Error(err)
		}
	})
	t.Run("another key", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
		if _, err := create(t, url("")); err == nil {
			t.Error("written with a wrong key")
		}
	})
	t.Run("keys of a profile", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "credentials")
		keys := fmt.Sprintf("[default]\naws_access_key_id = other\naws_secret_access_key = other\n"+
			"[ward]\naws_access_key_id = %s\naws_secret_access_key = %s\n",
			os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"))
		if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
		t.Setenv("AWS_CONFIG_FILE", file+"-none")
		if _, err := create(t, url("/ward", "profile=ward")); err != nil {
			t.Error(err)
		}
		if _, err := create(t, url("", "profile=default")); err == nil {
			t.Error("written with the keys of another profile")
		}
		_, err := create(t, url("", "profile=none"))
		if err == nil || !strings.Contains(err.Error(), "no key for S3; shared files: ") {
			t.Errorf("a profile that does not exist: %v", err)
		}
	})
}
