package blobstore

import (
	"cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/gcsblob" // opens gs://
	_ "gocloud.dev/blob/s3blob"  // opens s3://
)

// conditions are those of the services, by the scheme of their URLs.
var conditions = map[string]condition{"s3": ifMatch, "gs": ifGeneration}

// ifMatch makes S3 compare the entity tag.
func ifMatch(r *blob.Reader) (func(func(any) bool) error, bool) {
	var object s3.GetObjectOutput
	if !r.As(&object) || object.ETag == nil {
		return nil, false
	}
	return func(as func(any) bool) error {
		var upload *transfermanager.UploadObjectInput
		if !as(&upload) {
			return errUnversioned
		}
		upload.IfMatch = object.ETag
		return nil
	}, true
}

// ifGeneration makes Google compare the generation of the object, a number that grows with each write.
func ifGeneration(r *blob.Reader) (func(func(any) bool) error, bool) {
	var object *storage.Reader
	if !r.As(&object) || object.Attrs.Generation == 0 {
		return nil, false
	}
	return func(as func(any) bool) error {
		var handle **storage.ObjectHandle
		if !as(&handle) {
			return errUnversioned
		}
		*handle = (*handle).If(storage.Conditions{GenerationMatch: object.Attrs.Generation})
		return nil
	}, true
}
