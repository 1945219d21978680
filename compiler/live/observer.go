package live

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

const (
	watchSeconds = int64(25) // of one watch request, less than requestTimeout
	watchPause   = 500 * time.Millisecond
)

// An Observation is what an Observer knows of an object.
type Observation struct {
	Object *unstructured.Unstructured // as it is now; nil when it does not exist
	Last   *unstructured.Unstructured // as it was when it was deleted, if the observer saw that; nil otherwise
}

// An Observer follows objects: it lists each kind and namespace once, and
// watches for changes from there on. Where the user may not list or watch, it
// reads the objects one by one, again and again.
type Observer struct {
	cluster *Cluster
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	states  map[Ref]Observation
	synced  int // groups that are listed
	groups  int
	err     error
	changed chan struct{} // closed and replaced at each change
}

// Observe starts to follow objects. Those in since were just written: they are
// followed from that state on, so that no later one is missed. [Observer.Close]
// ends the observation.
func (c *Cluster) Observe(ctx context.Context, refs []Ref, since ...*unstructured.Unstructured) *Observer {
	ctx, stop := context.WithCancel(ctx)
	o := &Observer{cluster: c, stop: stop, states: map[Ref]Observation{}, changed: make(chan struct{})}
	groups := map[group]map[string]bool{}
	for _, ref := range refs {
		if groups[groupOf(ref)] == nil {
			groups[groupOf(ref)] = map[string]bool{}
		}
		groups[groupOf(ref)][ref.Name] = true
	}
	for _, is := range since {
		o.states[RefOf(is)] = Observation{Object: is}
	}
	o.groups = len(groups)
	for g, names := range groups {
		o.running.Go(func() { o.end(ctx, o.follow(ctx, g, names)) })
	}
	for _, is := range since {
		g, names := groupOf(RefOf(is)), map[string]bool{is.GetName(): true}
		o.running.Go(func() {
			o.watchFrom(ctx, g, names, is.GetResourceVersion())
			o.update(func() { o.groups++ }) // its list is to come
			o.end(ctx, o.follow(ctx, g, names))
		})
	}
	return o
}

// end stores what ended the observation of a group.
func (o *Observer) end(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		o.update(func() { o.err = err })
	}
}

// Close ends the observation and its requests.
func (o *Observer) Close() {
	o.stop()
	o.running.Wait()
}

// gather is how long changes are gathered, so that many of them are looked at
// together.
const gather = 50 * time.Millisecond

// Wait returns when every object has been read once, and something has changed
// since [Observer.Changes] returned the channel, or the pause is over.
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
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(gather):
				return nil
			}
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

// Changes returns a channel for [Observer.Wait]: it stands for what is known now.
func (o *Observer) Changes() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// Object returns what is known of an object.
func (o *Observer) Object(ref Ref) Observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.states[ref]
}

// update changes the state, and wakes those who wait for that.
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
		if found[name] == nil && o.states[ref].Object != nil {
			o.states[ref] = Observation{Last: o.states[ref].Last}
			continue
		}
		o.states[ref] = Observation{Object: found[name], Last: o.states[ref].Last}
	}
}

// follow keeps the state of one kind in one namespace up to date until the
// context ends. It returns an error when the API server stays away for longer
// than the cluster's patience.
func (o *Observer) follow(ctx context.Context, g group, names map[string]bool) error {
	for listed := false; ; listed = true {
		version, found, err := o.list(ctx, g, names)
		watchable := err == nil && version != ""
		if ReasonOf(err) != "" {
			found, err = o.cluster.each(ctx, g, names)
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
		if pause(ctx); ctx.Err() != nil {
			return nil
		}
	}
}

// watchFrom follows the changes of a group after a resource version, as long as
// that is possible without a list.
func (o *Observer) watchFrom(ctx context.Context, g group, names map[string]bool, version string) {
	for ok := true; ok && ctx.Err() == nil; {
		if version, ok = o.watch(ctx, g, names, version); ok {
			pause(ctx)
		}
	}
}

// pause keeps a server that ends each watch at once from being flooded.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(watchPause):
	}
}

// selector returns the list options of a group. A single object is selected by
// its name, so that others are not sent.
func selector(names map[string]bool) metav1.ListOptions {
	for name := range names {
		if len(names) == 1 {
			return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
		}
	}
	return metav1.ListOptions{}
}

// resource returns the client of a group; nil when its kind is not served.
func (o *Observer) resource(ctx context.Context, g group) (dynamic.ResourceInterface, error) {
	if _, served, err := o.cluster.Resource(ctx, g.GroupVersionKind); err != nil || !served {
		return nil, err
	}
	return o.cluster.client(ctx, Ref{GroupVersionKind: g.GroupVersionKind, Namespace: g.namespace})
}

// list reads the objects of a group, and returns the resource version from which
// to watch; none when the kind is not served.
func (o *Observer) list(ctx context.Context, g group, names map[string]bool) (version string, found map[string]*unstructured.Unstructured, err error) {
	found = map[string]*unstructured.Unstructured{}
	client, err := o.resource(ctx, g)
	if err != nil || client == nil {
		return "", found, err
	}
	options := selector(names)
	options.Limit = listPage
	for {
		var page *unstructured.UnstructuredList
		err := o.cluster.do(ctx, func(ctx context.Context) error {
			var err error
			page, err = client.List(ctx, options)
			return err
		})
		if err != nil {
			return "", nil, err
		}
		for i := range page.Items {
			if name := page.Items[i].GetName(); names[name] {
				found[name] = &page.Items[i]
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return page.GetResourceVersion(), found, nil
		}
	}
}

// each reads the objects of a group one by one.
func (c *Cluster) each(ctx context.Context, g group, names map[string]bool) (map[string]*unstructured.Unstructured, error) {
	found := map[string]*unstructured.Unstructured{}
	for name := range names {
		is, err := c.Object(ctx, Ref{g.GroupVersionKind, g.namespace, name})
		if err != nil {
			return nil, err
		}
		if is != nil {
			found[name] = is
		}
	}
	return found, nil
}

// watch follows the changes of a group after a resource version for one request.
// It returns the version from which to go on, and whether that is possible;
// otherwise the objects have to be listed again.
func (o *Observer) watch(ctx context.Context, g group, names map[string]bool, version string) (string, bool) {
	client, err := o.resource(ctx, g)
	if err != nil || client == nil {
		return "", false
	}
	options, seconds := selector(names), watchSeconds
	options.ResourceVersion, options.AllowWatchBookmarks, options.TimeoutSeconds = version, true, &seconds
	w, err := client.Watch(quiet(ctx), options)
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
			is, isObject := e.Object.(*unstructured.Unstructured)
			if e.Type == watch.Error || !isObject {
				return "", false
			}
			version = is.GetResourceVersion()
			if e.Type != watch.Bookmark && names[is.GetName()] {
				o.note(Ref{g.GroupVersionKind, g.namespace, is.GetName()}, e.Type, is)
			}
		}
	}
}

// note stores an event.
func (o *Observer) note(ref Ref, event watch.EventType, is *unstructured.Unstructured) {
	o.update(func() {
		if event == watch.Deleted {
			o.states[ref] = Observation{Last: is}
			return
		}
		o.states[ref] = Observation{Object: is, Last: o.states[ref].Last}
	})
}
