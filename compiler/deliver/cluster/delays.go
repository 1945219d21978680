package cluster

import (
	"sync"
	"time"
)

// delayAfter is how long a request may take before the delay is reported.
const delayAfter = 5 * time.Second

// delayReports reports why requests are retried, each reason once.
type delayReports struct {
	mu       sync.Mutex
	report   func(reason string) // may be nil
	reported map[string]bool
}

// OnDelay sets a function that is called with the reason when a request takes some
// seconds, with its retries: the API server is unreachable, or a webhook does not
// answer. Each reason is reported once. Calls are not concurrent.
func (c *Cluster) OnDelay(f func(reason string)) {
	c.delays.mu.Lock()
	defer c.delays.mu.Unlock()
	c.delays.report, c.delays.reported = f, map[string]bool{}
}

func (d *delayReports) delayed(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.report != nil && !d.reported[reason] {
		d.reported[reason] = true
		d.report(reason)
	}
}
