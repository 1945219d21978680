package cluster

import (
	"context"
	"strings"
)

// KubernetesVersion returns the version of the API server: 1.36.2.
func (c *Cluster) KubernetesVersion(ctx context.Context) (string, error) {
	v, err := result(ctx, c.retry, c.discovery.ServerVersionWithContext)
	if err != nil {
		return "", err
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(v.GitVersion, "v"), "+")
	version, _, _ = strings.Cut(version, "-")
	return version, nil
}
