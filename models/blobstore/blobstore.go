// Package blobstore opens stores of models by their place: a directory, or a bucket at a service that stores objects.
// It links the clients of these services, which package models does not:
//
//	models, /srv/models, file:///srv/models   a directory
//	s3://bucket/folder?region=eu-central-1    Amazon S3, or another server that speaks its protocol:
//	                                          &endpoint=https://…&use_path_style=true
//	gs://bucket/folder                        Google Cloud Storage
//
// docs/commands/models.md lists the parameters of a URL and where credentials are looked for.
//
// A folder is written with its last file last, and files that change are written on the condition that they are still
// as they were read: If-Match at S3, the generation at Google. Only pruning deletes, so that the key of another writer
// needs no right to do so.
package blobstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models"
)

// opener opens a bucket whose URL has the scheme.
type opener struct {
	scheme string
	open   func(ctx context.Context, bucket string, o *options) (service, error)
}

// services open a bucket by its name and the parameters of its URL.
var services = []opener{
	{"s3", openS3},
	{"gs", openGoogle},
}

// Places lists the beginnings of the URLs of buckets, for help texts and errors.
func Places() string {
	places := lists.Map(services, func(s opener) string { return s.scheme + "://…" })
	return strings.Join(places, ", ")
}

// Open returns the store at a place. It opens no connection to a service yet.
func Open(ctx context.Context, place string) (*models.Store, error) {
	if !IsURL(place) {
		return models.OpenDir(place), nil
	}
	u, err := url.Parse(place)
	if err != nil {
		return nil, fmt.Errorf("opening the model store: %w", err)
	}
	if u.Scheme == "file" {
		if u.Host != "" || u.Path == "" || u.RawQuery != "" {
			return nil, fmt.Errorf("opening the model store: %q: a folder is file:///path", place)
		}
		return models.OpenDir(u.Path), nil
	}
	at := slices.IndexFunc(services, func(s opener) bool { return s.scheme == u.Scheme })
	if at < 0 {
		return nil, fmt.Errorf("opening the model store: %q: must be a folder, file:///path or a bucket (%s)", place,
			Places())
	}
	if u.Host == "" {
		return nil, fmt.Errorf("opening the model store: %q: the name of the bucket is missing", place)
	}
	o := &options{values: u.Query()}
	b := new(bucket)
	if b.service, err = services[at].open(ctx, u.Host, o); err == nil {
		err = o.check()
	}
	if err != nil {
		return nil, fmt.Errorf("opening the model store %q: %w", place, err)
	}
	if folder := strings.Trim(u.Path, "/"); folder != "" {
		b.top = folder + "/"
	}
	return models.New(b), nil
}

// IsURL reports whether a place of a store is a URL rather than the path of a directory.
func IsURL(place string) bool { return strings.Contains(place, "://") }

type options struct {
	values url.Values
	err    error
}

func (o *options) text(name string) string {
	value := o.values.Get(name)
	o.values.Del(name)
	return value
}

func (o *options) flag(name string) bool {
	text := o.text(name)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		o.err = fmt.Errorf("parameter %s must be true or false, not %q", name, text)
	}
	return value
}

func (o *options) check() error {
	for name := range o.values {
		return fmt.Errorf("unknown parameter %q", name)
	}
	return o.err
}

// service reads and writes the objects of a bucket.
type service interface {
	// list returns the names of all objects that begin with the prefix, or, unless recursive, of those without another
	// slash, and of the folders, which end in a slash.
	list(ctx context.Context, prefix string, recursive bool) ([]string, error)
	// get returns an object and its version, "" if not reported. A missing one is an error that wraps fs.ErrNotExist.
	get(ctx context.Context, name string, limit int64) ([]byte, version, error)
	// put writes an object if it has the version now; otherwise the error wraps models.ErrConflict.
	put(ctx context.Context, name string, data []byte, now version) error
	// remove removes an object. A missing one is no error.
	remove(ctx context.Context, name string) error
}

// version is what a service names the present content of an object by: its entity tag or its generation.
type version string

const (
	anyVersion version = "*" // or no object
	noObject   version = ""
)

type bucket struct {
	service
	top string // "" or a folder with a slash
}

const (
	probe = ".probe" // written to find out whether something can be

	// contentType is that of all objects; without it a service would guess it from the data.
	contentType = "application/octet-stream"
)

var (
	errTooLarge = errors.New("too large")
	// errUnversioned is returned if a service does not report what a conditional write needs.
	errUnversioned = errors.New("the service does not report the version of an object")
)

func (b *bucket) Prepare(ctx context.Context) error { return b.put(ctx, b.top+probe, nil, anyVersion) }

func (b *bucket) Folders(ctx context.Context, folder string) ([]string, error) {
	names, err := b.names(ctx, folder, false)
	for i, name := range names {
		names[i] = path.Base(name)
	}
	return names, err
}

func (b *bucket) Files(ctx context.Context, folder string) ([]string, error) {
	return b.names(ctx, folder, true)
}

// names lists the files below a folder, or the folders in it, without hidden ones.
func (b *bucket) names(ctx context.Context, folder string, files bool) (names []string, err error) {
	prefix := b.top
	if folder != "" {
		prefix += folder + "/"
	}
	keys, err := b.list(ctx, prefix, files)
	for _, key := range keys {
		below := strings.TrimPrefix(key, prefix)
		// Some tools make an object whose name ends in a slash to show a folder.
		isFile := !strings.HasSuffix(key, "/")
		if isFile == files && below != "" && !strings.HasPrefix(below, ".") && !strings.Contains(below, "/.") {
			names = append(names, strings.TrimPrefix(key, b.top))
		}
	}
	slices.Sort(names)
	return names, err
}

func (b *bucket) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	data, _, err := b.get(ctx, b.top+name, limit)
	return data, err
}

func (b *bucket) Swap(ctx context.Context, name string, before, after []byte) error {
	if before == nil {
		return b.put(ctx, b.top+name, after, noObject)
	}
	data, now, err := b.get(ctx, b.top+name, int64(len(before)))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errTooLarge), err == nil && !bytes.Equal(data, before):
		return models.ErrConflict
	case err != nil:
		return err
	case now == "":
		return errUnversioned
	}
	return b.put(ctx, b.top+name, after, now)
}

func (b *bucket) AddFolder(ctx context.Context, folder string, files map[string][]byte, last string) error {
	sealed := path.Join(folder, last)
	now, err := b.Read(ctx, sealed, int64(len(files[last])))
	if errors.Is(err, fs.ErrNotExist) {
		for name, data := range files {
			if name == last {
				continue
			}
			if err := b.put(ctx, b.top+path.Join(folder, name), data, anyVersion); err != nil {
				return err
			}
		}
		if err = b.Swap(ctx, sealed, nil, files[last]); !errors.Is(err, models.ErrConflict) {
			return err
		}
		now, err = b.Read(ctx, sealed, int64(len(files[last])))
	}
	if errors.Is(err, errTooLarge) || err == nil && !bytes.Equal(now, files[last]) {
		err = fmt.Errorf("%q exists with other contents: %w", folder, fs.ErrExist)
	}
	return err
}

func (b *bucket) Remove(ctx context.Context, name string) error { return b.remove(ctx, b.top+name) }

func readAll(object io.Reader, size, limit int64) ([]byte, error) {
	switch {
	case size < 0:
		return nil, errors.New("the service does not report the size of an object")
	case size > limit:
		return nil, fmt.Errorf("%w: %d bytes, must be at most %d", errTooLarge, size, limit)
	}
	data := make([]byte, size)
	_, err := io.ReadFull(object, data)
	return data, err
}
