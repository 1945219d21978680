package clusters

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// etcdPair is a key with its value in requests and answers of the JSON gateway of etcd.
type etcdPair struct {
	Key      []byte `json:"key"`
	Value    []byte `json:"value,omitempty"`
	Revision int64  `json:"mod_revision,string,omitempty"`
}

// etcdOperation is a part of a transaction.
type etcdOperation struct {
	Put    *etcdPair `json:"request_put,omitempty"`
	Delete *etcdPair `json:"request_delete_range,omitempty"`
}

// etcdKey returns the key of etcd for a key of the API server.
func (c *Cluster) etcdKey(key string) []byte { return []byte(c.etcdPrefix() + key) }

func (c *Cluster) etcdPrefix() string { return "/" + directoryName(c.Name) + "/" }

// put writes a key.
func (c *Cluster) put(ctx context.Context, key string, value []byte) error {
	return c.etcd(ctx, "put", etcdPair{Key: c.etcdKey(key), Value: value}, nil)
}

// readKeys returns the revisions of all keys of the cluster, without its prefix, and their
// values if wanted.
func (c *Cluster) readKeys(ctx context.Context, wantValues bool) (values map[string][]byte, revisions map[string]int64, err error) {
	prefix := c.etcdPrefix()
	end := []byte(prefix)
	end[len(end)-1]++
	var answer struct {
		Pairs []etcdPair `json:"kvs"`
	}
	if err := c.etcd(ctx, "range", map[string]any{"key": []byte(prefix), "range_end": end, "keys_only": !wantValues}, &answer); err != nil {
		return nil, nil, err
	}
	values, revisions = map[string][]byte{}, map[string]int64{}
	for _, p := range answer.Pairs {
		key := strings.TrimPrefix(string(p.Key), prefix)
		values[key], revisions[key] = p.Value, p.Revision
	}
	return values, revisions, nil
}

// etcd sends a request to the JSON gateway of etcd, and decodes the answer unless it is
// nil.
func (c *Cluster) etcd(ctx context.Context, operation string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.fleet.etcdURL+"/v3/kv/"+operation, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s: %s", resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
