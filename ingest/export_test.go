package ingest

import (
	"context"
	"time"
)

// Probe connects to the first broker that answers and logs in.
func (c Connection) Probe(ctx context.Context) error {
	d, err := newDialer(c)
	if err != nil {
		return err
	}
	return d.probe(ctx)
}

// Hurry has a client wait less than it does in a site. alone says that there is one broker, which knows at once whether
// a topic exists.
func (c *Client) Hurry(alone bool) {
	c.pauses.permanent, c.pauses.backlog, c.pauses.follow = time.Second, 500*time.Millisecond, 500*time.Millisecond
	if alone {
		c.pauses.lookups = 4
	}
}

// Hurry is that of the consumer's client.
func (c *Consumer) Hurry(alone bool) {
	c.client.Hurry(alone)
	c.backlog.looks = 3 * c.client.pauses.backlog
}

// Stall sets how long a partition may neither go on nor try to.
func (cfg *Config) Stall(timeout time.Duration) { cfg.stallTimeout = timeout }

// Watch sets how often the number of partitions is read.
func (cfg *Config) Watch(interval time.Duration) { cfg.watchInterval = interval }
