package ingest

import "context"

// Probe connects to the first broker that answers and logs in.
func (c Connection) Probe(ctx context.Context) error {
	d, err := newDialer(c)
	if err != nil {
		return err
	}
	return d.probe(ctx)
}
