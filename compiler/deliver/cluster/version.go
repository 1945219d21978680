package cluster

import (
	"context"
	"strings"
)

// KubernetesVersion returns the version of the API server: 1.36.2.
func (c *Cluster) KubernetesVersion(ctx context.Context) (string, error) {
	version := ""
	err := c.retry(ctx, func(ctx context.Context) error {
		v, err := c.discovery.ServerVersionWithContext(ctx)
		if err == nil {
			version, _, _ = strings.Cut(strings.TrimPrefix(v.GitVersion, "v"), "+")
			version, _, _ = strings.Cut(version, "-")
		}
		return err
	})
	return version, err
}
