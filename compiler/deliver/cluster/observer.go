package cluster

import (
	"context"
	"maps"
	"math"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fleetc/fleetc/compiler/base/par"
)

const (
	watchSeconds = int64(25)              // duration of one watch request, less than requestTimeout
	watchPause   = 500 * time.Millisecond // limits the rate of requests if the server ends each at once
)

// An Observation is the known state of an object.
type Observation struct {
	Object *unstructured.Unstructured // current object; nil when it does not exist
	Last   *unstructured.Unstructured // last state of a deleted object, if its deletion was observed; else nil
}

// An Observer watches objects: it lists each kind and namespace once, and watches
// it from then on. Where the user is not allowed to list or watch, it polls the objects one
// by one.
type Observer struct {
	cluster *Cluster
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	states  map[Ref]Observation
	synced  int // number of listed groups
	groups  int
	err     error
	changed chan struct{} // closed and replaced at each change
}

// Observe starts to watch objects. Objects in since were just written, and are
// watched from that state on, so that no later state is missed. [Observer.Close]
// ends the observation.
func (c *Cluster) Observe(ctx context.Context, refs []Ref, since ...*unstructured.Unstructured) *Observer {
	ctx, stop := context.WithCancel(ctx)
	o := &Observer{cluster: c, stop: stop, states: map[Ref]Observation{}, changed: make(chan struct{})}
	groups := namesByGroup(refs)
	for _, current := range since {
		o.states[RefOf(current)] = Observation{Object: current}
	}
	o.groups = len(groups)
	for g, names := range groups {
		o.running.Go(func() { o.setError(ctx, o.follow(ctx, g, names)) })
	}
	for _, current := range since {
		g, names := groupOf(RefOf(current)), map[string]bool{current.GetName(): true}
		o.running.Go(func() {
			o.watchFrom(ctx, g, names, current.GetResourceVersion())
			o.update(func() { o.groups++ }) // not listed yet
			o.setError(ctx, o.follow(ctx, g, names))
		})
	}
	return o
}

// setError stores the error that ended the observation of a group.
func (o *Observer) setError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		o.update(func() { o.err = err })
	}
}

// Close ends the observation and its requests.
func (o *Observer) Close() {
	o.stop()
	o.running.Wait()
}

// gatherTime is how long changes are collected into one wake-up.
const gatherTime = 50 * time.Millisecond

// Wait returns when every object has been read, and something has changed since
// [Observer.Changes] returned the channel or the pause is over.
func (o *Observer) Wait(ctx context.Context, changed <-chan struct{}, pause time.Duration) error {
	end := time.After(pause)
	for {
		o.mu.Lock()
		synced, err, next := o.synced == o.groups, o.err, o.changed
		o.mu.Unlock()
		if err != nil {
			return err
		}
		if synced && changed != next {
			return par.Pause(ctx, gatherTime)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-next:
		case <-end:
			if synced {
				return nil
			}
			end = nil
		}
	}
}

// Changes returns a channel for [Observer.Wait], which stands for the current
// state.
func (o *Observer) Changes() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// Object returns the known state of an object.
func (o *Observer) Object(ref Ref) Observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.states[ref]
}

// update changes the state and wakes waiting goroutines.
func (o *Observer) update(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
	close(o.changed)
	o.changed = make(chan struct{})
}

// set stores the state of the group's objects after a list.
func (o *Observer) set(g group, names map[string]bool, found map[string]*unstructured.Unstructured) {
	for name := range names {
		ref := Ref{g.GroupVersionKind, g.namespace, name}
		o.states[ref] = Observation{Object: found[name], Last: o.states[ref].Last}
	}
}

// follow keeps the state of a group up to date until the context ends. It returns
// an error when the API server is unreachable for longer than the cluster's retry
// timeout.
func (o *Observer) follow(ctx context.Context, g group, names map[string]bool) error {
	for listed := false; ; listed = true {
		version, found, err := o.list(ctx, g, names)
		watchable := err == nil && version != ""
		if ReasonOf(err) != "" {
			err = o.cluster.readEach(ctx, g, maps.Keys(names), found)
		}
		if err != nil {
			return err
		}
		o.update(func() {
			o.set(g, names, found)
			if !listed {
				o.synced++
			}
		})
		if watchable {
			o.watchFrom(ctx, g, names, version)
		}
		if par.Pause(ctx, watchPause) != nil {
			return nil
		}
	}
}

// watchFrom watches a group from a resource version until a new list is necessary.
func (o *Observer) watchFrom(ctx context.Context, g group, names map[string]bool, version string) {
	for ok := true; ok && ctx.Err() == nil; {
		if version, ok = o.watch(ctx, g, names, version); ok {
			_ = par.Pause(ctx, watchPause)
		}
	}
}

// selector returns the list options of a group. A field selector selects a single
// object.
func selector(names map[string]bool) metav1.ListOptions {
	for name := range names {
		if len(names) == 1 {
			return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
		}
	}
	return metav1.ListOptions{}
}

// list lists the objects of a group and returns the resource version to watch from.
func (o *Observer) list(ctx context.Context, g group, names map[string]bool) (version string, found map[string]*unstructured.Unstructured, err error) {
	found = map[string]*unstructured.Unstructured{}
	last, err := o.cluster.pages(ctx, g.GroupVersionKind, g.namespace, selector(names), math.MaxInt, func(current *unstructured.Unstructured) {
		if names[current.GetName()] {
			found[current.GetName()] = current
		}
	})
	return last.ResourceVersion, found, err
}

// watch watches a group from a resource version for one request. It returns the
// version to continue from, and whether that is possible; otherwise a new list is
// necessary.
func (o *Observer) watch(ctx context.Context, g group, names map[string]bool, version string) (string, bool) {
	client, err := o.cluster.client(ctx, Ref{GroupVersionKind: g.GroupVersionKind, Namespace: g.namespace})
	if err != nil {
		return "", false
	}
	options, seconds := selector(names), watchSeconds
	options.ResourceVersion, options.AllowWatchBookmarks, options.TimeoutSeconds = version, true, &seconds
	w, err := client.Watch(ctx, options)
	if err != nil {
		return "", false
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", false
		case e, open := <-w.ResultChan():
			if !open {
				return version, true
			}
			current, isObject := e.Object.(*unstructured.Unstructured)
			if e.Type == watch.Error || !isObject {
				return "", false
			}
			version = current.GetResourceVersion()
			if e.Type != watch.Bookmark && names[current.GetName()] {
				o.applyEvent(Ref{g.GroupVersionKind, g.namespace, current.GetName()}, e.Type, current)
			}
		}
	}
}

// applyEvent stores the object of an event.
func (o *Observer) applyEvent(ref Ref, event watch.EventType, current *unstructured.Unstructured) {
	o.update(func() {
		if event == watch.Deleted {
			o.states[ref] = Observation{Last: current}
			return
		}
		o.states[ref] = Observation{Object: current, Last: o.states[ref].Last}
	})
}
