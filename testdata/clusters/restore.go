package clusters

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
)

// Restore writes objects of another cluster into etcd as they are, with their UIDs, times
// and managed fields, which an API server would set anew. It supports namespaces, and
// ConfigMaps, Secrets and Deployments in them.
func (c *Cluster) Restore(ctx context.Context, objects []map[string]any) error {
	for _, o := range objects {
		meta, _ := o["metadata"].(map[string]any)
		if meta == nil {
			return fmt.Errorf("an object has no metadata")
		}
		namespace, _ := meta["namespace"].(string)
		name, _ := meta["name"].(string)
		kind, _ := o["kind"].(string)
		delete(meta, "resourceVersion") // etcd counts revisions
		value, err := json.Marshal(o)
		if err != nil {
			return err
		}
		key := path.Join("/"+directoryName(c.Name), strings.ToLower(kind)+"s", namespace, name)
		if err := c.put(ctx, key, value); err != nil {
			return fmt.Errorf("restore %s %s/%s: %w", kind, namespace, name, err)
		}
	}
	return nil
}

// put writes a key through the JSON gateway of etcd.
func (c *Cluster) put(ctx context.Context, key string, value []byte) error {
	encode := base64.StdEncoding.EncodeToString
	body, err := json.Marshal(map[string]string{"key": encode([]byte(key)), "value": encode(value)})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.fleet.etcdURL+"/v3/kv/put", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("etcd answers %s: %s", resp.Status, answer)
	}
	return err
}
