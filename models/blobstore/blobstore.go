// Package blobstore opens stores of models by their place: a directory, or a bucket at a service that stores objects. It
// links the clients of these services, which package models does not:
//
//	models, /srv/models, file:///srv/models   a directory
//	s3://bucket/folder?region=eu-central-1    Amazon S3, or another server that speaks its protocol:
//	                                          &endpoint=https://…&use_path_style=true
//	gs://bucket/folder                        Google Cloud Storage
//
// Credentials come from the environment, as the clients of the services find them. The parameters of a URL are those of
// gocloud.dev/blob.
//
// A folder is written with its last file last, and files that change are written on the condition that they are still those
// which were read: If-Match at S3, the generation at Google. Nothing is ever deleted, so that the key of a writer needs no
// right to do so.
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
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/wardcast/wardcast/models"
)

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
	condition, ok := conditions[u.Scheme]
	if !ok {
		return nil, fmt.Errorf("opening the model store: %q: must be a folder or a URL of s3, gs or file", place)
	}
	folder := strings.Trim(u.Path, "/")
	u.Path = ""
	if query := u.Query(); u.Scheme == "s3" && !query.Has(checksumValidation) {
		query.Set(checksumValidation, "when_required")
		u.RawQuery = query.Encode()
	}
	b, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("opening the model store %q: %w", place, err)
	}
	if folder != "" {
		b = blob.PrefixedBucket(b, folder+"/")
	}
	return models.New(&bucket{b, condition}), nil
}

// checksumValidation is the parameter of s3:// for what is checked of each object. By default the client warns of every object
// that the server has no checksum for, on standard error, and the store compares SHA-256 itself.
const checksumValidation = "response_checksum_validation"

// IsURL reports whether a place of a store is a URL rather than the path of a directory.
func IsURL(place string) bool { return strings.Contains(place, "://") }

// condition returns what makes a write fail unless the object still is the one that r reads; false if r does not tell.
type condition func(r *blob.Reader) (beforeWrite func(as func(any) bool) error, ok bool)

// bucket implements models.Bucket.
type bucket struct {
	blobs     *blob.Bucket
	condition condition
}

// probe is written to find out whether something can be.
const probe = ".probe"

var (
	errTooLarge = errors.New("must be at most")
	// errUnversioned is returned if a service does not tell what a conditional write needs.
	errUnversioned = errors.New("the service does not tell the version of an object")
)

// options are those of all writes. Without a type the content would be guessed from the data.
func options() *blob.WriterOptions {
	return &blob.WriterOptions{ContentType: "application/octet-stream"}
}

func (b *bucket) Prepare(ctx context.Context) error {
	return b.blobs.WriteAll(ctx, probe, nil, options())
}

// list calls add with each object below a folder, without hidden ones.
func (b *bucket) list(ctx context.Context, folder, delimiter string, add func(*blob.ListObject)) error {
	prefix := ""
	if folder != "" {
		prefix = folder + "/"
	}
	objects := b.blobs.List(&blob.ListOptions{Prefix: prefix, Delimiter: delimiter})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if below := strings.TrimPrefix(o.Key, prefix); !strings.HasPrefix(below, ".") && !strings.Contains(below, "/.") {
			add(o)
		}
	}
}

func (b *bucket) Folders(ctx context.Context, folder string) (names []string, err error) {
	err = b.list(ctx, folder, "/", func(o *blob.ListObject) {
		if o.IsDir {
			names = append(names, path.Base(o.Key))
		}
	})
	slices.Sort(names)
	return names, err
}

func (b *bucket) Files(ctx context.Context, folder string) (names []string, err error) {
	err = b.list(ctx, folder, "", func(o *blob.ListObject) {
		if !strings.HasSuffix(o.Key, "/") { // what some tools make to show a folder
			names = append(names, o.Key)
		}
	})
	slices.Sort(names)
	return names, err
}

func (b *bucket) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	data, _, err := b.read(ctx, name, limit)
	return data, err
}

// read returns an object and the reader that read it, which is closed.
func (b *bucket) read(ctx context.Context, name string, limit int64) (_ []byte, _ *blob.Reader, err error) {
	r, err := b.blobs.NewReader(ctx, name, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Size() > limit {
		return nil, nil, fmt.Errorf("%d bytes, %w %d", r.Size(), errTooLarge, limit)
	}
	data := make([]byte, r.Size())
	_, err = io.ReadFull(r, data)
	return data, r, err
}

func (b *bucket) Swap(ctx context.Context, name string, before, after []byte) error {
	o := options()
	if before == nil {
		o.IfNotExist = true
	} else {
		now, r, err := b.read(ctx, name, int64(len(before)))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errTooLarge), err == nil && !bytes.Equal(now, before):
			return models.ErrConflict
		case err != nil:
			return err
		}
		var ok bool
		if o.BeforeWrite, ok = b.condition(r); !ok {
			return errUnversioned
		}
	}
	err := b.blobs.WriteAll(ctx, name, after, o)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return models.ErrConflict
	}
	return err
}

func (b *bucket) AddFolder(ctx context.Context, folder string, files map[string][]byte, last string) error {
	sealed := path.Join(folder, last)
	now, err := b.Read(ctx, sealed, int64(len(files[last])))
	if errors.Is(err, fs.ErrNotExist) {
		for name, data := range files {
			if name == last {
				continue
			}
			if err := b.blobs.WriteAll(ctx, path.Join(folder, name), data, options()); err != nil {
				return err
			}
		}
		if err = b.Swap(ctx, sealed, nil, files[last]); !errors.Is(err, models.ErrConflict) {
			return err
		}
		now, err = b.Read(ctx, sealed, int64(len(files[last])))
	}
	if errors.Is(err, errTooLarge) || err == nil && !bytes.Equal(now, files[last]) {
		err = fmt.Errorf("%q is another: %w", folder, fs.ErrExist)
	}
	return err
}
