package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A cluster has settled when it does not change between settleReads comparisons.
const (
	settleReads = 3
	settleWait  = 300 * time.Millisecond // between the comparisons
	resetLimit  = time.Minute            // then another cluster is started instead
)

// remembered are the resources that API servers and controllers know for some time after
// their deletion: a cluster is not reset after one was written.
var remembered = []string{"/apiservices", "/limitranges", "/resourcequotas"}

// snapshot is the state of a cluster before its first test.
type snapshot struct {
	values    map[string][]byte // in etcd, by key without prefix
	revisions map[string]int64  // of these keys, when they last had these values
	served    string            // resources and schemas of the API server
}

// takeSnapshot waits until the cluster settles after its start, and stores its state for
// reset.
func (c *Cluster) takeSnapshot(ctx context.Context) error {
	s := &snapshot{}
	equal := 0
	err := c.pollSettled(ctx, startTimeout, "settles", func(ctx context.Context) (bool, error) {
		values, revisions, err := c.readKeys(ctx, true)
		if err != nil {
			return false, err
		}
		served, err := c.served(ctx)
		if err != nil {
			return false, err
		}
		if complete(values) && len(s.changes(revisions, false)) == 0 && served == s.served {
			equal++
		} else {
			equal = 0
		}
		s = &snapshot{values: values, revisions: revisions, served: served}
		return equal == settleReads, nil
	})
	if err != nil {
		return err
	}
	for key := range s.values {
		if strings.HasPrefix(key, "events/") {
			delete(s.values, key) // they expire, and are not written again
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = s
	return nil
}

// complete reports whether each namespace has the objects that controllers create in it.
func complete(values map[string][]byte) bool {
	for key := range values {
		if namespace, ok := strings.CutPrefix(key, "namespaces/"); ok {
			if values["serviceaccounts/"+namespace+"/default"] == nil || values["configmaps/"+namespace+"/kube-root-ca.crt"] == nil {
				return false
			}
		}
	}
	return true
}

// changes returns the keys that are new, changed or missing. Heartbeats of servers and
// nodes do not count, those of nodes unless nodes is set.
func (s *snapshot) changes(revisions map[string]int64, nodes bool) []string {
	var keys []string
	for key, revision := range revisions {
		known, ok := s.revisions[key]
		heartbeat := strings.HasPrefix(key, "leases/") || strings.HasPrefix(key, "minions/") && !nodes
		if !ok || known != revision && !heartbeat {
			keys = append(keys, key)
		}
	}
	for key := range s.values {
		if _, ok := revisions[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// reset returns the cluster to its state after its start, with less work than another start
// and faster than by deleting all objects: it writes that state into etcd, and waits until
// controllers no longer change it. The API server and the controllers see this in their
// watches. Finalizers have no effect. It fails if programs were stopped, or if something
// was written that has effects after its deletion.
func (c *Cluster) reset(ctx context.Context) error {
	if err := c.resettable(); err != nil {
		return err
	}
	first, equal := true, 0
	err := c.pollSettled(ctx, resetLimit, "is reset", func(ctx context.Context) (bool, error) {
		_, revisions, err := c.readKeys(ctx, false)
		if err != nil {
			return false, err
		}
		changed := c.before.changes(revisions, first)
		first = false
		if len(changed) > 0 {
			equal = 0
			return false, c.undo(ctx, changed)
		}
		if equal++; equal < settleReads {
			return false, nil
		}
		served, err := c.served(ctx)
		return served == c.before.served, err
	})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(c.fleet.discoveryCache(c.Server)); err != nil {
		return err
	}
	info, err := os.Stat(c.auditLog())
	if err != nil {
		return err
	}
	c.auditStart = info.Size()
	return c.Err()
}

// resettable returns why the cluster cannot be reset.
func (c *Cluster) resettable() error {
	c.mu.Lock()
	stopped, before := c.stopped, c.before
	c.mu.Unlock()
	if stopped {
		return errors.New("a test stopped or added programs")
	}
	if before == nil {
		return errors.New("it has no snapshot")
	}
	all, err := c.Requests()
	if err != nil {
		return err
	}
	for _, r := range all {
		path, _, _ := strings.Cut(r.URI, "?")
		if r.Writes() && slices.ContainsFunc(remembered, func(part string) bool { return strings.Contains(path, part) }) {
			return fmt.Errorf("a test sent %s %s", r.Verb, path)
		}
	}
	return nil
}

// undo deletes keys that the snapshot does not have, and restores the others.
func (c *Cluster) undo(ctx context.Context, keys []string) error {
	const most = 100 // operations of a transaction; etcd allows 128
	for batch := range slices.Chunk(keys, most) {
		var operations []etcdOperation
		for _, key := range batch {
			if value, ok := c.before.values[key]; ok {
				operations = append(operations, etcdOperation{Put: &etcdPair{Key: c.etcdKey(key), Value: value}})
			} else {
				operations = append(operations, etcdOperation{Delete: &etcdPair{Key: c.etcdKey(key)}})
			}
		}
		var answer struct {
			Header struct {
				Revision int64 `json:"revision,string"`
			} `json:"header"`
		}
		if err := c.etcd(ctx, "txn", map[string]any{"success": operations}, &answer); err != nil {
			return err
		}
		for _, key := range batch {
			if _, ok := c.before.values[key]; ok {
				c.before.revisions[key] = answer.Header.Revision
			}
		}
	}
	return nil
}

// pollSettled calls settled until it returns true.
func (c *Cluster) pollSettled(ctx context.Context, limit time.Duration, what string, settled func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		done, err := settled(ctx)
		if done || err != nil {
			return err
		}
		if err := c.Err(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s %s: %w", c.Name, what, ctx.Err())
		case <-time.After(settleWait):
		}
	}
}

// served returns the resources that the API server serves, and the digests of their
// schemas: it needs some time to forget CRDs.
func (c *Cluster) served(ctx context.Context) (string, error) {
	var all string
	for _, path := range []string{"/apis", "/openapi/v3"} {
		status, answer, err := c.Do(ctx, http.MethodGet, path, "", nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s of %s: status %d", path, c.Name, status)
		}
		if err != nil {
			return "", err
		}
		all += string(answer)
	}
	return all, nil
}

// discoveryCache returns the directory in which kubectl remembers what a server serves.
func (f *Fleet) discoveryCache(server string) string {
	address := strings.ReplaceAll(strings.TrimPrefix(server, "https://"), ":", "_")
	return filepath.Join(f.Dir, ".kube", "cache", "discovery", address)
}
