package lsp

import (
	"context"
	"errors"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/par"
	"github.com/fleetc/fleetc/compiler/incremental"
)

// debounce is how long a checker waits for further changes.
const debounce = 20 * time.Millisecond

// request describes the work of the next check.
type request struct {
	file   string // the changed file; may be empty
	disk   bool   // whether files may have changed on disk
	render bool   // whether to render the fleet
}

// checker checks one fleet. Its fields below mu are shared; the others belong to run.
type checker struct {
	s         *server
	root      string
	session   *incremental.Session // below s.evaluation
	published map[string]string    // the published diagnostics by file, as JSON
	rendered  diag.List            // faults of the last rendering

	secrets sync.Map // by field, as text: whether it was secret in a rendering

	pending request // below s.mu, as the fields below
	changed map[string]bool
	wake    chan struct{}
	cancel  context.CancelFunc // ends the running check
	last    *snapshot          // nil before a check found a fleet
	shown   diag.List          // the published faults
	stale   map[string]bool    // files that changed since the check of these faults began
	types   chartTypes
	checked chan struct{} // closed when the first check ended
}

// schedule requests a check of the fleet at a root, and cancels a running check. It does
// nothing without a root.
func (s *server) schedule(root string, r request) {
	if root == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.checkers[root]
	if c == nil {
		c = &checker{
			s: s, root: root, session: incremental.NewSession(s.Compiler(root)), published: map[string]string{},
			changed: map[string]bool{}, stale: map[string]bool{}, wake: make(chan struct{}, 1), cancel: func() {}, checked: make(chan struct{}),
		}
		s.checkers[root] = c
		s.done.Go(c.run)
	}
	c.pending.disk = c.pending.disk || r.disk
	c.pending.render = c.pending.render || r.render
	if r.file != "" {
		c.changed[r.file], c.stale[r.file] = true, true
	}
	c.cancel()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run checks the fleet after each change until the session ends.
func (c *checker) run() {
	for {
		select {
		case <-c.s.ctx.Done():
			return
		case <-c.wake:
		}
		for wait := true; wait; {
			select {
			case <-c.s.ctx.Done():
				return
			case <-c.wake:
			case <-time.After(debounce):
				wait = false
			}
		}
		release, err := c.s.evaluation.acquire(c.s.ctx)
		if err != nil {
			return
		}
		_, err = par.Recover(func() (struct{}, error) { return struct{}{}, c.check() })
		isBroken := err != nil && !errors.Is(err, context.Canceled)
		if isBroken {
			c.session = incremental.NewSession(c.s.Compiler(c.root))
		}
		release()
		c.s.refreshAnswers()
		if isBroken {
			c.s.log(err)
		}
	}
}

// sessionOf returns the session of the fleet at a root. The caller holds s.evaluation while it
// uses the session.
func (s *server) sessionOf(root string) *incremental.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.checkers[root]; c != nil {
		return c.session
	}
	return incremental.NewSession(s.Compiler(root))
}

// take returns the next request, with a context that the next change cancels.
func (c *checker) take() (context.Context, request, map[string]bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	ctx, cancel := context.WithCancel(c.s.ctx)
	r, changed := c.pending, c.changed
	c.pending, c.changed, c.cancel = request{}, map[string]bool{}, cancel
	return ctx, r, changed
}

// check serves the next request. A check that is cancelled, or that panics, leaves its
// request to the next one.
func (c *checker) check() error {
	ctx, r, changed := c.take()
	served := false
	defer func() {
		if !served {
			c.s.mu.Lock()
			defer c.s.mu.Unlock()
			c.pending.render = c.pending.render || r.render
		}
	}()
	err := c.serve(ctx, r, changed)
	served = ctx.Err() == nil
	return err
}

// serve checks the fleet once and publishes its faults.
func (c *checker) serve(ctx context.Context, r request, changed map[string]bool) error {
	c.rendered = withoutFiles(c.root, c.rendered, changed)
	if r.disk {
		c.session.Changed()
	}
	if _, err := os.Stat(c.root); err != nil {
		c.rendered = nil
		c.keep(nil, nil)
		return c.publish(nil) // it was renamed or removed
	}
	edits, unsaved := c.s.edits(c.root)
	diag.SetUnsavedFiles(unsaved)
	c.session.Preview = func(faults error) {
		// The check that follows reports an error of the connection.
		_ = c.publish(faults)
	}
	f, faults := c.session.Check(ctx, edits)
	if err := ctx.Err(); err != nil {
		return err
	}
	c.keep(f, edits)
	if r.render || faults != nil {
		c.rendered = nil
	}
	if err := c.publish(faults); err != nil || faults != nil || !r.render || len(edits) > 0 {
		return err
	}
	return c.render(ctx, f)
}

// render renders the fleet and publishes the faults.
func (c *checker) render(ctx context.Context, f *compiler.Fleet) error {
	err := c.s.Render(ctx, f)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.rendered = diag.All(err)
	return c.publish(nil)
}

// publish sends the faults of the fleet to the client.
func (c *checker) publish(faults error) error {
	var all diag.List
	all.Add(faults)
	all.Add(c.rendered.Err())
	folded := diag.Fold(all.Err())
	c.s.mu.Lock()
	c.shown, c.stale = folded, maps.Clone(c.changed)
	c.s.mu.Unlock()
	return c.send(folded)
}
