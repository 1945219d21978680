package live

import "sync"

// delayAfter is how many times a request fails before somebody is told of it: about
// three seconds.
const delayAfter = 5

// delays tells why requests are sent again, each reason once.
type delays struct {
	mu   sync.Mutex
	tell func(reason string) // nil for nobody
	said map[string]bool
}

// OnDelay has f be told why a request has failed for some seconds and is sent again,
// each reason once: the API server is away, or a webhook does not answer. f is called
// by one goroutine at a time.
func (c *Cluster) OnDelay(f func(reason string)) {
	c.delays.mu.Lock()
	defer c.delays.mu.Unlock()
	c.delays.tell, c.delays.said = f, map[string]bool{}
}

func (d *delays) note(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tell != nil && !d.said[reason] {
		d.said[reason] = true
		d.tell(reason)
	}
}
