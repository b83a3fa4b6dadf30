package fhir

import (
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

// MaxBundle is the size of a Bundle in bytes. It comes from outside and may be hostile; in memory a JSON object needs
// up to a hundred times its bytes.
const (
	MaxBundle  = 4 << 20
	maxEntries = 10_000
	maxObjects = 100_000
	maxValues  = 250_000 // commas outside of texts: an empty component takes a hundred bytes
	maxDepth   = 100     // far above what any resource has
)

// Errors of Bundles.
var (
	ErrTooLarge    = errors.New("too_large")
	ErrTooMany     = errors.New("too_many_elements")
	ErrWrongBundle = errors.New("wrong_bundle") // not a Bundle, or of a type that is not taken
)

// Errors returns all errors of this package but those of times.
func Errors() []error {
	return []error{
		ErrNotJSON, ErrNotFHIR, ErrTooLarge, ErrTooMany, ErrWrongBundle, ErrUnsupported, ErrElsewhere, ErrBadContent,
	}
}

// EntryError is an error of this package, and where.
type EntryError struct {
	Err   error
	Entry int // of the Bundle, from 1; 0 is the Bundle itself
}

func (e *EntryError) Error() string { return e.Err.Error() }

func (e *EntryError) Unwrap() error { return e.Err }

// Types of Bundles that are taken. A notification of R4 or R4B is a history.
const (
	Transaction  = "transaction"
	Batch        = "batch"
	Message      = "message"
	Notifies     = "subscription-notification"
	NotifiesInR4 = "history"
)

// BundleTypes returns them.
func BundleTypes() []string { return []string{Transaction, Batch, Message, Notifies, NotifiesInR4} }

// ParseBundle reads a Bundle and the resources of its entries, nil for an entry without one. The error is an
// *EntryError.
func ParseBundle(data []byte) (*Bundle, []Resource, error) {
	if len(data) > MaxBundle {
		return nil, nil, &EntryError{Err: ErrTooLarge}
	}
	r, err := Parse(data)
	bundle, is := r.(*Bundle)
	switch {
	case err != nil:
	case !is || !slices.Contains(BundleTypes(), bundle.Type):
		err = ErrWrongBundle
	case len(bundle.Entry) > maxEntries:
		err = ErrTooMany
	}
	if err != nil {
		return nil, nil, &EntryError{Err: err}
	}
	all := make([]Resource, len(bundle.Entry))
	for i, e := range bundle.Entry {
		if len(e.Resource) == 0 {
			continue
		}
		if all[i], err = Parse(e.Resource); err != nil {
			return nil, nil, &EntryError{err, i + 1}
		}
	}
	return bundle, all, nil
}

// checkJSON refuses what is not JSON in UTF-8, or would need much memory.
func checkJSON(data []byte) error {
	deepest, objects, values := size(data)
	switch {
	case objects > maxObjects || values > maxValues:
		return ErrTooMany
	case !utf8.Valid(data) || deepest > maxDepth || !json.Valid(data):
		return ErrNotJSON
	}
	return nil
}

// size returns how deep JSON is nested, and its numbers of objects and of commas. What is not JSON may have any.
func size(data []byte) (deepest, objects, commas int) {
	now, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			commas++
		case c == '{' || c == '[':
			if now++; c == '{' {
				objects++
			}
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest, objects, commas
}

// Binary is a document.
type Binary struct {
	Head

	ContentType string `json:"contentType"`
	Data        string `json:"data"` // base64
}

// Notification is what a subscription reports: SubscriptionStatus of R4B and R5, or the Parameters of R4.
type Notification struct {
	Head

	Type              string `json:"type"`
	NotificationEvent []struct {
		Focus Reference `json:"focus"`
	} `json:"notificationEvent"`
	Parameter []struct {
		Name string `json:"name"`
		Part []struct {
			Name           string    `json:"name"`
			ValueReference Reference `json:"valueReference"`
		} `json:"part"`
	} `json:"parameter"`
}

// Focus returns the references to the resources that changed, and whether this is a notification at all.
func (n *Notification) Focus() (all []Reference, is bool) {
	is = n.Type != ""
	for _, e := range n.NotificationEvent {
		all = append(all, e.Focus)
	}
	for _, p := range n.Parameter {
		is = is || p.Name == "subscription"
		for _, part := range p.Part {
			if p.Name == "notification-event" && part.Name == "focus" {
				all = append(all, part.ValueReference)
			}
		}
	}
	return all, is
}
