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

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/registry"
	"github.com/fleetc/fleetc/compiler/cache"
)

const (
	maxManifest  = 4 << 20 // bytes of a manifest, the limit of registries
	maxPart      = 64 << 20
	maxParts     = 10_000
	maxFetches   = 8 // results that are fetched at a time
	maxTransfers = 4 // results that are pushed at a time, and parts that are transferred at a time for each result
	answerTime   = 10 * time.Second
)

// A Cache stores results in one repository of a registry and shares them
// between machines. Each result is an artifact, tagged with a hash of the cache
// key. Its layers are a record and the parts that the record refers to; the
// registry stores equal parts once.
//
// A Cache is safe for concurrent use. Its methods return no errors: a result
// that cannot be read is a miss, and a result that cannot be written is
// dropped. After a request that fails or times out, the Cache makes no more
// requests.
type Cache struct {
	address string // oci://host/path
	repo    name.Repository
	puller  *remote.Puller
	pusher  *remote.Pusher

	limits cacheLimits
	ctx    context.Context // of all requests
	end    context.CancelFunc
	slots  chan struct{} // limits concurrent fetches

	fetching singleflight.Group // downloads of parts, by digest
	running  sync.WaitGroup     // push workers
	mu       sync.Mutex
	pending  []upload
	workers  int
	failed   string // why there are no more requests at all
	closed   string // why there are no more pushes
	hidden   string // why there are no more reads until a push succeeds
}

// cacheLimits are the timeouts of operations.
type cacheLimits struct{ get, put, rest time.Duration }

// ParseRepository parses the address of a [Cache] and returns it as
// oci://host/path. The error is a fault.
func ParseRepository(text string) (string, error) {
	p := rawAddress{text, "write oci://REGISTRY/PATH, as in oci://ghcr.io/example/cache"}
	host, path, tag, err := p.split()
	if err == nil && tag != "" {
		err = p.fault("it has a tag")
	}
	return registry.Scheme + host + "/" + path, err
}

// NewCache returns the cache at an address of [ParseRepository]. It does not
// use the network yet. All requests end with ctx; the caller must close the
// Cache before.
func NewCache(ctx context.Context, address string) (*Cache, error) {
	transport := registry.Transport()
	transport.MaxIdleConnsPerHost = maxFetches * maxTransfers
	transport.ResponseHeaderTimeout = answerTime
	repo, options, err := registry.OpenMany(address, transport, maxPart+maxManifest)
	if err != nil {
		return nil, err
	}
	options = append(options, remote.WithJobs(maxFetches*maxTransfers))
	puller, err := remote.NewPuller(options...)
	if err != nil {
		return nil, err
	}
	pusher, err := remote.NewPusher(options...)
	if err != nil {
		return nil, err
	}
	c := &Cache{
		address: address, repo: repo, puller: puller, pusher: pusher, slots: make(chan struct{}, maxFetches),
		limits: cacheLimits{get: 30 * time.Second, put: 2 * time.Minute, rest: 2 * time.Minute},
	}
	c.ctx, c.end = context.WithCancel(ctx)
	return c, nil
}

// tag returns the tag of a key.
func (c *Cache) tag(key string) name.Tag {
	sum := sha256.Sum256([]byte(key))
	return c.repo.Tag(hex.EncodeToString(sum[:]))
}

// Get returns the record of a key. It passes each part for which has returns
// false to take, in any order and concurrently. The result is a miss when take
// rejects a part, or when Put could not have written the artifact.
func (c *Cache) Get(ctx context.Context, key string, isStored func(fleet.Sum) bool, take func(fleet.Sum, []byte) bool) (record []byte, ok bool) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	defer func() { <-c.slots }()
	if !c.mayRead() {
		return nil, false
	}
	limited, cancel := context.WithTimeout(ctx, c.limits.get)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	record, err := c.pull(limited, c.tag(key), isStored, take)
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

// mayRead reports whether the cache may read.
func (c *Cache) mayRead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed == "" && c.hidden == ""
}

// Put stores the record of a key and its parts in the background. It calls part
// for the parts that the registry lacks, and drops the result when one of them
// is not available any more.
func (c *Cache) Put(key string, record []byte, parts []cache.Part, part func(fleet.Sum) ([]byte, bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != "" || c.closed != "" || len(parts) > maxParts {
		return
	}
	c.pending = append(c.pending, upload{c.tag(key), record, parts, part})
	if c.workers < maxTransfers {
		c.workers++
		c.running.Go(c.work)
	}
}

// work pushes results until the queue is empty.
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
		case c.ctx.Err() != nil, errors.Is(err, errPartMissing):
		case refused(err):
			c.stop(&c.closed, c.why("write", err)+"; nothing more was pushed")
		default:
			c.fail("write", limited, c.limits.put, err)
		}
		cancel()
	}
}

// Close waits for the pending pushes, up to a limit, and returns one line about
// the problem that stopped the cache, or an empty string.
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
		c.stop(&c.failed, fmt.Sprintf("%s: the remaining pushes did not finish within %s", c.address, c.limits.rest))
		c.end()
		<-done
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.failed, c.closed, c.hidden)
}

// fail stops all requests after an error. limited is the context of the failed
// request, with the timeout limit.
func (c *Cache) fail(verb string, limited context.Context, limit time.Duration, err error) {
	why := c.why(verb, err)
	if limited.Err() != nil {
		why = fmt.Sprintf("%s: the registry did not finish within %s", c.address, limit)
	}
	why += "; the rest was rendered here"
	c.mu.Lock()
	c.failed = cmp.Or(c.failed, why)
	c.mu.Unlock()
	c.end()
}

// stop sets one of the reasons for which the cache stops.
func (c *Cache) stop(reason *string, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*reason = why
}

// why returns an error of the registry as one line.
func (c *Cache) why(verb string, err error) string {
	return diag.All(registry.Fault(c.address, verb, err))[0].Msg
}

// refused reports whether the registry rejects the credentials.
func refused(err error) bool {
	answer, ok := errors.AsType[*transport.Error](err)
	return ok && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
}
