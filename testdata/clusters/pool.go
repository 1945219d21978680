package clusters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Pool lends clusters of a fleet that are equal but for their names. A returned cluster
// is reset and lent again, which takes less than another start.
type Pool struct {
	fleet   *Fleet
	spec    Spec
	most    int // idle clusters; they need memory, and some CPU time
	started atomic.Int32

	mu        sync.Mutex
	idle      []*Cluster
	resetting int
	changed   chan struct{} // closed when a reset ends
	ended     error         // programs that ended unexpectedly
	resets    sync.WaitGroup
}

var errEnough = errors.New("enough others are idle")

// NewPool returns a pool of clusters of the fleet, of which at most a number run without
// being lent. Their names begin with that of the spec.
func NewPool(f *Fleet, spec Spec, most int) *Pool {
	return &Pool{fleet: f, spec: spec, most: most, changed: make(chan struct{})}
}

// Borrow returns clusters that are as after their start. It starts new ones unless enough
// are there or are being reset.
func (p *Pool) Borrow(ctx context.Context, number int) ([]*Cluster, error) {
	var got []*Cluster
	for {
		p.mu.Lock()
		n := min(number-len(got), len(p.idle))
		got, p.idle = append(got, p.idle[:n]...), slices.Clone(p.idle[n:])
		enough, changed := len(got) == number || p.resetting == 0, p.changed
		p.mu.Unlock()
		if enough {
			break
		}
		select {
		case <-ctx.Done():
			p.keep(got...)
			return nil, ctx.Err()
		case <-changed:
		}
	}
	started, err := p.start(ctx, number-len(got))
	if err != nil {
		p.keep(got...)
		return nil, err
	}
	return append(got, started...), nil
}

// start starts clusters, and stores their state.
func (p *Pool) start(ctx context.Context, number int) ([]*Cluster, error) {
	var specs []Spec
	for range number {
		s := p.spec
		s.Name += fmt.Sprint(p.started.Add(1))
		specs = append(specs, s)
	}
	if err := p.fleet.Add(ctx, specs...); err != nil {
		return nil, err
	}
	started, errs := make([]*Cluster, number), make([]error, number)
	var wg sync.WaitGroup
	for i, s := range specs {
		started[i] = p.fleet.Cluster(s.Name)
		wg.Go(func() { errs[i] = started[i].takeSnapshot(ctx) })
	}
	wg.Wait()
	return started, errors.Join(errs...)
}

// keep makes clusters available.
func (p *Pool) keep(all ...*Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, all...)
}

// Return takes a cluster back, and resets it in the background. It ends if enough others
// are idle, or if it cannot be reset; then the log says why.
func (p *Pool) Return(c *Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	enough := len(p.idle)+p.resetting >= p.most
	p.resetting++
	p.resets.Go(func() {
		var ended error
		err := errEnough
		if !enough {
			err = c.reset(context.Background())
		}
		if err != nil {
			fmt.Fprintf(p.fleet.log, "%s is not used again: %s\n", c.Name, err)
			ended = c.Kill()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = errors.Join(p.ended, ended)
		if err == nil {
			p.idle = append(p.idle, c)
		}
		p.resetting--
		close(p.changed)
		p.changed = make(chan struct{})
	})
}

// Wait waits until no cluster is being reset, and returns which programs ended
// unexpectedly. Call it before the fleet stops.
func (p *Pool) Wait() error {
	p.resets.Wait()
	return p.ended
}
