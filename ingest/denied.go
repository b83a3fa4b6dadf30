package ingest

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

// DeniedError names the permission that the brokers say the user lacks.
type DeniedError struct {
	Operation string // of Kafka's ACLs: Read, Write, Describe, Create
	Resource  string // topic or group
	Name      string
	Err       error // Kafka's
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("the brokers deny %s on %s %q: %v", e.Operation, e.Resource, e.Name, e.Err)
}

// Unwrap returns Kafka's error.
func (e *DeniedError) Unwrap() error { return e.Err }

// denied names the permission that a request needs, if err says that it is lacking. Describe, which Kafka gives to all
// who may read or write a topic, gives way to what is needed.
func denied(err error, operation, resource, name string) error {
	if before, ok := errors.AsType[*DeniedError](err); ok {
		err = before.Err
	}
	if errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.GroupAuthorizationFailed) {
		return &DeniedError{Operation: operation, Resource: resource, Name: name, Err: err}
	}
	return err
}
