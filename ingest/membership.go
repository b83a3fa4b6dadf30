package ingest

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// membership is the state of a consumer in its group.
type membership struct {
	mu     sync.Mutex
	joined bool      // it has been in a generation, and no lasting error prevents another
	unable error     // why the last attempt at joining failed; nil if it did not
	left   time.Time // when its last generation ended; zero in one
	idle   time.Time // since when it has no partition; zero if it has one
}

// join records the beginning of a generation with this number of partitions for the consumer.
func (m *membership) join(partitions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined, m.unable, m.left = true, nil, time.Time{}
	switch {
	case partitions > 0:
		m.idle = time.Time{}
	case m.idle.IsZero():
		m.idle = time.Now()
	}
}

func (m *membership) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = time.Now()
}

// fail records why joining failed, and whether somebody must fix that. It returns the previous error.
func (m *membership) fail(err error, lasting bool) (before error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before = m.unable
	m.joined, m.unable = m.joined && !lasting, err
	return before
}

// end records that the group was left for good.
func (m *membership) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined, m.unable = false, nil
}

// unready returns an error unless the consumer is in a generation, or its last one ended more recently than after.
func (m *membership) unready(after time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.joined && m.unable != nil:
		return fmt.Errorf("the consumer has not joined its group: %w", m.unable)
	case !m.joined:
		return errors.New("the consumer has not joined its group")
	case !m.left.IsZero() && time.Since(m.left) >= after:
		away := time.Since(m.left).Round(time.Second)
		if m.unable != nil {
			return fmt.Errorf("the consumer has not joined its group again for %s: %w", away, m.unable)
		}
		return fmt.Errorf("the consumer has not joined its group again for %s", away)
	}
	return nil
}

// remark returns a sentence on a consumer without a partition for this long, "" for any other.
func (m *membership) remark(after time.Duration) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.idle.IsZero() || time.Since(m.idle) < after {
		return ""
	}
	return fmt.Sprintf("no partition has been assigned for %s: the group has more members than the topic has "+
		"partitions", time.Since(m.idle).Round(time.Second))
}
