package clusters

import (
	"context"
	"encoding/json"
	"fmt"
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
		key := path.Join(strings.ToLower(kind)+"s", namespace, name)
		if err := c.put(ctx, key, value); err != nil {
			return fmt.Errorf("restore %s %s/%s: %w", kind, namespace, name, err)
		}
	}
	return nil
}
