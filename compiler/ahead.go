package compiler

import (
	"context"
	"runtime"
	"sync"

	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/ordered"
)

// An ahead judges the CRDs of a cluster while releases of it still render: charts
// that ask for API versions render one after the other, and with a single cluster
// the other processors would be idle.
type ahead struct {
	found   chan []fleet.Object
	stop    context.CancelFunc
	running sync.WaitGroup
}

// judgeAhead begins to judge the CRDs of a cluster that has so many releases. One
// processor is left to what renders.
func (f *Fleet) judgeAhead(ctx context.Context, c *fleet.Cluster, releases int) *ahead {
	ctx, stop := context.WithCancel(ctx)
	a := &ahead{found: make(chan []fleet.Object, releases), stop: stop}
	for range runtime.GOMAXPROCS(0) - 1 {
		a.running.Go(func() {
			for objs := range a.found {
				// A bug shows again when the CRDs are checked.
				_, _ = ordered.Recover(func() (struct{}, error) {
					f.crds.Warm(ctx, c, objs)
					return struct{}{}, nil
				})
			}
		})
	}
	return a
}

// add adds what a release rendered to. It may be called once for each.
func (a *ahead) add(objs []fleet.Object) { a.found <- objs }

// end returns when no object is looked at any more. What is not judged by then is
// when it is checked.
func (a *ahead) end() {
	a.stop()
	close(a.found)
	a.running.Wait()
}
