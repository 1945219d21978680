package oci

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/singleflight"

	"github.com/fleetc/fleetc/compiler/diag"
	"github.com/fleetc/fleetc/compiler/fleet"
	"github.com/fleetc/fleetc/compiler/registry"
)

const (
	maxManifest = 4 << 20 // bytes of one, which is what registries take
	maxPart     = 64 << 20
	maxParts    = 10_000
	maxAsked    = 8 // results that are asked for at a time
	atATime     = 4 // results that are pushed at a time, and parts of each, whichever way
	answerTime  = 10 * time.Second
)

// A Part is a content that results have, maybe several of them the same.
type Part struct {
	Digest fleet.Sum
	Size   int64
}

// A Cache is results in one repository of a registry, for all machines that may
// read it. Each result is an artifact, whose tag is a hash of the result's key.
// Its layers are a record, and the parts that the record is about, which the
// registry has once.
//
// It may be used by several goroutines, and no error comes out of it: what cannot
// be had is a miss, what cannot be kept is not kept. When a request fails or takes
// too long, there are no more.
type Cache struct {
	at     string // oci://host/path
	repo   name.Repository
	puller *remote.Puller
	pusher *remote.Pusher

	limits cacheLimits
	ctx    context.Context // of all requests
	end    context.CancelFunc
	asked  chan struct{} // has one for each result that is being asked for

	fetching singleflight.Group // of parts, by their digests
	running  sync.WaitGroup     // what pushes
	mu       sync.Mutex
	pending  []pushing
	workers  int
	failed   string // why there are no more requests
	closed   string // why nothing is pushed any more
	hidden   string // why nothing is read until something could be pushed
}

// cacheLimits say how long an operation may take.
type cacheLimits struct{ get, put, rest time.Duration }

// ParseRepository reads the address of a [Cache] as users write it, and returns it
// as oci://host/path. The error is a fault.
func ParseRepository(text string) (string, error) {
	p := place{text, "write oci://REGISTRY/PATH, as in oci://ghcr.io/example/cache"}
	host, path, tag, err := p.split()
	if err == nil && tag != "" {
		err = p.fault("it has a tag")
	}
	return registry.Scheme + host + "/" + path, err
}

// NewCache returns the results at an address of [ParseRepository]. It uses no
// network yet. Whatever it does ends with ctx; the caller closes it before.
func NewCache(ctx context.Context, at string) (*Cache, error) {
	over := registry.Transport()
	over.MaxIdleConnsPerHost = maxAsked * atATime
	over.ResponseHeaderTimeout = answerTime
	repo, options, err := registry.OpenMany(at, over, maxPart+maxManifest)
	if err != nil {
		return nil, err
	}
	options = append(options, remote.WithJobs(maxAsked*atATime))
	puller, err := remote.NewPuller(options...)
	if err != nil {
		return nil, err
	}
	pusher, err := remote.NewPusher(options...)
	if err != nil {
		return nil, err
	}
	c := &Cache{
		at: at, repo: repo, puller: puller, pusher: pusher, asked: make(chan struct{}, maxAsked),
		limits: cacheLimits{get: 30 * time.Second, put: 2 * time.Minute, rest: 2 * time.Minute},
	}
	c.ctx, c.end = context.WithCancel(ctx)
	return c, nil
}

// tag returns that of a key.
func (c *Cache) tag(key string) name.Tag {
	sum := sha256.Sum256([]byte(key))
	return c.repo.Tag(hex.EncodeToString(sum[:]))
}

// Get returns the record of a key. It hands over each of its parts that is not
// had, in any order and several at once. A part that is not taken, and anything
// else that Put would not have made, is a miss.
func (c *Cache) Get(ctx context.Context, key string, has func(fleet.Sum) bool, take func(fleet.Sum, []byte) bool) (record []byte, ok bool) {
	select {
	case c.asked <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	defer func() { <-c.asked }()
	if !c.reads() {
		return nil, false
	}
	limited, cancel := context.WithTimeout(ctx, c.limits.get)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	record, err := c.pull(limited, c.tag(key), has, take)
	switch {
	case err == nil:
		return record, true
	case ctx.Err() != nil, c.ctx.Err() != nil, isMiss(err):
	case refused(err):
		c.stop(&c.hidden, c.why("read", err)+"; nothing was fetched")
	default:
		c.fail("read", limited, c.limits.get, err)
	}
	return nil, false
}

// reads reports whether it is worth while to ask for anything.
func (c *Cache) reads() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed == "" && c.hidden == ""
}

// Put keeps the record of a key, which is about the parts, for others. It does so
// in the background, where it asks for the parts that the registry lacks; a result
// of which one is gone is not kept.
func (c *Cache) Put(key string, record []byte, parts []Part, part func(fleet.Sum) ([]byte, bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != "" || c.closed != "" || len(parts) > maxParts {
		return
	}
	c.pending = append(c.pending, pushing{c.tag(key), record, parts, part})
	if c.workers < atATime {
		c.workers++
		c.running.Go(c.work)
	}
}

// work pushes until there is nothing to push.
func (c *Cache) work() {
	for {
		c.mu.Lock()
		if len(c.pending) == 0 || c.failed != "" || c.closed != "" {
			c.workers--
			c.mu.Unlock()
			return
		}
		p := c.pending[0]
		c.pending = c.pending[1:]
		c.mu.Unlock()
		limited, cancel := context.WithTimeout(c.ctx, c.limits.put)
		err := c.push(limited, p)
		switch {
		case err == nil:
			c.stop(&c.hidden, "")
		case c.ctx.Err() != nil, errors.Is(err, errGone):
		case refused(err):
			c.stop(&c.closed, c.why("write", err)+"; nothing more was pushed")
		default:
			c.fail("write", limited, c.limits.put, err)
		}
		cancel()
	}
}

// Close waits until all is pushed, or as long as is worth while, and says in one
// line what was in the way; nothing when all went well.
func (c *Cache) Close() string {
	defer c.end()
	done := make(chan struct{})
	go func() {
		c.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(c.limits.rest):
		c.stop(&c.failed, fmt.Sprintf("%s: the registry takes longer than %s for what was left to push", c.at, c.limits.rest))
		c.end()
		<-done
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.failed, c.closed, c.hidden)
}

// fail ends all requests, since one has failed within a context of the limit.
func (c *Cache) fail(verb string, limited context.Context, limit time.Duration, err error) {
	why := c.why(verb, err)
	if limited.Err() != nil {
		why = fmt.Sprintf("%s: the registry takes longer than %s", c.at, limit)
	}
	why += "; the rest was rendered here"
	c.mu.Lock()
	c.failed = cmp.Or(c.failed, why)
	c.mu.Unlock()
	c.end()
}

// stop sets one of the reasons.
func (c *Cache) stop(reason *string, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*reason = why
}

// why is an error of the registry as one line.
func (c *Cache) why(verb string, err error) string {
	return diag.All(registry.Fault(c.at, verb, err))[0].Msg
}

// refused reports whether the registry does not let these credentials do this.
func refused(err error) bool {
	answer, ok := errors.AsType[*transport.Error](err)
	return ok && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
}
