package blobstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"github.com/wardcast/wardcast/models"
)

// amazon is the address of S3; the client goes from there to that of the region.
const amazon = "https://s3.amazonaws.com"

type s3 struct {
	client     minio.Core
	bucket     string
	encryption encrypt.ServerSide // nil: as the bucket says
}

func openS3(_ context.Context, bucket string, o *options) (service, error) {
	region := cmp.Or(o.text("region"), os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	endpoint := cmp.Or(o.text("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	settings := &minio.Options{Region: region}
	// Servers other than Amazon's have the bucket in the host name too, unless use_path_style is set.
	if o.flag("use_path_style") {
		settings.BucketLookup = minio.BucketLookupPath
	} else if endpoint != "" {
		settings.BucketLookup = minio.BucketLookupDNS
	}
	if o.flag("fips") {
		if region == "" {
			return nil, errors.New("parameter fips requires a region")
		}
		endpoint = cmp.Or(endpoint, "https://s3-fips."+region+".amazonaws.com")
	}
	at, err := url.Parse(cmp.Or(endpoint, amazon))
	if err == nil && (at.Host == "" || at.Scheme != "http" && at.Scheme != "https") {
		err = fmt.Errorf("parameter endpoint must be http://host or https://host, not %q", endpoint)
	}
	if err != nil {
		return nil, err
	}
	settings.Secure = at.Scheme == "https"
	settings.Creds = credentials.New(keysFor(o, region))
	s := &s3{bucket: bucket}
	kmsKey := o.text("kmskeyid")
	switch kind := o.text("ssetype"); {
	case kind == "aws:kms", kind == "" && kmsKey != "":
		s.encryption, err = encrypt.NewSSEKMS(kmsKey, nil)
	case kind == "AES256":
		s.encryption = encrypt.NewSSE()
	case kind != "":
		err = fmt.Errorf("parameter ssetype must be AES256 or aws:kms, not %q", kind)
	}
	if err != nil {
		return nil, err
	}
	client, err := minio.New(at.Host, settings)
	if err != nil {
		return nil, err
	}
	client.SetS3EnableDualstack(o.flag("dualstack"))
	s.client = minio.Core{Client: client}
	return s, nil
}

func keysFor(o *options, region string) credentials.Provider {
	profile := o.text("profile")
	if o.flag("anonymous") {
		return &credentials.Static{Value: credentials.Value{SignerType: credentials.SignatureAnonymous}}
	}
	files := place{name: "shared files", provider: &credentials.FileAWSCredentials{Profile: profile}}
	if profile != "" {
		return &keys{places: []place{files}}
	}
	return &keys{places: []place{
		{name: "environment", provider: &credentials.EnvAWS{}},
		files,
		{name: "role of the pod, container or instance", provider: &credentials.IAM{Region: region}},
	}}
}

// keys is a credentials.Chain that says why it found no key: Chain would go on without one.
type keys struct {
	places []place
	found  credentials.Provider
}

type place struct {
	name     string
	provider credentials.Provider
}

func (k *keys) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	missing := errors.New("no key for S3")
	for _, p := range k.places {
		key, err := p.provider.RetrieveWithCredContext(c)
		switch {
		case err == nil && key.AccessKeyID != "":
			k.found = p.provider
			return key, nil
		case err == nil || errors.Is(err, fs.ErrNotExist):
			err = errors.New("none")
		}
		missing = fmt.Errorf("%w; %s: %w", missing, p.name, err)
	}
	return credentials.Value{}, missing
}

func (k *keys) Retrieve() (credentials.Value, error) { return k.RetrieveWithCredContext(nil) }

func (k *keys) IsExpired() bool { return k.found == nil || k.found.IsExpired() }

func (s *s3) list(ctx context.Context, prefix string, recursive bool) (names []string, err error) {
	options := minio.ListObjectsOptions{Prefix: prefix, Recursive: recursive}
	for o := range s.client.ListObjectsIter(ctx, s.bucket, options) {
		if o.Err != nil {
			return nil, o.Err
		}
		names = append(names, o.Key)
	}
	return names, ctx.Err() // the iterator ends early without an error
}

func (s *s3) get(ctx context.Context, name string, limit int64) ([]byte, version, error) {
	object, info, _, err := s.client.GetObject(ctx, s.bucket, name, minio.GetObjectOptions{})
	if answer, ok := errors.AsType[minio.ErrorResponse](err); ok && answer.Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = object.Close() }()
	data, err := readAll(object, info.Size, limit)
	return data, version(info.ETag), err
}

func (s *s3) put(ctx context.Context, name string, data []byte, now version) error {
	options := minio.PutObjectOptions{
		ContentType:          contentType,
		DisableMultipart:     true, // one request, of up to 5 GiB, has one condition
		SendContentMd5:       true,
		ServerSideEncryption: s.encryption,
	}
	switch now {
	case anyVersion:
	case noObject:
		options.SetMatchETagExcept("*")
	default:
		options.SetMatchETag(string(now))
	}
	_, err := s.client.Client.PutObject(ctx, s.bucket, name, bytes.NewReader(data), int64(len(data)), options)
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok || now == anyVersion {
		return err
	}
	// Amazon answers 409 to one of two writers at the same time, and that there is no object to a condition on one.
	if answer.StatusCode == http.StatusPreconditionFailed || answer.Code == "ConditionalRequestConflict" ||
		answer.Code == minio.NoSuchKey {
		return models.ErrConflict
	}
	return err
}

func (s *s3) remove(ctx context.Context, name string) error {
	return s.client.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{})
}
