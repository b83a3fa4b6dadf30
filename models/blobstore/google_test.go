package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// TestGCS runs the contract against an imitation of Google Cloud Storage. It needs WARDCAST_GCS: the path of the
// program fake-gcs-server.
func TestGCS(t *testing.T) {
	_, address := storetest.Run(t, "WARDCAST_GCS", "github.com/fsouza/fake-gcs-server",
		func(root, address string) []string {
			host, port, _ := net.SplitHostPort(address)
			return []string{
				"-scheme", "http", "-host", host, "-port", port, "-public-host", address, "-filesystem-root", root,
				"-log-level", "error",
			}
		})
	t.Setenv("STORAGE_EMULATOR_HOST", address)
	g, err := openGoogle(t.Context(), storetest.Bucket, new(options))
	if err != nil {
		t.Fatal(err)
	}
	contract(t, g)
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

// TestGoogle holds requests against what the reference of the JSON API says, and answers as the service does.
func TestGoogle(t *testing.T) {
	var got []string
	const list = "GET /storage/v1/b/b/o?delimiter=%2F&fields=items%28name%29%2Cprefixes%2CnextPageToken&"
	answers := map[string]string{
		list + "prefix=m%2F":                             `{"items": [{"name": "m/1"}], "nextPageToken": "t"}`,
		list + "pageToken=t&prefix=m%2F":                 `{"prefixes": ["m/2/"]}`,
		"GET /storage/v1/b/b/o/m%2F1%20%C3%A9?alt=media": "data",
		"POST /upload/storage/v1/b/b/o?fields=generation&ifGenerationMatch=7&name=m%2F1&uploadType=media": `{}`,
		"POST /upload/storage/v1/b/b/o?fields=generation&name=m%2F1&uploadType=media":                     `{}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := r.Method + " " + r.RequestURI
		got = append(got, request)
		answer, ok := answers[request]
		switch {
		case strings.Contains(request, "ifGenerationMatch=0"):
			w.WriteHeader(http.StatusPreconditionFailed)
		case strings.Contains(request, "denied"):
			w.WriteHeader(http.StatusForbidden)
			answer = `{"error": {"code": 403, "message": "no storage.objects.get access"}}`
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		case len(got) == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.Header().Set("X-Goog-Generation", "7")
		}
		_, _ = fmt.Fprint(w, answer)
	}))
	defer server.Close()
	t.Setenv("STORAGE_EMULATOR_HOST", server.URL)
	ctx := t.Context()
	g, err := openGoogle(ctx, "b", new(options))
	if err != nil {
		t.Fatal(err)
	}
	names, err := g.list(ctx, "m/", false)
	if d := cmp.Diff([]string{"m/1", "m/2/"}, names); d != "" || err != nil || len(got) != 3 {
		t.Errorf("%v\n%s\nafter %d requests, want the first one to be sent again", err, d, len(got))
	}
	if data, now, err := g.get(ctx, "m/1 é", 4); err != nil || string(data) != "data" || now != "7" {
		t.Errorf("got %q of version %q, %v", data, now, err)
	}
	if _, _, err := g.get(ctx, "none", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	const denied = "403 Forbidden: no storage.objects.get access"
	if _, _, err := g.get(ctx, "denied", 4); err == nil || err.Error() != denied {
		t.Error(err)
	}
	for now, want := range map[version]error{"7": nil, anyVersion: nil, noObject: models.ErrConflict} {
		if err := g.put(ctx, "m/1", []byte("data"), now); !errors.Is(err, want) {
			t.Errorf("put over version %q: %v, want %v", now, err, want)
		}
	}
}

// TestSilentGoogle sends a request again that was not answered in time, though that is context.DeadlineExceeded too,
// but not once the caller's own time is over.
func TestSilentGoogle(t *testing.T) {
	var requests atomic.Int32
	silent := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 || silent {
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprint(w, `{"items": [{"name": "found"}]}`)
	}))
	defer server.Close()
	t.Setenv("STORAGE_EMULATOR_HOST", server.URL)
	s, err := openGoogle(t.Context(), "b", new(options))
	if err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := s.list(short, "", true); !errors.Is(err, context.DeadlineExceeded) || requests.Load() != 1 {
		t.Errorf("%v after %d requests, want one within the caller's time", err, requests.Load())
	}
	requests.Store(0)
	silent = false
	s.(*google).client.Transport.(*http.Transport).ResponseHeaderTimeout = 50 * time.Millisecond
	if names, err := s.list(t.Context(), "", true); err != nil || len(names) != 1 {
		t.Errorf("listed %v, %v", names, err)
	}
}

// TestGoogleCredentials changes the token of a file for one of Google's, as a pod does, and sends that with requests.
func TestGoogleCredentials(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token" && r.FormValue("subject_token") == "of the pod":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"access_token": "of Google", "token_type": "Bearer", "expires_in": 3600,
				"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}`)
		case r.Header.Get("Authorization") == "Bearer of Google":
			_, _ = fmt.Fprint(w, `{"items": [{"name": "found"}]}`)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	folder := t.TempDir()
	for name, content := range map[string]string{"token": "of the pod", "credentials.json": fmt.Sprintf(`{
		"type": "external_account", "audience": "//iam.googleapis.com/projects/1", "token_url": %q,
		"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "credential_source": {"file": %q}}`,
		server.URL+"/token", filepath.Join(folder, "token"))} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(folder, "credentials.json"))
	s, err := openGoogle(t.Context(), "b", new(options))
	if err != nil {
		t.Fatal(err)
	}
	g := s.(*google)
	if g.address != "https://storage.googleapis.com" {
		t.Errorf("requests go to %s", g.address)
	}
	g.address = server.URL
	if names, err := g.list(t.Context(), "", true); err != nil || len(names) != 1 {
		t.Errorf("listed %v, %v", names, err)
	}
}
